import type { Shares } from './shares.ts';

/** Where requests wait for their turn: all of them, and costly searches and bulk writes among them. */
interface Queues {
  readonly shares: Shares;
  readonly costlySearches: Shares;
  readonly bulkWrites: Shares;
}

/** The place of one request among those in progress. */
export class Turn {
  readonly #queues: Queues;
  readonly #tenant: string;
  readonly #user: string;
  #leave: () => void;

  /** @param leave ends the place that it has, as `Shares.enter` returns it. */
  constructor(queues: Queues, tenant: string, user: string, leave: () => void) {
    this.#queues = queues;
    this.#tenant = tenant;
    this.#user = user;
    this.#leave = leave;
  }

  /**
   * Runs work of a kind that is limited further when it is its turn. While it waits for that, its place is free for others.
   *
   * @throws Rejection like `Shares.enter`
   */
  async of<Result>(kind: 'costlySearches' | 'bulkWrites', work: () => Promise<Result>): Promise<Result> {
    this.end();
    const { shares, [kind]: limited } = this.#queues;
    const leave = await limited.enter(this.#tenant, this.#user);
    try {
      this.#leave = await shares.enter(this.#tenant, this.#user);
      return await work();
    } finally {
      leave();
    }
  }

  end(): void {
    this.#leave();
    this.#leave = doNothing;
  }
}

function doNothing(): void {}
