import type { Shares } from './shares.ts';

/** Where requests wait for their turn: all of them, and costly searches among them. */
interface Queues {
  readonly shares: Shares;
  readonly costlySearches: Shares;
}

/** The place of one request among those in progress. */
export class Turn {
  readonly #enter: (queue: Shares) => Promise<() => void>;
  readonly #queues: Queues;
  #leave: () => void = () => {};

  private constructor(queues: Queues, tenant: string, user: string) {
    this.#queues = queues;
    this.#enter = (queue) => queue.enter(tenant, user);
  }

  /**
   * Waits for the turn of a request.
   *
   * @throws Rejection like `Shares.enter`
   */
  static async start(queues: Queues, tenant: string, user: string): Promise<Turn> {
    const turn = new Turn(queues, tenant, user);
    turn.#leave = await turn.#enter(queues.shares);
    return turn;
  }

  /**
   * Runs a costly search when it is its turn. While it waits for that, its place is free for others.
   *
   * @throws Rejection like `Shares.enter`
   */
  async costly<Result>(work: () => Promise<Result>): Promise<Result> {
    this.end();
    const leave = await this.#enter(this.#queues.costlySearches);
    try {
      this.#leave = await this.#enter(this.#queues.shares);
      return await work();
    } finally {
      leave();
    }
  }

  end(): void {
    this.#leave();
    this.#leave = () => {};
  }
}
