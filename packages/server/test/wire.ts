import { type IncomingHttpHeaders, type OutgoingHttpHeaders, request } from 'node:http';
import { buffer } from 'node:stream/consumers';

export interface WireResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The text as JSON; undefined if it is not JSON. */
  readonly json: unknown;
}

/** Sends one request unchanged: `fetch` normalizes paths, adds headers and rejects methods. */
export function wire(
  address: string,
  options: {
    readonly method?: string;
    readonly path: string;
    /** By name, or names and values in turn. */
    readonly headers?: OutgoingHttpHeaders | readonly string[];
    readonly body?: string | Buffer;
  },
): Promise<WireResponse> {
  const { hostname, port } = new URL(address);
  const { method = 'GET', path, headers = {}, body } = options;
  return new Promise((resolve, reject) => {
    const outgoing = request({ hostname, port, method, path, headers, agent: false });
    outgoing.once('error', reject);
    outgoing.once('response', async (incoming) => {
      const text = (await buffer(incoming)).toString();
      resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, text, json: parsed(text) });
    });
    outgoing.end(body);
  });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
