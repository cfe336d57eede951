import { Client } from 'undici';
import type { Send } from './measure.ts';

/** Sends requests to an address, one after the other on one connection. */
export function sender(address: string): Send & { close(): Promise<void> } {
  const client = new Client(address, { headersTimeout: 0, bodyTimeout: 0 });
  const send: Send = async ({ method, path, headers, body }) => {
    try {
      const response = await client.request({
        method: method as 'GET',
        path,
        headers,
        body: body ?? null,
      });
      return { status: response.statusCode, text: await response.body.text() };
    } catch (error) {
      // The server closes the connection of a body that it does not read.
      return { status: 0, text: String(error) };
    }
  };
  return Object.assign(send, { close: () => client.close() });
}
