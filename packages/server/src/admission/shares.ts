import { Rejection } from '../contract/rejection.ts';
import { activeMs, Holder, type Waiting, type Weight } from './holder.ts';

export interface ShareLimits {
  /** Units in all, those of a heavy request, and those of all heavy requests together: the rest is left for light ones. */
  readonly units: number;
  readonly heavy: number;
  readonly allHeavy: number;
  /** Time that a request waits for its turn, in milliseconds. */
  readonly waitMs: Readonly<Record<Weight, number>>;
  /** Requests of one tenant that may wait. */
  readonly maxWaiting: number;
  /** The most units of a tenant in this process, where all processes together have a bound. */
  readonly boundOf?: (tenantName: string) => number;
}

export const limitNames = ['user', 'tenant', 'service'] as const;
export type Limit = (typeof limitNames)[number];

export interface ShareObserver {
  /** Called when a request starts, with the time it waited and the units of its tenant, including its own. */
  started(waitedSeconds: number, unitsOfTenant: number): void;
  rejected(limit: Limit): void;
}

/** Limits for a number of connections to the database. One is reserved for authentication, which happens before admission. */
export function shareLimits(connections: number, waitMs: ShareLimits['waitMs']): ShareLimits {
  const units = Math.max(1, connections - 1);
  const heavy = Math.min(3, Math.ceil(units / 3));
  return { units, heavy, allHeavy: Math.max(heavy, Math.floor(units * 0.8)), waitMs, maxWaiting: 100 };
}

/** The slot of a request among those in progress. */
export interface Slot {
  /** Makes it one of a light request, without waiting. */
  lighten(): void;
  end(): void;
}

/**
 * Divides what the process can do at a time. A tenant that is alone may have all of it but a unit for whoever comes next; next to
 * others it has half at most, and so does an API user of the part of its tenant. What gets free goes to the tenant with the fewest units, and within it to the API user
 * with the fewest; among equals, to the one that has waited longest. Queue libraries have one order and one limit.
 */
export class Shares {
  readonly limits: ShareLimits;
  readonly #observer: ShareObserver;
  readonly #all = new Holder();
  #heavyUnits = 0;
  #turns = 0;
  /** Whether the next request is heavy and waits for enough units: no light one must take those that get free. */
  #isGathering = false;

  constructor(limits: ShareLimits, observer: ShareObserver) {
    this.limits = limits;
    this.#observer = observer;
  }

  /**
   * Waits for the turn of a request.
   *
   * @param isGone says whether its caller has closed the connection: then it is dropped when it is its turn
   * @throws Rejection `CONCURRENCY_LIMITED` if the API user or the tenant has its share, `SERVICE_UNAVAILABLE` if the service is
   * busy with others.
   */
  async enter(tenantName: string, userName: string, weight: Weight, isGone = () => false): Promise<Slot> {
    const cameAt = performance.now();
    const tenant = this.#all.arrived(tenantName, cameAt);
    const user = tenant.arrived(userName, cameAt);
    tenant.bound = this.limits.boundOf?.(tenantName) ?? Number.POSITIVE_INFINITY;
    const canStart = !this.#isGathering && this.#limitOf(tenant, user, weight) === undefined && this.#isFree(weight);
    if (canStart) this.#start(tenant, user, weight);
    else if (tenant.waiting >= this.limits.maxWaiting) throw this.#rejection(tenant, user, weight);
    else await this.#queue(tenant, user, weight, isGone);
    const startedAt = canStart ? cameAt : performance.now();
    this.#observer.started((startedAt - cameAt) / 1000, tenant.units);
    let has: Weight | undefined = weight;
    const change = (to: 'light' | undefined) => {
      if (has === undefined || has === to) return;
      this.#add(tenant, user, this.#unitsOf(to) - this.#unitsOf(has));
      if (has === 'heavy') this.#heavyEnded(tenant, user, performance.now() - startedAt);
      has = to;
      if (to === undefined) tenant.forgetIdle(userName);
      this.#startNext();
    };
    return { lighten: () => change('light'), end: () => change(undefined) };
  }

