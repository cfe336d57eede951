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
   * From now on resets a connection at the first message that commits a transaction and every n-th after it, and so with the others;
   * in turn before the message is passed on and before its response is. By default at none. It counts, because by chance a short test
   * would now and then see none.
   */
  breakSome(everyNth?: EveryNth): void;
}

interface EveryNth {
  readonly commits: number;
  readonly others: number;
}

type Fate = 'passes' | 'request is lost' | 'response is lost';

const never: EveryNth = { commits: Number.POSITIVE_INFINITY, others: Number.POSITIVE_INFINITY };

function fates(everyNth: number): () => Fate {
  let messages = 0;
  let breaks = 0;
  return () => {
    if (everyNth === Number.POSITIVE_INFINITY || messages++ % everyNth !== 0) return 'passes';
    return breaks++ % 2 === 0 ? 'response is lost' : 'request is lost';
  };
}

export async function openProxy(targetHost: string, targetPort: number): Promise<SeverableProxy> {
  const sockets = new Set<Socket>();
  let ofCommits = fates(never.commits);
  let ofOthers = fates(never.others);
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
      const fate = message.includes('commit') ? ofCommits() : ofOthers();
      losesResponse = fate === 'response is lost';
      if (fate === 'request is lost') inbound.resetAndDestroy();
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
    breakSome({ commits, others } = never) {
      ofCommits = fates(commits);
      ofOthers = fates(others);
    },
  };
}
