import { AsyncLocalStorage } from 'node:async_hooks';
import { NotSent, RateLimited } from '../http/not-sent.ts';

/** The operation that a request is sent for. While it waits for the server, another operation takes its turn. */
interface Turn {
  waits: number;
  release(): void;
  resume(): void;
}

const turns = new AsyncLocalStorage<Turn>();

/** Awaits a promise, and lets another operation run meanwhile. */
export async function waiting<Value>(promise: Promise<Value>): Promise<Value> {
  const turn = turns.getStore();
  if (turn === undefined) return promise;
  turn.waits += 1;
  if (turn.waits === 1) turn.release();
  try {
    return await promise;
  } finally {
    turn.waits -= 1;
    if (turn.waits === 0) turn.resume();
  }
}

/**
 * Runs work for each operation, a few at a time, and starts them in order. An operation whose rate is limited runs again
 * after the others; one that may not be called is skipped.
 */
export async function eachOperation<Item>(
  items: readonly Item[],
  atOnce: number,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const limited: { readonly item: Item; readonly limit: RateLimited }[] = [];
  const started: Promise<void>[] = [];
  let active = 0;
  let hasFailed = false;
  /** Ends the pause of the loop below, when a place is free. */
  let proceed = () => {};
  const release = () => {
    active -= 1;
    proceed();
  };
  const resume = () => {
    active += 1;
  };
  const run = async (item: Item): Promise<void> => {
    try {
      await turns.run({ waits: 0, release, resume }, () => work(item));
    } catch (error) {
      if (error instanceof RateLimited) limited.push({ item, limit: error });
      else if (!(error instanceof NotSent)) {
        hasFailed = true;
        throw error;
      }
    } finally {
      release();
    }
  };
  for (const item of items) {
    while (active >= atOnce && !hasFailed)
      await new Promise<void>((resolve) => {
        proceed = resolve;
      });
    if (hasFailed) break;
    active += 1;
    const one = run(item);
    // It is awaited only after those that were started before it.
    one.catch(() => undefined);
    started.push(one);
  }
  await allSettled(started);
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
