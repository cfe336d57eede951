import type { IncomingMessage, RequestListener, Server, ServerOptions, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Counter, Gauge, type Registry } from 'prom-client';
import { WasteLimit } from '../admission/waste-limit.ts';
import { networkOf } from '../platform/network.ts';
import { SocketQueue } from './socket-queue.ts';

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
const silence = 120_000;

/** Many clients that connect at once have this time to send their headers, in milliseconds. */
const headerGrace = 100;

/**
 * Connections without a header that are closed in one turn of the event loop, between which requests are served. Closing all at
 * once took up to 89 ms under attack, on a busy machine.
 */
const closedPerTurn = 8;

/** Pipelined requests of one connection that may wait. No browser pipelines, and a connection with more of them is closed. */
const maxPipelined = 8;

/** Paths of probes, which are served when everything else is rejected. */
const probes: ReadonlySet<string> = new Set(['/healthz', '/readyz', '/metrics']);

export interface ConnectionBounds {
  /** Connections with a request in progress, or idle after one. */
  readonly total: number;
  /** Limit per address; undefined behind a proxy, which all connections come from. */
  readonly perAddress: number | undefined;
  /** Origins whose pages can read why a request was rejected. */
  readonly corsOrigins?: readonly string[];
}

/** `new`: has not sent a complete header yet. `busy`: has a request in progress. `idle`: its requests have responses. */
const states = ['new', 'busy', 'idle'] as const;
type State = (typeof states)[number];

interface Connection {
  readonly network: string;
  state: State;
  /** Pipelined requests that wait until the response before them is sent. */
  readonly waiting: (() => void)[];
  /** The request that arrived last, unless it has a response and has arrived in whole. */
  last: IncomingMessage | undefined;
}

/**
 * Limits the connections of a server. What a connection is for is only known when the header of its first request is
 * complete, so connections without one have places of their own, of which the oldest makes room. Idle connections make
 * room for requests. A connection with a request in progress is never closed, unless it pipelines too many: if all are busy, further
 * requests are rejected, except for probes. If one has to go, it is one of the network that has the most, so that an attacker
 * evicts its own. If connections of a network end again and again before they have sent a whole request, new ones are
 * closed before anything is read.
 */
