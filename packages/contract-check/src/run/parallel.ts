import { setTimeout as sleep } from 'node:timers/promises';
import { NotSent } from '../http/gate.ts';

/** Runs work for each operation, in order, a few at a time, and counts them. */
export async function eachOperation<Item>(
  items: readonly Item[],
  atOnce: number,
  work: (item: Item) => Promise<void>,
  onProgress?: (done: number, all: number) => void,
): Promise<void> {
  let done = 0;
  await inParallel(items, atOnce, async (item) => {
    await ifSent(() => work(item));
    onProgress?.(++done, items.length);
  });
}

/** Runs work for each item, a few at a time, and starts them in order. Items that may not be sent are skipped. */
export async function inParallel<Item>(
  items: readonly Item[],
  atOnce: number,
  work: (item: Item, index: number) => Promise<void>,
): Promise<void> {
  const left = items.entries();
  const worker = async (): Promise<void> => {
    for (const [index, item] of left) await ifSent(() => work(item, index));
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

/** The longest pause that a request waits for, and the longest time that the requests of one operation wait in total. */
const [maxPauseMs, maxWaitMs] = [10_000, 30_000] as const;
/** The longest time that a run waits in total for operations with longer pauses. */
const maxDelayMs = 60_000;

/** When each operation can be called again, according to `Retry-After`. */
export class RateLimits {
  readonly #until = new Map<string, number>();
  readonly #waited = new Map<string, number>();
  readonly #signal: AbortSignal;
  readonly #maxDelayMs: number;
  readonly #onGivenUp: () => void;
  #delayed = 0;
  /** The end of the longer pauses so far. */
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

  note(operation: string, seconds: number): void {
    this.#until.set(operation, performance.now() + seconds * 1000);
  }

  /**
   * Waits until an operation can be called.
   *
   * @throws NotSent if that takes longer than the run waits.
   */
  async admit(operation: string): Promise<void> {
    const left = (this.#until.get(operation) ?? 0) - performance.now();
    if (left <= 0) return;
    const waited = (this.#waited.get(operation) ?? 0) + left;
    if (left <= maxPauseMs && waited <= maxWaitMs) this.#waited.set(operation, waited);
    else if (!this.#isDelayed(left)) {
      this.#onGivenUp();
      throw new NotSent(`${operation} is limited for ${Math.ceil(left / 1000)} s.`);
    }
    await sleep(left, undefined, { signal: this.#signal }).catch(() => undefined);
  }

  /** Whether the run waits that long. Several pauses at a time count once. */
  #isDelayed(milliseconds: number): boolean {
    const now = performance.now();
    const delayed = this.#delayed + Math.max(0, now + milliseconds - Math.max(now, this.#delayEnd));
    if (delayed > this.#maxDelayMs) return false;
    this.#delayed = delayed;
    this.#delayEnd = Math.max(this.#delayEnd, now + milliseconds);
    return true;
  }
}
