import { setTimeout as sleep } from 'node:timers/promises';
import { NotSent, RateLimited } from '../http/gate.ts';

/** Runs work for each operation, in order, a few at a time, and counts them. One whose rate is limited runs again after the others. */
export async function eachOperation<Item>(
  items: readonly Item[],
  atOnce: number,
  work: (item: Item) => Promise<void>,
  onProgress?: (done: number, all: number) => void,
): Promise<void> {
  let done = 0;
  const limited: { readonly item: Item; readonly limit: RateLimited }[] = [];
  await inParallel(items, atOnce, async (item) => {
    try {
      await work(item);
    } catch (error) {
      if (!(error instanceof RateLimited)) throw error;
      limited.push({ item, limit: error });
    } finally {
      onProgress?.(++done - limited.length, items.length);
    }
  });
  for (const [index, { item, limit }] of limited.entries()) {
    if (await limit.wait()) await ifSent(() => work(item));
    onProgress?.(items.length - limited.length + index + 1, items.length);
  }
}

/** Runs work for each item, a few at a time, and starts them in order. Items that may not be sent are skipped. */
export async function inParallel<Item>(
  items: readonly Item[],
  atOnce: number,
  work: (item: Item, index: number) => Promise<void>,
): Promise<void> {
  const left = items.entries();
  const worker = async (): Promise<void> => {
    for (const [index, item] of left) {
      try {
        await work(item, index);
      } catch (error) {
        if (error instanceof RateLimited || !(error instanceof NotSent)) throw error;
      }
    }
  };
  // Waits for all, so that nothing goes on in the background.
  const results = await Promise.allSettled(Array.from({ length: Math.min(atOnce, items.length) }, worker));
  for (const result of results) if (result.status === 'rejected') throw result.reason;
}

/** The result of work; undefined if one of its requests may not be sent. */
export async function ifSent<Value>(work: () => Promise<Value>): Promise<Value | undefined> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof NotSent) return undefined;
    throw error;
  }
}

/** The longest pause that a request waits for. */
const maxPauseMs = 10_000;
/** The longest time that the requests of one operation wait in total. */
const maxWaitMs = 30_000;
/** The longest time that a run waits at the end of a phase for operations with longer pauses. */
const maxDelayMs = 60_000;

/** When each operation can be called again, according to `Retry-After`. */
export class RateLimits {
  readonly #until = new Map<string, number>();
  readonly #waited = new Map<string, number>();
  readonly #signal: AbortSignal;
  readonly #maxDelayMs: number;
  readonly #onGivenUp: () => void;
  #delayed = 0;
  /** The end of the pauses so far. Several at a time count once. */
  #delayEnd = 0;

  /**
   * @param signal ends all pauses.
   * @param time the limit of the run, in milliseconds, of which pauses take a tenth at most.
   * @param onGivenUp is called if an operation is not called again, because that would take longer.
   */
  constructor(signal: AbortSignal, time: number, onGivenUp: () => void) {
    this.#signal = signal;
    this.#onGivenUp = onGivenUp;
    this.#maxDelayMs = Math.min(maxDelayMs, time / 10);
  }

  /** Cleaning up may wait as long as everything before it. */
  startCleaning(): void {
    this.#waited.clear();
    this.#delayed = 0;
  }

  /** Notes that an operation must not be called for some seconds. */
  note(operation: string, seconds: number): void {
    this.#until.set(operation, performance.now() + seconds * 1000);
  }

  /**
   * Waits until an operation can be called.
   *
   * @throws RateLimited if that takes long.
   */
  async admit(operation: string): Promise<void> {
    const left = this.#left(operation);
    if (left <= 0) return;
    const waited = this.#waited.get(operation) ?? 0;
    if (left > maxPauseMs || waited + left > maxWaitMs)
      throw new RateLimited(`${operation} is limited for ${Math.ceil(left / 1000)} s.`, () => this.#outwait(operation));
    this.#waited.set(operation, waited + left);
    await this.#pause(left);
  }

  async #outwait(operation: string): Promise<boolean> {
    const left = Math.max(0, this.#left(operation));
    const now = performance.now();
    const more = Math.max(0, now + left - Math.max(now, this.#delayEnd));
    if (this.#signal.aborted) return false;
    if (this.#delayed + more > this.#maxDelayMs) {
      this.#onGivenUp();
      return false;
    }
    this.#delayed += more;
    this.#delayEnd = Math.max(this.#delayEnd, now + left);
    await this.#pause(left);
    return true;
  }

  #left(operation: string): number {
    return (this.#until.get(operation) ?? 0) - performance.now();
  }

  async #pause(milliseconds: number): Promise<void> {
    await sleep(milliseconds, undefined, { signal: this.#signal }).catch(() => undefined);
  }
}
