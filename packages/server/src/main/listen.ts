import type { Server } from 'node:net';

/**
 * Connections that may wait until they are accepted; the system may allow fewer. Node's 511 are full when an attacker opens
 * thousands at once, and other callers would connect a second later.
 */
const pendingConnections = 4096;

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

function listenFailure({ code, message }: NodeJS.ErrnoException, host: string, port: number, setting: string): string {
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
