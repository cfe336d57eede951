import { AsyncLocalStorage } from 'node:async_hooks';
import { NotSent, RateLimited } from '../http/not-sent.ts';

/** The operations that run at the same time. */
class Places {
  #free: number;
  readonly #queue: (() => void)[] = [];

  constructor(count: number) {
    this.#free = count;
  }

  async take(): Promise<void> {
    if (this.#free <= 0) return new Promise((resolve) => this.#queue.push(resolve));
    this.#free -= 1;
  }

  /** Returns to a place that was left, even if another operation has it now. */
  retake(): void {
    this.#free -= 1;
  }

  leave(): void {
    this.#free += 1;
    if (this.#free <= 0 || this.#queue.length === 0) return;
    this.#free -= 1;
    this.#queue.shift()?.();
  }
}

/** The operation that a request is sent for. */
const turns = new AsyncLocalStorage<{ readonly places: Places; waits: number }>();

/** Awaits a promise, and lets another operation run meanwhile. */
export async function waiting<Value>(promise: Promise<Value>): Promise<Value> {
  const turn = turns.getStore();
  if (turn === undefined) return promise;
  turn.waits += 1;
  if (turn.waits === 1) turn.places.leave();
  try {
    return await promise;
  } finally {
    turn.waits -= 1;
    if (turn.waits === 0) turn.places.retake();
  }
}

/**
 * Runs work for each operation, a few at a time, and starts them in order. An operation whose rate is limited runs again
 * after the others; one that may not be called is skipped. After an error, no other is started.
 */
export async function eachOperation<Item>(
  items: readonly Item[],
  atOnce: number,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const limited: { readonly item: Item; readonly limit: RateLimited }[] = [];
  const places = new Places(atOnce);
  let hasFailed = false;
  const run = async (item: Item): Promise<void> => {
    await places.take();
    try {
      if (!hasFailed) await turns.run({ places, waits: 0 }, () => work(item));
    } catch (error) {
      if (error instanceof RateLimited) limited.push({ item, limit: error });
      else if (!(error instanceof NotSent)) {
        hasFailed = true;
        throw error;
      }
    } finally {
      places.leave();
    }
  };
  await allSettled(items.map(run));
  for (const { item, limit } of limited) if (await limit.wait()) await ifSent(() => work(item));
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
  await allSettled(Array.from({ length: Math.min(atOnce, items.length) }, worker));
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

/** Waits for all, so that nothing goes on in the background, and then throws the first error. */
async function allSettled(promises: readonly Promise<void>[]): Promise<void> {
  const results = await Promise.allSettled(promises);
  const failed = results.find((result) => result.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}
