import { spawnSync } from 'node:child_process';
import { statfsSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { TestContext } from 'vitest';

/** A disk of its own for one process, which is gone with it. */
export interface SmallDisk {
  /** Where the process sees it; for others the folder is empty. */
  readonly folder: string;
  /** The words of a program that mounts the disk, copies files to it and becomes the program that is named after them. */
  readonly through: readonly string[];
}

/**
 * A disk with the files of a folder on it. Where this machine does not allow a mount, not even with the rights of a user
 * namespace, the test is skipped and says so.
 */
export async function smallDisk(context: TestContext, files: string, megabytes: number): Promise<SmallDisk> {
  const folder = await mkdtemp(join(tmpdir(), 'financial-automation-disk-'));
  context.onTestFinished(() => rm(folder, { recursive: true }));
  const namespace = process.getuid?.() === 0 ? ['--mount'] : ['--map-root-user', '--mount'];
  const mount = ['mount', '-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', folder];
  const [program = '', ...words] = ['unshare', ...namespace, ...mount];
  if (spawnSync(program, words).status !== 0) {
    console.warn(`NOT TESTED: "${context.task.name}". It takes "unshare" and the right to mount a file system.`);
    context.skip('this machine does not allow a mount');
  }
  const script = `${mount.join(' ')} && cp -a '${files}/.' '${folder}' && exec "$@"`;
  return { folder, through: ['unshare', ...namespace, 'sh', '-c', script, 'sh'] };
}

/** Writes a file that fills its disk but for the bytes that are to be left. */
export function fillDisk(file: string, left: number): void {
  const { bavail, bsize } = statfsSync(dirname(file));
  try {
    writeFileSync(file, Buffer.alloc(Math.max(0, bavail * bsize - left)));
  } catch (error) {
    // The server has written since: the disk is full, which is what was asked for.
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
  }
}
