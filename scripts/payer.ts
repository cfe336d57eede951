/**
 * A payer without a browser: opens payment links of a server and submits their forms, for programs that test payments.
 */
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';

export interface Payer {
  readonly address: string;
  stop(): void;
}

/**
 * Listens for `{ url, …fields }`: opens the page of the link, submits its form if it has one and fields are provided, and
 * responds with the heading of the resulting page, as `{ heading }`.
 *
 * @param server the server of the pages, whatever the origin of the links.
 */
export async function startPayer(server: string): Promise<Payer> {
  const listener = createServer(async (request, response) => {
    try {
      const { url, ...fields } = JSON.parse(await text(request)) as Record<string, string>;
      const heading = await pay(`${server}${new URL(url ?? '').pathname}`, fields);
      response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify({ heading }));
    } catch (error) {
      response.writeHead(500, { 'Content-Type': 'application/json' }).end(JSON.stringify({ error: String(error) }));
    }
  });
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  const address = listener.address();
  if (address === null || typeof address === 'string') throw new Error('The payer listens on no port.');
  return { address: `http://127.0.0.1:${address.port}`, stop: () => void listener.close().closeAllConnections() };
}

/** Opens the page of a link and submits its form, as a browser does. @returns the heading of the resulting page */
export async function pay(page: string, fields: Readonly<Record<string, string>>): Promise<string> {
  const form = await fetch(page);
  const cookie = form.headers.getSetCookie()[0]?.split(';')[0] ?? '';
  const shown = await form.text();
  const formKey = /name="formKey" value="([^"]+)"/.exec(shown)?.[1];
  if (formKey === undefined || Object.keys(fields).length === 0) return headingOf(shown);
  const sent = await fetch(page, {
    method: 'POST',
    headers: { Cookie: cookie },
    body: new URLSearchParams({ formKey, ...fields }),
    redirect: 'manual',
  });
  if (sent.status !== 303) return headingOf(await sent.text());
  return headingOf(await (await fetch(page, { headers: { Cookie: cookie } })).text());
}

function headingOf(page: string): string {
  return /<h1>([^<]*)<\/h1>/.exec(page)?.[1] ?? '';
}
