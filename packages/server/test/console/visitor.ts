import type { OutgoingHttpHeaders } from 'node:http';
import { type WireResponse, wire } from '../wire.ts';

type Fields = Readonly<Record<string, string>> | string[][];

/** The value of a hidden field of a page. */
export function hiddenIn(page: string, name: string): string {
  return new RegExp(`name="${name}" value="([^"]+)"`).exec(page)?.[1] ?? '';
}

/** A browser without JavaScript that is signed in, or not yet. */
export class Visitor {
  readonly #address: string;
  cookie = '';

  constructor(address: string) {
    this.#address = address;
  }

  get(path: string): Promise<WireResponse> {
    return wire(this.#address, { path: `/console${path}`, headers: { Cookie: this.cookie } });
  }

  post(path: string, fields: Fields, headers: Record<string, string> = {}): Promise<WireResponse> {
    return wire(this.#address, {
      method: 'POST',
      path: `/console${path}`,
      headers: { 'Content-Type': 'application/x-www-form-urlencoded', Cookie: this.cookie, ...headers },
      body: new URLSearchParams(fields).toString(),
    });
  }

  /** Sends a form with a file, which comes last. @param edit changes its bytes, as a text in Latin-1 */
  async upload(
    path: string,
    fields: Record<string, string>,
    file: File,
    { headers = {}, edit = (body) => body }: { headers?: OutgoingHttpHeaders; edit?: (body: string) => string } = {},
  ) {
    const form = new FormData();
    for (const [name, value] of Object.entries(fields)) form.append(name, value);
    form.append('file', file);
    const packed = new Response(form);
    const type = packed.headers.get('content-type') ?? '';
    return wire(this.#address, {
      method: 'POST',
      path: `/console${path}`,
      headers: { 'Content-Type': type, Cookie: this.cookie, ...headers },
      body: Buffer.from(edit(Buffer.from(await packed.arrayBuffer()).toString('latin1')), 'latin1'),
    });
  }

  /** Submits a form of a page, with its hidden fields. */
  async submit(page: string, path: string, fields: Record<string, string> = {}): Promise<WireResponse> {
    const { text } = await this.get(page);
    return this.post(path, { formKey: hiddenIn(text, 'formKey'), _version: hiddenIn(text, '_version'), ...fields });
  }

  /** The fields of the form of a page, as a browser would send them. */
  async formOf(path: string): Promise<Record<string, string>> {
    const { text } = await this.get(path);
    const plain = (value: string) => value.replaceAll('&amp;', '&').replaceAll('&quot;', '"').replaceAll('&#39;', "'");
    const inputs = [...text.matchAll(/<input [^>]*name="([^"]+)"[^>]* value="([^"]*)"/g)];
    const areas = [...text.matchAll(/<textarea [^>]*name="([^"]+)"[^>]*>([^<]*)/g)];
    const choices = [...text.matchAll(/<select [^>]*name="([^"]+)".*?<\/select>/gs)].map(
      ([all, name]) => ['', name, / value="([^"]*)" selected/.exec(all)?.[1] ?? ''] as const,
    );
    const shown = [...inputs, ...areas, ...choices].map(([, name = '', value = '']) => [name, plain(value)]);
    return Object.fromEntries(shown.filter(([name]) => name !== 'q'));
  }

  async signIn(apiKey: string): Promise<WireResponse> {
    const page = await this.get('');
    const formKey = hiddenIn(page.text, 'formKey');
    const cookie = page.headers['set-cookie']?.[0]?.split(';')[0] ?? '';
    const response = await this.post('/sign-in', { apiKey, formKey }, { Cookie: cookie });
    const [session = ''] = response.headers['set-cookie']?.[0]?.split(';') ?? [];
    this.cookie = session.startsWith('console_session=') ? session : '';
    return response;
  }
}
