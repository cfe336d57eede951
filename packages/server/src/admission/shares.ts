import { millisecondsOf } from '../contract/durations.ts';
import { Rejection } from '../contract/rejection.ts';

/** Limits on concurrent requests. */
export interface ShareLimits {
  readonly total: number;
  readonly perTenant: number;
  readonly perUser: number;
  /** Time that a request waits for its turn, in milliseconds. */
  readonly wait: number;
  /** Number of requests of one tenant that may wait. */
  readonly waiting: number;
  /** The most of a tenant in this process, where all processes together have a bound. */
  readonly boundOf?: (tenantName: string) => number;
  /**
   * After which requests a tenant rests for as long as they took: those during which another one of it was rejected, or at
   * whose end another one of the same API user waits. Only API users of which this is true rest.
   */
  readonly restsIf?: 'rejected' | 'waiting';
  /** What is limited, in the plural: all requests by default. */
  readonly subject?: string;
}

export interface ShareObserver {
  /**
   * Called when a request starts, with the time it waited and the number of requests in progress of its tenant, including
   * itself.
   */
  started(waitedSeconds: number, inProgressOfTenant: number): void;
  rejected(limit: 'user' | 'tenant' | 'service'): void;
}

export interface Usage {
  readonly inProgress: number;
  readonly waiting: number;
  /** Requests in progress of each active tenant, on average over the last minute, the busiest first. */
  readonly perTenant: readonly number[];
}

/**
 * Idle users of a tenant that stay in memory: creating them again for each request would cost more than the rest of its
 * turn.
 */
const idleUsers = 8;

/** How long a request waits for its turn, in milliseconds. */
export const standardWait = millisecondsOf('share');

/**
 * Limits for a number of connections to the database. One is reserved for authentication, which happens before admission.
 */
export function shareLimits(connections: number): ShareLimits {
  const total = Math.max(1, connections - 1);
  const perTenant = Math.ceil(total / 2);
  return { total, perTenant, perUser: shareOfUser(perTenant), wait: standardWait, waiting: 100 };
}

/** What one API user may have of the places of its tenant. */
function shareOfUser(perTenant: number): number {
  return Math.ceil((perTenant * 3) / 4);
}

/**
 * Limits for large bodies, from the first byte that is read until the response: together, they take 64 MB at most,
 * however slowly they arrive.
 */
export const largeBodyLimits: ShareLimits = {
  total: 64,
  perTenant: 32,
  perUser: 24,
  wait: standardWait,
  waiting: 100,
  subject: 'requests with large bodies',
};

/**
 * Limits for costly searches on a number of connections. Of a tenant that sends more than that, they run half of the time.
 */
export function costlySearchLimits(connections: number): ShareLimits {
  return { ...costlyLimits(connections), restsIf: 'rejected', subject: 'costly searches' };
}

/** Limits for bulk writes on a number of connections. */
export function bulkWriteLimits(connections: number): ShareLimits {
  return { ...costlyLimits(connections), restsIf: 'waiting', subject: 'bulk writes' };
}

/** Requests that keep a processor busy for long, of the database or of this process, which quick requests need. */
function costlyLimits(connections: number): ShareLimits {
  const total = Math.max(2, Math.round(connections / 5));
  const perTenant = Math.floor(total / 2);
  return { total, perTenant, perUser: perTenant, wait: standardWait, waiting: 100 };
}

/**
 * Admits a limited number of requests at a time, so that no tenant and no API user can occupy the service. A free place
 * goes to the tenant with the fewest requests in progress, and within it to the API user with the fewest; among equals,
 * to the one that has waited longest. Queue libraries have one order and one limit; this requires both for each tenant
 * and user.
 */
export class Shares {
  readonly #limits: ShareLimits;
  readonly #observer: ShareObserver;
  readonly #tenants = new Map<string, Share>();
  #inProgress = 0;
  #waiting = 0;
  #turn = 0;

  constructor(limits: ShareLimits, observer: ShareObserver) {
    this.#limits = limits;
    this.#observer = observer;
  }

