import { AsyncLocalStorage } from 'node:async_hooks';
import { afterAll, onTestFinished, TestRunner } from 'vitest';

/** Runs this after the calling test, or else after the file. A hook that a test registers for its file never runs. */
export function atEnd(work: () => unknown): void {
  if (lasting.getStore() === true) return;
  const run = async () => {
    await work();
  };
  if (TestRunner.getCurrentTest() === undefined) afterAll(run);
  else onTestFinished(run);
}

const lasting = new AsyncLocalStorage<true>();

/** Creates what lasts as long as the worker: what is registered to be done at the end of the file meanwhile is never done. */
export function untilWorkerEnds<Created>(create: () => Promise<Created>): Promise<Created> {
  return lasting.run(true, create);
}
