import { afterAll, onTestFinished, TestRunner } from 'vitest';

/** Runs this after the calling test, or else after the file. A hook that a test registers for its file never runs. */
export function atEnd(work: () => unknown): void {
  const run = async () => {
    await work();
  };
  if (TestRunner.getCurrentTest() === undefined) afterAll(run);
  else onTestFinished(run);
}