  /**
   * Waits for the turn of a request.
   *
   * @returns a function to call once, when the request ends.
   * @throws Rejection `CONCURRENCY_LIMITED` if the API user or the tenant is at its limit, `SERVICE_UNAVAILABLE` if the
   * service is busy with others.
   */
  async enter(tenantName: string, userName: string): Promise<() => void> {
    const tenant = shareNamed(this.#tenants, tenantName);
    const user = shareNamed(tenant.users, userName);
    const { total, waiting } = this.#limits;
    const { perTenant, perUser } = this.#bind(tenant, tenantName);
    let waited = 0;
    // Waiting requests are held back by their own limits, so a place that is free for this request is not free for them.
    if (
      this.#inProgress < total &&
      tenant.inProgress < perTenant &&
      user.inProgress < perUser &&
      !isResting(tenant, user)
    )
      this.#start(tenant, user);
    else if (tenant.waiting >= waiting) throw this.#rejection(tenant, user);
    else {
      const came = performance.now();
      await this.#queue(tenant, user);
      waited = (performance.now() - came) / 1000;
    }
    this.#observer.started(waited, tenant.inProgress);
    const started = performance.now();
    return () => {
      this.#change(tenant, user, -1, 0);
      if (this.#limits.restsIf === 'waiting' && user.waiting > 0) exceed(tenant, user);
      if (this.#limits.restsIf !== undefined && tenant.exceededAt >= started) this.#rest(tenant, started);
      if (user.inProgress + user.waiting === 0 && tenant.users.size > idleUsers) tenant.users.delete(userName);
      this.#startNext();
    };
  }

  /** The limits of a tenant with its part of what all processes may have. */
  #bind(tenant: Share, tenantName: string): ShareLimits {
    const { boundOf } = this.#limits;
    if (boundOf === undefined) return this.#limits;
    tenant.most = Math.min(this.#limits.perTenant, boundOf(tenantName));
    return this.#limitsOf(tenant);
  }

  #limitsOf({ most }: Share): ShareLimits {
    const { perTenant, perUser } = this.#limits;
    return most >= perTenant
      ? this.#limits
      : { ...this.#limits, perTenant: most, perUser: Math.min(perUser, shareOfUser(most)) };
  }

  /** Returns the tenants that had several requests in progress or waiting at a time since the last call. */
  takeBusy(): string[] {
    const busy: string[] = [];
    for (const [name, tenant] of this.#tenants) {
      if (tenant.peak > 1) busy.push(name);
      tenant.peak = tenant.inProgress + tenant.waiting;
    }
    return busy;
  }

  usage(): Usage {
    const perTenant: number[] = [];
    for (const [name, tenant] of this.#tenants) {
      const average = tenant.average();
      if (average >= 0.001 || tenant.inProgress + tenant.waiting > 0) perTenant.push(average);
      else this.#tenants.delete(name);
    }
    return { inProgress: this.#inProgress, waiting: this.#waiting, perTenant: perTenant.sort((a, b) => b - a) };
  }

  /** What a tenant uses now and on average over the last minute, and the limits that hold for it. */
  usageOf(tenantName: string): {
    readonly limits: ShareLimits;
    readonly inProgress: number;
    readonly waiting: number;
    readonly average: number;
  } {
    const tenant = this.#tenants.get(tenantName);
    return {
      limits: tenant === undefined ? this.#limits : this.#limitsOf(tenant),
      inProgress: tenant?.inProgress ?? 0,
      waiting: tenant?.waiting ?? 0,
      average: tenant?.average() ?? 0,
    };
  }

  #queue(tenant: Share, user: Share): Promise<void> {
    return new Promise((resolve, reject) => {
      const start = () => {
        clearTimeout(timer);
        this.#change(tenant, user, 0, -1);
        this.#start(tenant, user);
        resolve();
      };
      const timer = setTimeout(() => {
        user.queue.splice(user.queue.indexOf(start), 1);
        this.#change(tenant, user, 0, -1);
        reject(this.#rejection(tenant, user));
      }, this.#limits.wait);
      user.queue.push(start);
      this.#change(tenant, user, 0, 1);
    });
  }

  #start(tenant: Share, user: Share): void {
    this.#change(tenant, user, 1, 0);
    this.#turn += 1;
    tenant.turn = this.#turn;
    user.turn = this.#turn;
  }

  #rest(tenant: Share, started: number): void {
    tenant.rests.add(started);
    setTimeout(() => {
      tenant.rests.delete(started);
      this.#startNext();
    }, performance.now() - started).unref();
  }

  #startNext(): void {
    const { total } = this.#limits;
    while (this.#inProgress < total && this.#waiting > 0) {
      const tenant = next(this.#tenants, (one) => {
        const { perTenant, perUser } = this.#limitsOf(one);
        return one.inProgress < perTenant && hasStartable(one, perUser);
      });
      const user =
        tenant === undefined
          ? undefined
          : next(tenant.users, (one) => isStartable(tenant, one, this.#limitsOf(tenant).perUser));
      const start = user?.queue.shift();
      if (start === undefined) return;
      start();
    }
  }

  #change(tenant: Share, user: Share, inProgress: number, waiting: number): void {
    tenant.addInProgress(inProgress);
    tenant.waiting += waiting;
    // Nobody reads averages of users.
    user.inProgress += inProgress;
    user.waiting += waiting;
    tenant.peak = Math.max(tenant.peak, tenant.inProgress + tenant.waiting);
    this.#inProgress += inProgress;
    this.#waiting += waiting;
  }

  #rejection(tenant: Share, user: Share): Rejection {
    const { perTenant, perUser, subject = 'requests' } = this.#limitsOf(tenant);
    const headers = { 'Retry-After': '1' };
    const isOfUser = user.inProgress >= perUser || isResting(tenant, user);
    const limit = isOfUser ? 'user' : tenant.inProgress >= perTenant ? 'tenant' : 'service';
    this.#observer.rejected(limit);
    exceed(tenant, user);
    if (limit === 'service') {
      return new Rejection('SERVICE_UNAVAILABLE', 'The service is busy. Try again in 1 second.', { headers });
    }
    const [holder, { inProgress }] = isOfUser ? ['Your API user', user] : ['Your tenant', tenant];
    const reason =
      inProgress === 0
        ? `sent too many ${subject}`
        : `already has ${inProgress} ${inProgress === 1 ? singular(subject) : subject} in progress`;
    return new Rejection(
      'CONCURRENCY_LIMITED',
      `${holder} ${reason}. Send fewer at the same time, and try again in 1 second.`,
      { headers },
    );
  }
}

function singular(subject: string): string {
  return subject.replace('requests', 'request').replace('searches', 'search').replace('writes', 'write');
}

/** Period of the moving average of a share, in milliseconds. */
const averageOver = 60_000;

/** Requests in progress and waiting of one tenant or API user. */
class Share {
  readonly users = new Map<string, Share>();
  readonly queue: (() => void)[] = [];
  inProgress = 0;
  waiting = 0;
  /** Sequence number of its last start. */
  turn = 0;
  /** Of a tenant: the most that may be in progress, and the most that were in progress or waiting since `takeBusy`. */
  most = Number.POSITIVE_INFINITY;
  peak = 0;
  /** When it last sent so many requests that it rests. */
  exceededAt = Number.NEGATIVE_INFINITY;
  /** Of a tenant that rests: when the requests started after which it does. */
  readonly rests = new Set<number>();
  #average = 0;
  #since = performance.now();

