import { once } from 'node:events';
import { connect, createServer, type Server } from 'node:net';
import { reachableHost } from '../platform/process/config.ts';

/**
 * Connections that may wait until they are accepted; the system may allow fewer. Node's 511 are full when an attacker opens
 * thousands at once, and other callers would connect a second later.
 */
const pendingConnections = 4096;

/** How long a program on the port may take to accept a connection, in milliseconds. */
const maxProbeMs = 1_000;

/**
 * Checks that no program listens on the port, by a connection: to listen for a moment would accept requests of a proxy, and lose them.
 *
 * @param setting the environment variable that sets the port
 * @throws Error with a sentence for the operator
 */
export async function checkPortIsFree(host: string, port: number, setting: string): Promise<void> {
  // The address must be one of this machine, or another one could be what accepts the connection.
  const anyPort = createServer();
  await listen(anyPort, host, 0, setting);
  await new Promise((resolve) => anyPort.close(resolve));
  const probe = connect({ host: reachableHost(host), port, signal: AbortSignal.timeout(maxProbeMs) });
  const isTaken = await once(probe, 'connect').then(
    () => true,
    () => false,
  );
  probe.destroy();
  if (isTaken) throw new Error(listenFailure({ code: 'EADDRINUSE' }, host, port, setting));
}

/**
 * Starts listening.
 *
 * @param setting the environment variable that sets the port
 * @throws Error with a sentence for the operator
 */
export function listen(server: Server, host: string, port: number, setting: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      reject(new Error(listenFailure(error, host, port, setting)));
    });
    server.listen({ port, host, backlog: pendingConnections }, resolve);
  });
}

function listenFailure(
  { code, message }: Pick<NodeJS.ErrnoException, 'code'> & { readonly message?: string },
  host: string,
  port: number,
  setting: string,
): string {
  switch (code) {
    case 'EADDRINUSE':
      return `Port ${port} is in use. Stop the program that uses it, or set ${setting} to another port.`;
    case 'EACCES':
      return `This user is not allowed to listen on port ${port}. Set ${setting} to a port above 1023.`;
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return `This machine does not have the address ${host}. Set HOST to one of its addresses, such as 127.0.0.1 or 0.0.0.0.`;
    default:
      return `The server cannot listen on ${host}:${port}: ${message}.`;
  }
}
