import { Problem } from './problem.ts';

/** How many requests the service works on at the same time, and whose. */
export interface ShareLimits {
  readonly total: number;
  readonly perTenant: number;
  readonly perUser: number;
  /** How long a request waits for its turn, in milliseconds. */
  readonly wait: number;
  /** How many requests of one tenant may wait. */
  readonly waiting: number;
}

/** What an operator sees. */
export interface ShareObserver {
  /** A request may start: how long it waited, and how many of its tenant are in progress with it. */
  started(waitedSeconds: number, inProgressOfTenant: number): void;
  rejected(limit: 'user' | 'tenant' | 'service'): void;
}

export interface Usage {
  readonly inProgress: number;
  readonly waiting: number;
  /** Requests in progress on average over the last minute, of each tenant that had any, the busiest first. */
  readonly perTenant: readonly number[];
}

/** Of connections to the database, one is left for what no request is admitted to: looking up callers. */
export function shareLimits(connections: number): ShareLimits {
  const total = Math.max(1, connections - 1);
  const perTenant = Math.ceil(total / 2);
  return { total, perTenant, perUser: Math.ceil((perTenant * 3) / 4), wait: 1_000, waiting: 100 };
}

/**
 * Lets requests in, a bounded number at a time, so that no tenant and no API user can occupy the service. A free place goes to
 * the tenant with the fewest requests in progress and in it to the API user with the fewest; among equals, to the one that
 * has waited longest for one. Queues of libraries have one order and one limit; here each key has both.
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
   * @returns what ends it; to be called once.
   * @throws Problem `CONCURRENCY_LIMITED` where the API user or the tenant has its share, `SERVICE_UNAVAILABLE` where the
   *   service is busy with others.
   */
  async enter(tenantName: string, userName: string): Promise<() => void> {
    const tenant = shareNamed(this.#tenants, tenantName);
    const user = shareNamed(tenant.users, userName);
    const { total, perTenant, perUser, waiting } = this.#limits;
    const came = performance.now();
    // Whoever waits has a limit of its own against it, so a place that is free for this request is not theirs.
    if (this.#inProgress < total && tenant.inProgress < perTenant && user.inProgress < perUser)
      this.#start(tenant, user);
    else if (tenant.waiting >= waiting) throw this.#rejection(tenant, user);
    else await this.#queue(tenant, user);
    this.#observer.started((performance.now() - came) / 1000, tenant.inProgress);
    return () => {
      this.#change(tenant, user, -1, 0);
      if (user.inProgress + user.waiting === 0) tenant.users.delete(userName);
      this.#startNext();
    };
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

  #startNext(): void {
    const { total, perTenant, perUser } = this.#limits;
    while (this.#inProgress < total && this.#waiting > 0) {
      const tenant = next(this.#tenants, (one) => one.inProgress < perTenant && hasStartable(one, perUser));
      const user = tenant === undefined ? undefined : next(tenant.users, (one) => isStartable(one, perUser));
      const start = user?.queue.shift();
      if (start === undefined) return;
      start();
    }
  }

  #change(tenant: Share, user: Share, inProgress: number, waiting: number): void {
    for (const share of [tenant, user]) {
      share.setInProgress(share.inProgress + inProgress);
      share.waiting += waiting;
    }
    this.#inProgress += inProgress;
    this.#waiting += waiting;
  }

  #rejection(tenant: Share, user: Share): Problem {
    const { perTenant, perUser } = this.#limits;
    const headers = { 'Retry-After': '1' };
    const limit = user.inProgress >= perUser ? 'user' : tenant.inProgress >= perTenant ? 'tenant' : 'service';
    this.#observer.rejected(limit);
    if (limit === 'service') {
      return new Problem('SERVICE_UNAVAILABLE', 'The service is busy. Try again in 1 second.', { headers });
    }
    const [who, number] = limit === 'user' ? ['Your API user', user.inProgress] : ['Your tenant', tenant.inProgress];
    return new Problem(
      'CONCURRENCY_LIMITED',
      `${who} already has ${number} ${number === 1 ? 'request' : 'requests'} in progress. Send fewer at the same time, and try again in 1 second.`,
      { headers },
    );
  }
}

/** Over which time the average of a share is taken, in milliseconds. */
const averageOver = 60_000;

/** What one tenant or API user has in progress and waiting. */
class Share {
  readonly users = new Map<string, Share>();
  readonly queue: (() => void)[] = [];
  inProgress = 0;
  waiting = 0;
  /** When it last started a request, as a count of all starts. */
  turn = 0;
  #average = 0;
  #since = performance.now();

  setInProgress(inProgress: number): void {
    this.#average = this.average();
    this.#since = performance.now();
    this.inProgress = inProgress;
  }

  /** Requests in progress, averaged with weights that fall by the time since. */
  average(): number {
    const kept = Math.exp((this.#since - performance.now()) / averageOver);
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

function isStartable(user: Share, perUser: number): boolean {
  return user.queue.length > 0 && user.inProgress < perUser;
}

function hasStartable(tenant: Share, perUser: number): boolean {
  if (tenant.waiting === 0) return false;
  for (const user of tenant.users.values()) if (isStartable(user, perUser)) return true;
  return false;
}

/** The one with the fewest in progress; among equals, the one whose last turn is longest ago. */
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
