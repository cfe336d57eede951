import { Counter, Gauge, type Registry } from 'prom-client';
import { largeBody } from '../contract/bulk.ts';
import { millisecondsOf } from '../contract/durations.ts';
import { Rejection } from '../contract/rejection.ts';
import type { Counters } from '../platform/counters.ts';
import { createHistogram } from '../platform/process/histogram.ts';
import { FailureLimit } from './failure-limit.ts';
import type { Weight } from './holder.ts';
import { createRateLimit, type RateLimit } from './rate-limit.ts';
import { limitNames, type ShareLimits, Shares, type Slot, shareLimits } from './shares.ts';

/** How long a request waits for its turn. */
export const standardWaitMs: ShareLimits['waitMs'] = {
  light: millisecondsOf('share'),
  heavy: millisecondsOf('heavyShare'),
};

/** How long a large body may take to arrive once it has a slot: 200 kB/s for the largest one. A proxy that buffers bodies sends it at once. */
const standardBodyMs = 5_000;

/** Number of the busiest tenants with metrics of their own, by rank. Labels by name would grow with the number of tenants. */
const ranks = 5;

/** The body of a request, which has not been read. */
export interface UnreadBody {
  readonly mayBeLarge: boolean;
  read(): Promise<Buffer>;
}

/** A request that wants to start. */
export interface Arrived {
  /** Whether its caller has closed the connection. */
  readonly isGone: boolean;
  /** Keeps the slot until the result of the request is known, at most. */
  hold(slot: { end(): void }): void;
}

export interface AdmissionOptions {
  /** Requests that can use the database at the same time. */
  readonly connections: number;
  /** Factor for the contract's rate limits; 0 disables them. */
  readonly rateLimitFactor: number;
  readonly counters: Counters;
  readonly registry: Registry;
  readonly waitMs?: ShareLimits['waitMs'];
  readonly bodyMs?: number;
  readonly boundOf?: ShareLimits['boundOf'];
}

/** The one door: who may start now. `docs/admission.md` explains it. */
export class Admission {
  readonly rateLimit: RateLimit;
  readonly failureLimit: FailureLimit;
  readonly shares: Shares;
  readonly #bodyMs: number;

  constructor({ connections, rateLimitFactor, counters, registry, ...more }: AdmissionOptions) {
    const { waitMs = standardWaitMs, bodyMs = standardBodyMs, boundOf } = more;
    this.#bodyMs = bodyMs;
    this.rateLimit = createRateLimit(rateLimitFactor, counters);
    this.failureLimit = new FailureLimit(rateLimitFactor, counters);
    const limits = shareLimits(connections, waitMs);
    this.shares = measuredShares(boundOf === undefined ? limits : { ...limits, boundOf }, registry);
  }

  /**
   * Reads the body of a request and waits for its turn, which ends with the request at the latest. A body that may be large waits before it is read, because it takes memory. A
   * small one is read first, so that a slow sender has no slot.
   *
   * @throws Rejection `CONCURRENCY_LIMITED` or `SERVICE_UNAVAILABLE`, and what reading the body throws
   */
  async admit(request: Arrived, tenant: string, user: string, body?: UnreadBody): Promise<Admitted> {
    const enter = (weight: Weight) => this.shares.enter(tenant, user, weight, () => request.isGone);
    if (body?.mayBeLarge !== true) {
      const bytes = await body?.read();
      const admitted = new Admitted(enter, await enter('light'), bytes);
      request.hold(admitted);
      return admitted;
    }
    const slot = await enter('heavy');
    request.hold(slot);
    const bytes = await this.#inTime(body.read());
    const isHeavy = bytes.length >= largeBody;
    if (!isHeavy) slot.lighten();
    const admitted = new Admitted(enter, slot, bytes, isHeavy);
    request.hold(admitted);
    return admitted;
  }

  /** @throws Rejection `PAYLOAD_TOO_LARGE` if a body takes too long to arrive */
  async #inTime(reading: Promise<Buffer>): Promise<Buffer> {
    const { promise: late, reject } = Promise.withResolvers<never>();
    const detail = `The body took longer than ${this.#bodyMs / 1000} seconds to arrive. Split the request.`;
    const timer = setTimeout(() => reject(new Rejection('PAYLOAD_TOO_LARGE', detail)), this.#bodyMs);
    return Promise.race([reading, late]).finally(() => clearTimeout(timer));
  }
}

/** A request that was admitted, until it ends. */
export class Admitted {
  readonly bytes: Buffer | undefined;
  readonly #enter: (weight: Weight) => Promise<Slot>;
  readonly #isHeavy: boolean;
  #slot: Slot;
  #hasEnded = false;

  /** @param enter waits for the turn of a part of the request */
  constructor(enter: (weight: Weight) => Promise<Slot>, slot: Slot, bytes?: Buffer, isHeavy = false) {
    this.#enter = enter;
    this.#slot = slot;
    this.bytes = bytes;
    this.#isHeavy = isHeavy;
  }

  /**
   * Runs heavy work when it is its turn. While it waits for that, its slot is free for others.
   *
   * @throws Rejection like `Admission.admit`
   */
  async heavy<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.#isHeavy) return work();
    this.#slot.end();
    const slot = await this.#enter('heavy');
    try {
      return await work();
    } finally {
      slot.lighten();
      // A request can do several at a time, and has one slot for what follows.
      this.#slot.end();
      this.#slot = slot;
      // One of several was rejected, so the request has its result, and nothing would end this slot.
      if (this.#hasEnded) slot.end();
    }
  }

  end(): void {
    this.#hasEnded = true;
    this.#slot.end();
  }
}

function measuredShares(limits: ShareLimits, registry: Registry): Shares {
  const registers = [registry];
  const waits = createHistogram({
    name: 'request_wait_seconds',
    help: 'How long requests waited for their turn, in seconds.',
    buckets: [0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers,
  })();
  const ofTenant = createHistogram({
    name: 'tenant_requests_in_progress',
    help: 'How many requests of its tenant were in progress when a request started, itself included. A heavy one counts as several.',
    buckets: Array.from({ length: limits.units }, (_, index) => index + 1),
    registers,
  })();
  const rejections = new Counter({
    name: 'requests_rejected_total',
    help: 'Requests that were rejected because their user, their tenant or the service had its limit in progress.',
    labelNames: ['limit'],
    registers,
  });
  for (const limit of limitNames) rejections.inc({ limit }, 0);
  const shares = new Shares(limits, {
    started(waitedSeconds, unitsOfTenant) {
      waits(waitedSeconds);
      ofTenant(unitsOfTenant);
    },
    rejected: (limit) => rejections.inc({ limit }),
  });
  new Gauge({
    name: 'requests_in_progress',
    help: 'Requests that the service is working on. A costly search, a bulk write or a large body counts as several.',
    registers,
    collect() {
      this.set(shares.usage().units);
    },
  });
  new Gauge({
    name: 'requests_waiting',
    help: 'Requests that wait for their turn.',
    registers,
    collect() {
      this.set(shares.usage().waiting);
    },
  });
  new Gauge({
    name: 'tenant_requests_in_progress_average',
    help: 'Requests in progress of the busiest tenants on average over a minute, by rank. Logs name the tenant of a request.',
    labelNames: ['rank'],
    registers,
    collect() {
      const { averages } = shares.usage();
      for (let rank = 1; rank <= ranks; rank++) this.set({ rank }, averages[rank - 1] ?? 0);
    },
  });
  return shares;
}
