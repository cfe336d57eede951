/** Others that integrations deal with: a payer without a browser, and a receiver of events. */
import { createServer, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { portOf } from './free-port.ts';

export interface Partner {
  readonly address: string;
  stop(): void;
}

/**
 * Listens for `{ url, …fields }`: opens the page of the link, submits its form if it has one and fields are provided, and
 * responds with the heading of the resulting page, as `{ heading }`.
 *
 * @param server the server of the pages, whatever the origin of the links.
 */
export function startPayer(server: string): Promise<Partner> {
  return listen(async (body) => {
    const { url, ...fields } = JSON.parse(body) as Record<string, string>;
    return { heading: await pay(`${server}${new URL(url ?? '').pathname}`, fields) };
  });
}

/** Stores each POST as an event, and responds to GET with the last one: the signed headers, and the body. */
export function startLastEventReceiver(): Promise<Partner> {
  let last: object = {};
  return listen(async (body, { method, headers }) => {
    if (method !== 'POST') return last;
    const header = (name: string) => String(headers[`webhook-${name}`]);
    const [id, signature, timestamp] = [header('id'), header('signature'), Number(header('timestamp'))];
    last = { id, signature, timestamp, body, event: JSON.parse(body) };
    return last;
  });
}

async function listen(respond: (body: string, request: IncomingMessage) => Promise<object>): Promise<Partner> {
  const listener = createServer(async (request, response) => {
    response.setHeader('Content-Type', 'application/json');
    try {
      response.end(JSON.stringify(await respond(await text(request), request)));
    } catch (error) {
      response.writeHead(500).end(JSON.stringify({ error: String(error) }));
    }
  });
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  return {
    address: `http://127.0.0.1:${portOf(listener)}`,
    stop: () => void listener.close().closeAllConnections(),
  };
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
