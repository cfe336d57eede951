import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Operation } from '../document/operation.ts';
import type { Exchange } from '../http/call.ts';
import { HttpClient, noResponse } from '../http/client.ts';
import { encoded } from '../http/deserialize.ts';
import { type Gate, NotSent, RunStopped } from '../http/gate.ts';
import type { WireRequest } from '../http/serialize.ts';
import type { Identities, Identity } from './identities.ts';
import type { CheckOptions } from './options.ts';
import { RateLimits } from './parallel.ts';
import type { Stopped } from './report.ts';

/** The share of the time limit that is kept for cleaning up, and the most that it can be. */
const cleaningShare = 0.1;
const maxCleaningMs = 10_000;
/** How often a request is repeated whose rate is limited. */
const maxRepeats = 5;
/** The number of requests of an operation that may time out. */
const maxSilences = 4;
/** How often a server is tried that seems to be dead, and the time between. */
const aliveTries = 3;
const alivePause = 300;

type StopReason = Stopped['reason'];

/** Sends requests within the limits of a run: its scope, its time, the server's rates, and the server's life. */
export class Transport {
  requests = 0;
  readonly notices = new Set<string>();
  onExchange: (exchange: Exchange, wire: WireRequest) => void = () => undefined;
  /** Called for each request that the gate admits, to send it. */
  around: (operation: Operation | undefined, wire: WireRequest, send: () => Promise<Exchange>) => Promise<Exchange> = (
    _operation,
    _wire,
    send,
  ) => send();
  readonly #client: HttpClient;
  readonly #gate: Gate;
  readonly #identities: Identities;
  readonly #url: URL;
  readonly #limits: RateLimits;
  readonly #ending = new AbortController();
  readonly #deadline: AbortSignal;
  /** Requests without a response so far, in the order in which they were sent. */
  readonly #open = new Set<Exchange['request']>();
  /** Exchanges for whose requests a connection was closed without a response. */
  readonly lost: Exchange[] = [];
  /** Requests that were open when the server died; the last one most likely caused it. */
  fatal: readonly Exchange[] = [];
  stopped: StopReason | undefined;
  hasResponded = false;
  #failures = 0;
  readonly #timeout: number;
  readonly #silences = new Map<string, number>();
  #isCleaning = false;
  /** A request that had a response before. It shows whether the server still responds. */
  #pulse: WireRequest | undefined;
  #life: Promise<boolean> | undefined;

