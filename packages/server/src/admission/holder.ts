/** How long somebody counts as active after a request has come. */
export const activeMs = 500;
/** Period of the moving average, in milliseconds. */
const averageOverMs = 60_000;
/** Idle API users that stay in memory: creating them again for each request would cost more than the rest of its turn. */
const maxIdleMembers = 8;

export type Weight = 'light' | 'heavy';

/** A request that waits. */
export interface Waiting {
  readonly weight: Weight;
  /** Whether nobody waits for its response any more. */
  isGone(): boolean;
  start(): void;
  drop(): void;
}

/** Who has units: the process, whose members are tenants; a tenant, whose members are its API users; an API user. */
export class Holder {
  readonly members = new Map<string, Holder>();
  /** Requests of an API user that wait. */
  readonly queues: Readonly<Record<Weight, Waiting[]>> = { light: [], heavy: [] };
  units = 0;
  waiting = 0;
  /** Sequence number of its last start. */
  turn = 0;
  /** The most units that all processes together leave to this one. */
  bound = Number.POSITIVE_INFINITY;
  /** Until then, it starts no heavy request. */
  restsUntil = Number.NEGATIVE_INFINITY;
  #peak = 0;
  /** The member whose request came last, and when; and when one of another member did. */
  #latest: Holder | undefined;
  #latestAt = Number.NEGATIVE_INFINITY;
  #otherAt = Number.NEGATIVE_INFINITY;
  #average = 0;
  #averageAt = performance.now();

  get isIdle(): boolean {
    return this.units + this.waiting === 0;
  }

  /** The member with a name, of which a request has come. */
  arrived(name: string, now: number): Holder {
    const member = this.members.getOrInsertComputed(name, () => new Holder());
    if (this.#latest !== member) this.#otherAt = this.#latestAt;
    this.#latest = member;
    this.#latestAt = now;
    return member;
  }

  add(units: number, waiting: number, now: number): void {
    this.#average = this.average(now);
    this.#averageAt = now;
    this.units += units;
    this.waiting += waiting;
    this.#peak = Math.max(this.#peak, this.units + this.waiting);
  }

  /** Forgets a member that has nothing, if there are many. */
  forgetIdle(name: string): void {
    if (this.members.size > maxIdleMembers && this.members.get(name)?.isIdle === true) this.members.delete(name);
  }

  /** Whether members other than this one have requests, or had one just before. */
  hasOthers(member: Holder): boolean {
    const otherAt = this.#latest === member ? this.#otherAt : this.#latestAt;
    return this.units > member.units || this.waiting > member.waiting || otherAt > performance.now() - activeMs;
  }

  /** What a member may have of some units: half of them next to others. */
  partOf(member: Holder, units: number, alone = units): number {
    return this.hasOthers(member) ? Math.ceil(units / 2) : alone;
  }

  /** Whether it may have so many more units. Who has none may always have one request. */
  allows(more: number, most: number): boolean {
    return this.units === 0 || this.units + more <= most;
  }

  /** The eligible member with the fewest units; among equals, the one whose last start is longest ago. */
  least(isEligible: (member: Holder) => boolean): Holder | undefined {
    let chosen: Holder | undefined;
    for (const member of this.members.values()) {
      if (member.waiting === 0 || !isEligible(member)) continue;
      if (chosen === undefined || (member.units - chosen.units || member.turn - chosen.turn) < 0) chosen = member;
    }
    return chosen;
  }

  /** Its units, as an exponentially weighted moving average of the last minute. */
  average(now = performance.now()): number {
    const kept = Math.exp((this.#averageAt - now) / averageOverMs);
    return this.#average * kept + this.units * (1 - kept);
  }

  /** The most units and waiting requests at a time since the last call. */
  takePeak(): number {
    const peak = this.#peak;
    this.#peak = this.units + this.waiting;
    return peak;
  }
}