  /** Returns the tenants that had several units or waiting requests at a time since the last call. */
  takeBusy(): string[] {
    return [...this.#all.members].filter(([, tenant]) => tenant.takePeak() > 1).map(([name]) => name);
  }

  /** What is in use in all, and by each tenant on average over the last minute, the busiest first. */
  usage(): { readonly units: number; readonly waiting: number; readonly averages: readonly number[] } {
    const averages: number[] = [];
    for (const [name, tenant] of this.#all.members) {
      const average = tenant.average();
      if (average >= 0.001 || !tenant.isIdle) averages.push(average);
      else this.#all.members.delete(name);
    }
    const { units, waiting } = this.#all;
    return { units, waiting, averages: averages.sort((a, b) => b - a) };
  }

  /** What a tenant uses now and on average over the last minute, and the most that it may use now. */
  usageOf(tenantName: string) {
    const tenant = this.#all.members.get(tenantName) ?? new Holder();
    const { units, waiting } = tenant;
    return { units, waiting, average: tenant.average(), most: this.#mostOf(tenant) };
  }

  #unitsOf(weight: Weight | undefined): number {
    if (weight === undefined) return 0;
    return weight === 'light' ? 1 : this.limits.heavy;
  }

  #mostOf(tenant: Holder): number {
    const { units } = this.limits;
    // One is left for whoever comes next, because nobody's requests are interrupted.
    return Math.min(tenant.bound, this.#all.partOf(tenant, units, Math.max(1, units - 1)));
  }

  /** The limit that keeps a request from starting, however much is free. */
  #limitOf(tenant: Holder, user: Holder, weight: Weight): Limit | undefined {
    const more = this.#unitsOf(weight);
    const most = this.#mostOf(tenant);
    if (!user.allows(more, tenant.partOf(user, most))) return 'user';
    if (!tenant.allows(more, most)) return 'tenant';
    if (weight === 'light') return undefined;
    if (user.restsUntil > performance.now()) return 'user';
    return this.#heavyUnits + more > this.limits.allHeavy ? 'service' : undefined;
  }

  #isFree(weight: Weight): boolean {
    return this.#all.units + this.#unitsOf(weight) <= this.limits.units;
  }

  #add(tenant: Holder, user: Holder, units: number, waiting = 0): void {
    const now = performance.now();
    for (const holder of [this.#all, tenant, user]) holder.add(units, waiting, now);
  }

  #start(tenant: Holder, user: Holder, weight: Weight): void {
    if (weight === 'heavy') this.#heavyUnits += this.limits.heavy;
    this.#add(tenant, user, this.#unitsOf(weight));
    this.#turns += 1;
    tenant.turn = this.#turns;
    user.turn = this.#turns;
  }

  /** Next to other tenants, an API user that sends several heavy requests at a time rests after each for as long as it took. */
  #heavyEnded(tenant: Holder, user: Holder, tookMs: number): void {
    this.#heavyUnits -= this.limits.heavy;
    if (user.queues.heavy.length === 0 || !this.#all.hasOthers(tenant)) return;
    const until = performance.now() + tookMs;
    user.restsUntil = until;
    // A timer can fire before the time that `performance.now()` says, and nothing else would start those that wait.
    setTimeout(() => {
      if (user.restsUntil === until) user.restsUntil = Number.NEGATIVE_INFINITY;
      this.#startNext();
    }, tookMs + 1).unref();
  }

  #queue(tenant: Holder, user: Holder, weight: Weight, isGone: () => boolean): Promise<void> {
    const queue = user.queues[weight];
    return new Promise((resolve, reject) => {
      const leave = () => {
        clearTimeout(timer);
        queue.splice(queue.indexOf(waiting), 1);
        this.#add(tenant, user, 0, -1);
      };
      const start = () => {
        leave();
        this.#start(tenant, user, weight);
        resolve();
      };
      const timer = setTimeout(() => {
        leave();
        reject(this.#rejection(tenant, user, weight));
        this.#startNext();
      }, this.limits.waitMs[weight]);
      const drop = () => {
        leave();
        reject(
          new Rejection('CONCURRENCY_LIMITED', 'The connection was closed before it was the turn of the request.'),
        );
      };
      const waiting: Waiting = { weight, isGone, start, drop };
      queue.push(waiting);
      // Others may be gone by then.
      setTimeout(() => this.#startNext(), activeMs + 20).unref();
      this.#add(tenant, user, 0, 1);
    });
  }

  #startNext(): void {
    for (;;) {
      const next = this.#next();
      this.#isGathering = next !== undefined && !this.#isFree(next.weight);
      if (next === undefined || this.#isGathering) return;
      if (next.isGone()) next.drop();
      else next.start();
    }
  }

  #next(): Waiting | undefined {
    if (this.#all.waiting === 0 || !this.#isFree('light')) return undefined;
    const first = (tenant: Holder, user: Holder) =>
      [user.queues.light[0], user.queues.heavy[0]].find(
        (waiting) => waiting !== undefined && this.#limitOf(tenant, user, waiting.weight) === undefined,
      );
    const tenant = this.#all.least((one) => one.members.values().some((user) => first(one, user) !== undefined));
    const user = tenant?.least((one) => first(tenant, one) !== undefined);
    return tenant && user && first(tenant, user);
  }

  #rejection(tenant: Holder, user: Holder, weight: Weight): Rejection {
    const limit = this.#limitOf(tenant, user, weight) ?? 'service';
    this.#observer.rejected(limit);
    if (limit === 'service') return new Rejection('SERVICE_UNAVAILABLE', 'The service is busy. Try again in 1 second.');
    const holder = limit === 'user' ? 'API user' : 'tenant';
    const subject = weight === 'light' ? 'requests' : 'costly searches, bulk writes or large bodies';
    const detail = `Your ${holder} has too many ${subject} in progress. Send fewer at the same time, and try again in 1 second.`;
    return new Rejection('CONCURRENCY_LIMITED', detail);
  }
}