  constructor(url: string, options: CheckOptions, gate: Gate, identities: Identities) {
    this.#url = new URL(url);
    this.#gate = gate;
    this.#identities = identities;
    this.#timeout = (options.timeout ?? 10) * 1000;
    this.#client = new HttpClient(url, options.concurrency ?? 8, this.#timeout, gate);
    const milliseconds = options.time === undefined ? Number.POSITIVE_INFINITY : options.time * 1000;
    this.#limits = new RateLimits(this.#ending.signal, milliseconds, () =>
      this.notices.add(
        'The server limited the rate of requests (429) for longer than the run waits, so much of what is not covered was not sent. Start it with a higher limit.',
      ),
    );
    const cleaning = Math.min(maxCleaningMs, milliseconds * cleaningShare);
    const stop = () => this.#stop(options.signal?.aborted === true ? 'interrupted' : 'time');
    const end = AbortSignal.any([after(milliseconds - cleaning), ...(options.signal ? [options.signal] : [])]);
    if (end.aborted) stop();
    else end.addEventListener('abort', stop, { once: true });
    this.#deadline = after(milliseconds);
  }

  /** Only cleaning up sends requests from now on. */
  startCleaning(): void {
    this.#isCleaning = true;
    this.#limits.startCleaning();
  }

  close(): Promise<void> {
    return this.#client.close();
  }

  /**
   * Sends a request, and waits if the server limits the rate.
   *
   * @throws NotSent if the request may not be sent; RunStopped if the run is over.
   */
  async exchange(operation: Operation | undefined, wire: WireRequest, identity: Identity): Promise<Exchange> {
    const limit = operation?.id ?? `${wire.method} ${wire.target.split('?')[0]}`;
    for (let attempt = 0; ; attempt += 1) {
      this.#checkRunning();
      this.#gate.check(wire);
      this.#checkSilence(limit);
      await this.#limits.admit(limit);
      const exchange = await this.around(operation, wire, async () => {
        const headers = await this.#headersOf(wire, identity, operation);
        const keys = await this.#identities.keysOf(identity, operation);
        const sent = await this.#send(operation, { ...withKeys(wire, { ...keys, ...wire.keys }), headers });
        this.onExchange(sent, wire);
        return sent;
      });
      this.#checkRunning();
      const { status } = exchange.response;
      if (status === 429 && attempt < maxRepeats) {
        this.#limits.note(limit, Math.min(3600, Number(exchange.response.headers['retry-after'] ?? 1) || 1));
        this.notices.add(
          'The server limits the rate of requests (429), and the run had to wait. A higher limit makes it faster.',
        );
        continue;
      }
      const isRenewed = status === 401 && identity === 'caller' && attempt === 0 && !('authorization' in wire.headers);
      if (isRenewed && this.#identities.renew(identity, operation, exchange.request.headers)) continue;
      this.#noteSilence(limit, exchange);
      return exchange;
    }
  }

  /** Whether the server accepts connections, and responds to a request if one is known. */
  async isAlive(known?: WireRequest): Promise<boolean> {
    if (!(await this.#isListening())) return false;
    if (known === undefined) return true;
    this.requests += 1;
    const { response } = await this.#client.send(undefined, known, this.#ending.signal);
    return response.status !== noResponse;
  }

  async #headersOf(wire: WireRequest, identity: Identity, operation?: Operation): Promise<Record<string, string>> {
    // Headers of the call override those of the identity.
    const headers: Record<string, string> = {
      ...(await this.#identities.headersOf(identity, operation)),
      ...wire.headers,
    };
    if (wire.cookie !== undefined) headers.cookie = [headers.cookie ?? [], wire.cookie].flat().join('; ');
    for (const name of wire.without ?? []) delete headers[name];
    return headers;
  }

  async #send(operation: Operation | undefined, wire: WireRequest): Promise<Exchange> {
    this.requests += 1;
    const signal = this.#isCleaning ? this.#deadline : this.#ending.signal;
    const request = this.#client.requestOf(wire);
    this.#open.add(request);
    try {
      const exchange = await this.#client.send(operation, wire, signal);
      if (exchange.response.lost !== undefined && !signal.aborted) this.lost.push({ ...exchange, operation });
      if (exchange.response.status !== noResponse) {
        this.hasResponded = true;
        if (wire.method === 'GET') this.#pulse = wire;
      } else if (!signal.aborted) await this.#checkAlive(exchange, request);
      return exchange;
    } finally {
      this.#open.delete(request);
    }
  }

  /** Ends the run if the server died. Requests that were open then fail together. */
  async #checkAlive(exchange: Exchange, request: Exchange['request']): Promise<void> {
    const open = [...this.#open].filter((other) => other !== request);
    this.#life ??= this.#isListeningAgain();
    const isAlive = await this.#life;
    this.#life = undefined;
    if (isAlive || this.stopped !== undefined) return;
    const { response } = exchange;
    this.fatal = [...open.map((other) => ({ operation: undefined, request: other, response })), exchange];
    this.#stop('dead');
  }

  /** Notes a request that took too long. One that fails at once takes no time, and can be repeated. */
  #noteSilence(operation: string, { response }: Exchange): void {
    if (response.milliseconds < this.#timeout / (response.status === noResponse ? 2 : 1)) return;
    const count = (this.#silences.get(operation) ?? 0) + 1;
    this.#silences.set(operation, count);
    if (count === maxSilences) this.notices.add(silenceOf(operation));
  }

  /** How many times as long a response is waited for that did not come: a server may first process others that are late. */
  patienceFor({ id }: Operation): number {
    return [...this.#silences.keys()].some((one) => one !== id) ? 9 : 3;
  }

  #checkSilence(operation: string): void {
    if ((this.#silences.get(operation) ?? 0) >= maxSilences && !this.#isCleaning)
      throw new NotSent(silenceOf(operation));
  }

  async #isListeningAgain(): Promise<boolean> {
    if (!this.hasResponded) this.#failures += 1;
    if (this.#failures >= maxSilences) return false;
    for (let attempt = 0; attempt < aliveTries; attempt += 1) {
      if (await this.isAlive(this.#pulse)) return true;
      await sleep(alivePause);
    }
    return false;
  }

  async #isListening(): Promise<boolean> {
    const { hostname, port, protocol } = this.#url;
    const host = hostname.replace(/^\[|\]$/g, '');
    const socket = connect({ host, port: Number(port) || (protocol === 'https:' ? 443 : 80) });
    return once(socket, 'connect', { signal: AbortSignal.timeout(2000) })
      .then(() => true)
      .catch(() => false)
      .finally(() => socket.destroy());
  }

  #checkRunning(): void {
    const isOver = this.#isCleaning ? this.#deadline.aborted || this.stopped === 'dead' : this.stopped;
    if (isOver) throw new RunStopped('The run is over.');
  }

  #stop(reason: StopReason): void {
    this.stopped ??= reason;
    this.#ending.abort();
  }
}

function withKeys(wire: WireRequest, keys: Readonly<Record<string, string>>): WireRequest {
  const pairs = Object.entries(keys).map(([name, value]) => `${encoded(name)}=${encoded(value)}`);
  if (pairs.length === 0) return wire;
  return { ...wire, target: `${wire.target}${wire.target.includes('?') ? '&' : '?'}${pairs.join('&')}` };
}

/** A signal that is aborted after some time; never, if that is infinite. */
function after(milliseconds: number): AbortSignal {
  return Number.isFinite(milliseconds) ? AbortSignal.timeout(milliseconds) : new AbortController().signal;
}

function silenceOf(operation: string): string {
  return `${operation} is not called any more, because ${maxSilences} of its requests timed out.`;
}
