/** What the processes of a service know of each other's load. */
export interface OtherProcesses {
  /** Number of other processes that serve. */
  readonly others: number;
  /** Of busy tenants: the number of other processes where it is busy too, and of those that come before this one. */
  readonly busy: ReadonlyMap<string, { readonly others: number; readonly before: number }>;
}

/**
 * Divides the bound on concurrent requests of a tenant among processes, without asking anyone for each request. A tenant that is busy
 * here has an equal part of the bound, by the number of processes where it is busy. Until that is known, it has the part that it would
 * have if it were busy in all of them. A process always admits one request of a tenant.
 */
export class TenantBound {
  readonly #bound: number;
  #known: OtherProcesses = { others: 0, busy: new Map() };

  /** @param bound most requests of a tenant in progress in all processes */
  constructor(bound: number) {
    this.#bound = bound;
  }

  learn(known: OtherProcesses): void {
    this.#known = known;
  }

  /** Most requests of a tenant in progress in this process. */
  of(tenant: string): number {
    const { others, busy } = this.#known;
    const found = busy.get(tenant);
    const processes = 1 + (found?.others ?? others);
    // The first ones share what remains.
    const remainder = found !== undefined && found.before < this.#bound % processes ? 1 : 0;
    return Math.max(1, Math.floor(this.#bound / processes) + remainder);
  }
}
