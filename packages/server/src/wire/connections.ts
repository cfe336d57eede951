import type { RequestListener, Server, ServerOptions, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Counter, Gauge, type Registry } from 'prom-client';

/**
 * Time limits for the parts of a request to arrive, in milliseconds. The largest body takes 30 seconds at 35 kB/s; slower
 * requests would only occupy a connection and memory, and end with 408.
 */
export const arrivalLimits = {
  headersTimeout: 5_000,
  requestTimeout: 30_000,
  connectionsCheckingInterval: 1_000,
  // Longer than clients and proxies keep an idle connection, usually a minute: the side that closes first must not be the
  // one that receives a request at that moment.
  keepAliveTimeout: 65_000,
} as const satisfies ServerOptions;

/** Time that a connection may be idle in both directions, in milliseconds: longer than any request takes. */
const silenceMs = 120_000;

/** Pipelined requests of one connection that may wait. No browser pipelines, and a connection with more of them is closed. */
const maxPipelined = 8;

/** Connections that may be open beyond those of requests in progress, at least: for probes. */
const spare = 10;

/** Paths of probes, which are served when everything else is rejected. */
const probes: ReadonlySet<string> = new Set(['/healthz', '/readyz', '/metrics']);

export interface ConnectionBounds {
  /** Requests in progress, each of which has a connection. A quarter more connections may be open, and some for probes. */
  readonly total: number;
  /** Origins whose pages can read why a request was rejected. */
  readonly corsOrigins?: readonly string[];
}

/**
 * Serves the requests of a connection one after the other, and bounds connections in all. A proxy in front of the service bounds those
 * of an address, and how long they take to send a request.
 */
export class Connections {
  readonly #bounds: ConnectionBounds;
  /** Of each connection with a request in progress, those that wait until the response before them is sent. */
  readonly #waiting = new Map<Socket, (() => void)[]>();
  #open = 0;
  #makeRoom = () => {};
  readonly #closed = new Counter({
    name: 'connections_closed_total',
    help: 'Connections that were closed because they had too many pipelined requests.',
    registers: [],
  });
  readonly #rejected = new Counter({
    name: 'connections_rejected_total',
    help: 'Requests that were rejected because all connections were busy.',
    registers: [],
  });

  constructor(bounds: ConnectionBounds) {
    this.#bounds = bounds;
  }

  /** Bounds the connections of this server, whose listener must come from `bounded`. */
  watch(server: Server): void {
    server.timeout = silenceMs;
    this.#makeRoom = () => server.closeIdleConnections();
    server.maxConnections = Math.ceil(this.#bounds.total * 1.25) + spare;
    server.on('connection', (socket: Socket) => {
      this.#open += 1;
      socket.once('close', () => {
        this.#open -= 1;
      });
    });
  }

  /** Serves the requests of a connection one after the other. Those beyond the limits are rejected before the listener receives them. */
  bounded(listener: RequestListener): RequestListener {
    const serve: RequestListener = (request, response) => {
      const { socket, url = '' } = request;
      const waiting = this.#waiting.getOrInsertComputed(socket, () => []);
      if (this.#open > this.#bounds.total) this.#makeRoom();
      response.once('close', () => {
        const next = socket.writable ? waiting.shift() : undefined;
        if (next === undefined) this.#waiting.delete(socket);
        else next();
      });
      if (this.#waiting.size <= this.#bounds.total || probes.has(url.split('?', 1)[0] ?? ''))
        return listener(request, response);
      this.#rejected.inc();
      void reject(response, this.#bounds.corsOrigins ?? []);
    };
    return (request, response) => {
      const { socket } = request;
      // What was sent after the last request that is served.
      if (!socket.writable) return;
      const waiting = this.#waiting.get(socket);
      if (waiting === undefined) return serve(request, response);
      if (waiting.length < maxPipelined) return void waiting.push(() => serve(request, response));
      this.#closed.inc();
      socket.destroy();
    };
  }

  measure(registry: Registry): void {
    registry.registerMetric(this.#closed);
    registry.registerMetric(this.#rejected);
    const counts = () => ({ busy: this.#waiting.size, idle: this.#open - this.#waiting.size });
    new Gauge({
      name: 'connections_open',
      help: 'Connections of callers: with a request in progress, or idle.',
      labelNames: ['state'],
      registers: [registry],
      collect() {
        for (const [state, count] of Object.entries(counts())) this.set({ state }, count);
      },
    });
  }
}

async function reject(response: ServerResponse, corsOrigins: readonly string[]): Promise<void> {
  // Loaded late, because the port is opened before everything else.
  const [{ Rejection }, { sendProblem }] = await Promise.all([
    import('../contract/rejection.ts'),
    import('./send-problem.ts'),
  ]);
  const headers = { Connection: 'close' };
  const detail = 'All connections are busy. Try again in 1 second.';
  sendProblem(response, new Rejection('SERVICE_UNAVAILABLE', detail, { headers }), corsOrigins);
}
