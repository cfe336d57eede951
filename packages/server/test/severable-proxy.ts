import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A proxy between a client and a server that can simulate an outage of the server. */
export interface SeverableProxy {
  readonly port: number;
  /** Closes every connection and accepts no new one. */
  sever(): Promise<void>;
  restore(): Promise<void>;
  /** Passes on nothing more of the open connections, as a network that drops packets. */
  drop(): void;
  /**
   * Resets connections at random from now on: before a message of the client is passed on, or before its response is. With these
   * probabilities, for messages that commit a transaction and for others; by default never any more.
   */
  breakAtRandom(chances?: Chances): void;
}

interface Chances {
  readonly commits: number;
  readonly others: number;
}

export async function openProxy(targetHost: string, targetPort: number): Promise<SeverableProxy> {
  const sockets = new Set<Socket>();
  let chances: Chances = { commits: 0, others: 0 };
  const server = createServer((inbound) => {
    const outbound = connect(targetPort, targetHost);
    for (const [from, to] of [
      [inbound, outbound],
      [outbound, inbound],
    ] as const) {
      sockets.add(from);
      from.on('error', () => to.destroy());
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
    }
    let losesResponse = false;
    inbound.on('data', (message) => {
      const chance = message.includes('commit') ? chances.commits : chances.others;
      const breaks = Math.random() < chance;
      losesResponse = breaks && Math.random() < 0.5;
      if (breaks && !losesResponse) inbound.resetAndDestroy();
      else outbound.write(message);
    });
    outbound.on('data', (message) => {
      if (losesResponse) inbound.resetAndDestroy();
      else inbound.write(message);
    });
    inbound.on('end', () => outbound.end());
    outbound.on('end', () => inbound.end());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address: AddressInfo | string | null = server.address();
  if (address === null || typeof address === 'string') throw new Error('The proxy has no port.');
  const { port } = address;
  return {
    port,
    async sever() {
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.resetAndDestroy();
      await closed;
    },
    async restore() {
      server.listen(port, '127.0.0.1');
      await once(server, 'listening');
    },
    drop() {
      for (const socket of sockets) socket.pause();
    },
    breakAtRandom(given = { commits: 0, others: 0 }) {
      chances = given;
    },
  };
}