export class Connections {
  readonly #bounds: ConnectionBounds;
  readonly #mostNew: number;
  readonly #connections = new WeakMap<Socket, Connection>();
  /** Networks that may have too many connections without a header. */
  readonly #crowded = new Set<string>();
  readonly #wasteLimit: WasteLimit | undefined;
  #isMakingRoom = false;
  readonly #queues = { new: new SocketQueue(), busy: new SocketQueue(), idle: new SocketQueue() };
  readonly #closed = new Counter({
    name: 'connections_closed_total',
    help: 'Connections that were closed to make room for others: without a complete header, busy with too many pipelined requests, or idle.',
    labelNames: ['state'],
    registers: [],
  });
  readonly #rejected = new Counter({
    name: 'connections_rejected_total',
    help: 'Connections that were rejected: all of the service or of their address were busy, or their address wastes them.',
    labelNames: ['limit'],
    registers: [],
  });

  constructor(bounds: ConnectionBounds) {
    this.#bounds = bounds;
    this.#mostNew = Math.ceil(bounds.total / 4);
    this.#wasteLimit = bounds.perAddress === undefined ? undefined : new WasteLimit();
  }

  /** Limits the connections of this server, whose listener must come from `bounded`. */
  watch(server: Server): void {
    server.timeout = silence;
    server.on('connection', (socket: Socket) => {
      const network = networkOf(socket.remoteAddress ?? '');
      const { new: unused, busy } = this.#queues;
      if (this.#wasteLimit?.isExceeded(network, unused.sizeOf(network) + busy.sizeOf(network))) {
        this.#rejected.inc({ limit: 'waste' });
        socket.resetAndDestroy();
        return;
      }
      const connection: Connection = { network, state: 'new', waiting: [], last: undefined };
      this.#connections.set(socket, connection);
      this.#queues.new.add(network, socket);
      socket.once('close', () => {
        this.#queues[connection.state].delete(network, socket);
        if (connection.last?.complete === false) this.#wasteLimit?.count(network);
      });
      this.#limitNew(network);
    });
  }

  /** Serves the requests of a connection one after the other. Those beyond the limits are rejected before the listener receives them. */
  bounded(listener: RequestListener): RequestListener {
    const serve: RequestListener = (request, response) => {
      const limit = this.#start(request, response);
      if (limit === undefined) return listener(request, response);
      this.#rejected.inc({ limit });
      void reject(response, limit, this.#bounds.corsOrigins ?? []);
    };
    return (request, response) => {
      const { socket } = request;
      // What was sent after the last request that is served.
      if (!socket.writable) return;
      const connection = this.#connections.get(socket);
      if (connection !== undefined) connection.last = request;
      if (connection?.state !== 'busy') return serve(request, response);
      if (connection.waiting.length === maxPipelined) return this.#close('busy', socket);
      connection.waiting.push(() => serve(request, response));
    };
  }

  measure(registry: Registry): void {
    registry.registerMetric(this.#closed);
    registry.registerMetric(this.#rejected);
    const queues = this.#queues;
    new Gauge({
      name: 'connections_open',
      help: 'Connections of callers: without a complete header yet, with a request in progress, or idle.',
      labelNames: ['state'],
      registers: [registry],
      collect() {
        for (const state of states) this.set({ state }, queues[state].size);
      },
    });
  }

  #limitNew(network: string): void {
    const unused = this.#queues.new;
    const { perAddress = this.#mostNew } = this.#bounds;
    if (unused.size <= this.#mostNew && unused.sizeOf(network) <= perAddress) return;
    this.#crowded.add(network);
    if (this.#isMakingRoom) return;
    this.#isMakingRoom = true;
    // What arrived while this thread was busy is read first.
    setTimeout(() => setImmediate(() => this.#makeRoom()), headerGrace).unref();
  }

  /** Closes the oldest connections without a header that are too many, a few in each turn of the event loop. */
  #makeRoom(): void {
    for (let closed = 0; closed < closedPerTurn; closed += 1) {
      const oldest = this.#oldestTooMany();
      if (oldest === undefined) {
        this.#isMakingRoom = false;
        return;
      }
      this.#close('new', oldest);
    }
    setImmediate(() => this.#makeRoom());
  }

  #oldestTooMany(): Socket | undefined {
    const unused = this.#queues.new;
    const { perAddress = this.#mostNew } = this.#bounds;
    for (const network of this.#crowded) {
      if (unused.sizeOf(network) > perAddress) return unused.oldest(network);
      this.#crowded.delete(network);
    }
    return unused.size > this.#mostNew ? unused.oldest() : undefined;
  }

  /** Starts a request. @returns the limit that rejects it */
  #start(request: IncomingMessage, response: ServerResponse): 'service' | 'address' | undefined {
    const { socket } = request;
    const connection = this.#connections.get(socket);
    if (connection === undefined) return undefined;
    response.once('close', () => {
      if (request.complete && connection.last === request) connection.last = undefined;
      const next = socket.writable ? connection.waiting.shift() : undefined;
      if (next !== undefined) next();
      else this.#move(socket, connection, 'idle');
    });
    if (connection.state !== 'busy') this.#move(socket, connection, 'busy');
    const limit = this.#limitOf(connection.network);
    return isProbe(request) && this.#queues.busy.size <= this.#bounds.total + this.#mostNew ? undefined : limit;
  }

  /** Closes idle connections to make room for one that is now busy. @returns the limit that is exceeded nevertheless */
  #limitOf(network: string): 'service' | 'address' | undefined {
    const { busy, idle } = this.#queues;
    const { total, perAddress } = this.#bounds;
    if (perAddress !== undefined) {
      while (busy.sizeOf(network) + idle.sizeOf(network) > perAddress && idle.sizeOf(network) > 0)
        this.#close('idle', idle.oldest(network));
    }
    while (busy.size + idle.size > total && idle.size > 0) this.#close('idle', idle.oldest());
    if (busy.size > total) return 'service';
    // No more than as many as are left: so some are always left for other addresses.
    const most = perAddress === undefined ? total : Math.min(perAddress, total - busy.size + 1);
    return busy.sizeOf(network) > most ? 'address' : undefined;
  }

  #move(socket: Socket, connection: Connection, state: State): void {
    if (!this.#queues[connection.state].delete(connection.network, socket)) return;
    connection.state = state;
    this.#queues[state].add(connection.network, socket);
  }

  #close(state: State, socket: Socket | undefined): void {
    const connection = socket === undefined ? undefined : this.#connections.get(socket);
    if (socket === undefined || connection === undefined) return;
    this.#queues[state].delete(connection.network, socket);
    this.#closed.inc({ state });
    if (state !== 'idle') this.#wasteLimit?.count(connection.network);
    socket.destroy();
  }
}

function isProbe({ url = '' }: IncomingMessage): boolean {
  const [path = ''] = url.split('?', 1);
  return probes.has(path);
}

async function reject(
  response: ServerResponse,
  limit: 'service' | 'address',
  corsOrigins: readonly string[],
): Promise<void> {
  // Loaded late, because the port is opened before everything else.
  const [{ Rejection }, { sendProblem }] = await Promise.all([
    import('../contract/rejection.ts'),
    import('./send-problem.ts'),
  ]);
  const headers = { 'Retry-After': '1', Connection: 'close' };
  sendProblem(
    response,
    limit === 'service'
      ? new Rejection('SERVICE_UNAVAILABLE', 'All connections are busy. Try again in 1 second.', { headers })
      : new Rejection(
          'CONCURRENCY_LIMITED',
          'Too many connections of your address are busy. Use fewer at the same time, and try again in 1 second.',
          { headers },
        ),
    corsOrigins,
  );
}
