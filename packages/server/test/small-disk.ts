import { spawnSync } from 'node:child_process';
import { statfsSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { TestContext } from 'vitest';

/** A small disk for one process, which is removed with it. */
export interface SmallDisk {
  /** The mount point for the process; other processes see an empty folder. */
  readonly folder: string;
  /** The command line that mounts the disk, copies files to it and executes the command after it. */
  readonly through: readonly string[];
}

/**
 * Creates a disk with the files of a folder. If this machine does not allow mounting it, even in a user namespace, the
 * test is skipped with a message.
 */
export async function smallDisk(context: TestContext, files: string, megabytes: number): Promise<SmallDisk> {
  const folder = await mkdtemp(join(tmpdir(), 'financial-automation-disk-'));
  context.onTestFinished(() => rm(folder, { recursive: true }));
  const namespace = process.getuid?.() === 0 ? ['--mount'] : ['--map-root-user', '--mount'];
  const mount = ['mount', '-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', folder];
  const [program = '', ...words] = ['unshare', ...namespace, ...mount];
  if (spawnSync(program, words).status !== 0) {
    console.warn(`NOT TESTED: "${context.task.name}". It requires "unshare" and permission to mount a file system.`);
    context.skip('this machine does not allow a mount');
  }
  const script = `${mount.join(' ')} && cp -a '${files}/.' '${folder}' && exec "$@"`;
  return { folder, through: ['unshare', ...namespace, 'sh', '-c', script, 'sh'] };
}

/** Writes a file that fills its disk except for the specified number of bytes. */
export function fillDisk(file: string, left: number): void {
  const { bavail, bsize } = statfsSync(dirname(file));
  try {
    writeFileSync(file, Buffer.alloc(Math.max(0, bavail * bsize - left)));
  } catch (error) {
    // The server has written since: the disk is full, as intended.
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
  }
}
