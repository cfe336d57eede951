/** A receiver of events that returns the last event it received. */
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';

export interface Receiver {
  readonly address: string;
  stop(): void;
}

/** The last event: the signed headers, and the body. */
interface Arrival {
  readonly id: string;
  readonly timestamp: number;
  readonly signature: string;
  readonly body: string;
  readonly event: unknown;
}

/** Stores each POST as an event, and responds to GET with the last one. */
export async function startReceiver(): Promise<Receiver> {
  let last: Arrival | undefined;
  const listener = createServer(async (request, response) => {
    const header = (name: string) => String(request.headers[name]);
    const body = await text(request);
    if (request.method === 'POST') {
      const [id, signature] = [header('webhook-id'), header('webhook-signature')];
      last = { id, signature, timestamp: Number(header('webhook-timestamp')), body, event: JSON.parse(body) };
    }
    response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(last ?? {}));
  });
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  const address = listener.address();
  if (address === null || typeof address === 'string') throw new Error('The receiver listens on no port.');
  return { address: `http://127.0.0.1:${address.port}/`, stop: () => void listener.close().closeAllConnections() };
}
