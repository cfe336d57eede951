import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:net';

// Systems give higher ports to outgoing connections and to listeners that name none: from 32768 on Linux, from 49152 on others. The
// last port below these that `fetch` blocks is 10080 (https://fetch.spec.whatwg.org/#port-blocking).
const firstPort = 11_000;
const portCount = 10_000;

/**
 * Returns a port that nothing listens on.
 *
 * A listener on a second port reserves it until this process ends. Otherwise another process of the tests could take it before the server
 * for which it was chosen listens.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = firstPort + randomInt(portCount);
    const reservation = await listen(port + portCount);
    if (reservation === undefined) continue;
    const listener = await listen(port);
    if (listener === undefined) {
      reservation.close();
      continue;
    }
    reservation.unref();
    listener.close();
    await once(listener, 'close');
    return port;
  }
}

/** Returns undefined if something listens on the port. */
async function listen(port: number): Promise<Server | undefined> {
  const server = createServer().listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
    return server;
  } catch {
    return undefined;
  }
}

/** The port that a server listens on. */
export function portOf(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The server listens on no port.');
  return address.port;
}
