/** Lets only one process at a time do a piece of work. */
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout } from 'node:timers/promises';

/**
 * Does the work while this process has the lock file, which contains its ID. Waits as long as another process has it; the lock
 * of a process that was killed is ignored.
 */
export async function withLock<Result>(file: string, work: () => Promise<Result>): Promise<Result> {
  await mkdir(dirname(file), { recursive: true });
  while (!(await isTaken(file))) {
    const owner = Number(await readFile(file, 'utf8').catch(() => 'none'));
    if (Number.isFinite(owner) && owner > 0 && !isRunning(owner)) await rm(file, { force: true });
    else await setTimeout(100);
  }
  try {
    return await work();
  } finally {
    await rm(file, { force: true });
  }
}

/** Takes the lock if it is free. */
async function isTaken(file: string): Promise<boolean> {
  try {
    await writeFile(file, String(process.pid), { flag: 'wx' });
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false;
    throw error;
  }
}

function isRunning(processId: number): boolean {
  try {
    process.kill(processId, 0);
    return true;
  } catch (error) {
    // A process of another user is running, too.
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}
