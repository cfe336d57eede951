/**
 * Limits how much work begins at the same time. A slot is free again when its work has ended, or after a while: then the work waits for
 * somebody else, and holds up no others.
 */
export class Slots {
  readonly #most: number;
  readonly #longest: number;
  /** The earliest first. */
  readonly #taken = new Set<{ readonly since: number }>();
  readonly #waiting: (() => void)[] = [];
  #timer: NodeJS.Timeout | undefined;

  /**
   * @param most how many slots there are.
   * @param longest how long work keeps its slot at most, in milliseconds.
   */
  constructor(most: number, longest: number) {
    this.#most = most;
    this.#longest = longest;
  }

  /** Starts the work as soon as a slot is free, in the order of the calls. */
  run<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.#taken.size < this.#most) return this.#start(work);
    return new Promise((resolve, reject) => {
      this.#waiting.push(() => this.#start(work).then(resolve, reject));
      this.#watch();
    });
  }

  #start<Result>(work: () => Promise<Result>): Promise<Result> {
    const slot = { since: performance.now() };
    this.#taken.add(slot);
    const end = () => {
      this.#taken.delete(slot);
      this.#startWaiting();
    };
    const result = work();
    result.then(end, end);
    return result;
  }

  #startWaiting(): void {
    while (this.#taken.size < this.#most) {
      const start = this.#waiting.shift();
      if (start === undefined) return;
      start();
    }
  }

  /** Frees slots whose time is over. Only work that waits needs them, so nothing is watched otherwise. */
  #watch(): void {
    const [first] = this.#taken;
    if (this.#timer !== undefined || this.#waiting.length === 0 || first === undefined) return;
    const free = () => {
      this.#timer = undefined;
      const before = performance.now() - this.#longest;
      for (const slot of this.#taken) if (slot.since <= before) this.#taken.delete(slot);
      this.#startWaiting();
      this.#watch();
    };
    this.#timer = setTimeout(free, Math.max(1, first.since + this.#longest - performance.now())).unref();
  }
}
