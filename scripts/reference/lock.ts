/** Lets only one process at a time do a piece of work. */
import { setTimeout } from 'node:timers/promises';
import { DirectoryInUse, type DirectoryLock, lockDirectory } from '../../packages/server/src/platform/store/lock.ts';

/** Does the work while this process has the lock of a directory, which ends with the process. Waits as long as another one has it. */
export async function withLock<Result>(directory: string, work: () => Promise<Result>): Promise<Result> {
  let lock = lockOf(directory);
  for (; lock === undefined; lock = lockOf(directory)) await setTimeout(100);
  return work().finally(lock.release);
}

/** Takes the lock if it is free. */
function lockOf(directory: string): DirectoryLock | undefined {
  try {
    return lockDirectory(directory);
  } catch (error) {
    if (error instanceof DirectoryInUse) return undefined;
    throw error;
  }
}
