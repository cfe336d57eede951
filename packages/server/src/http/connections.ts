import type { Server, ServerOptions } from 'node:http';
import type { Socket } from 'node:net';
import { Counter, Gauge, type Registry } from 'prom-client';

/**
 * Time limits for the parts of a request to arrive, in milliseconds. The largest body takes 30 seconds at 35 kB/s; slower
 * requests would only occupy a connection and memory, and end with 408.
 */
export const arrivalLimits = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  connectionsCheckingInterval: 1_000,
  // Longer than clients and proxies keep an idle connection, usually a minute: the side that closes first must not be the
  // one that receives a request at that moment.
  keepAliveTimeout: 65_000,
} as const satisfies ServerOptions;

/** Time that a connection may be idle in both directions, in milliseconds: longer than any request takes. */
const silence = 120_000;

export interface ConnectionBounds {
  readonly total: number;
  /** Limit per address; undefined behind a proxy, which all connections come from. */
  readonly perAddress: number | undefined;
}

/** Limits the connections of a server: further ones are closed before anything is read from them. */
export function boundConnections(
  server: Server,
  { total, perAddress = total }: ConnectionBounds,
  registry: Registry,
): void {
  const open = new Map<string, number>();
  const rejected = new Counter({
    name: 'connections_rejected_total',
    help: 'Connections that were closed because the service or their address had too many.',
    labelNames: ['limit'],
    registers: [registry],
  });
  new Gauge({
    name: 'connections_open',
    help: 'Connections of callers.',
    registers: [registry],
    collect() {
      this.set([...open.values()].reduce((sum, count) => sum + count, 0));
    },
  });
  server.maxConnections = total;
  server.timeout = silence;
  server.on('drop', () => rejected.inc({ limit: 'service' }));
  server.on('connection', (socket: Socket) => {
    const address = socket.remoteAddress ?? '';
    const count = (open.get(address) ?? 0) + 1;
    if (count > perAddress) {
      rejected.inc({ limit: 'address' });
      socket.destroy();
      return;
    }
    open.set(address, count);
    socket.once('close', () => {
      const left = (open.get(address) ?? 1) - 1;
      if (left === 0) open.delete(address);
      else open.set(address, left);
    });
  });
}