  addInProgress(change: number): void {
    if (change === 0) return;
    const now = performance.now();
    this.#average = this.average(now);
    this.#since = now;
    this.inProgress += change;
  }

  /** Requests in progress, as an exponentially weighted moving average. */
  average(now = performance.now()): number {
    const kept = Math.exp((this.#since - now) / averageOver);
    return this.#average * kept + this.inProgress * (1 - kept);
  }
}

function shareNamed(shares: Map<string, Share>, name: string): Share {
  let share = shares.get(name);
  if (share === undefined) {
    share = new Share();
    shares.set(name, share);
  }
  return share;
}

function isStartable(tenant: Share, user: Share, perUser: number): boolean {
  return user.queue.length > 0 && user.inProgress < perUser && !isResting(tenant, user);
}

function exceed(tenant: Share, user: Share): void {
  const now = performance.now();
  tenant.exceededAt = now;
  user.exceededAt = now;
}

/** Whether the tenant rests after a request, and the user exceeded its share since that started. */
function isResting({ rests }: Share, { exceededAt }: Share): boolean {
  return exceededAt >= Math.min(...rests);
}

function hasStartable(tenant: Share, perUser: number): boolean {
  if (tenant.waiting === 0) return false;
  for (const user of tenant.users.values()) if (isStartable(tenant, user, perUser)) return true;
  return false;
}

/** The share with the fewest requests in progress; among equals, the one whose last turn is longest ago. */
function next(shares: ReadonlyMap<string, Share>, isEligible: (share: Share) => boolean): Share | undefined {
  let chosen: Share | undefined;
  for (const share of shares.values()) {
    if (!isEligible(share)) continue;
    const isBefore =
      chosen === undefined ||
      share.inProgress < chosen.inProgress ||
      (share.inProgress === chosen.inProgress && share.turn < chosen.turn);
    if (isBefore) chosen = share;
  }
  return chosen;
}
