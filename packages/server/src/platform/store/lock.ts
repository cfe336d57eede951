import { readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { ensurePrivateDirectory } from './private-files.ts';

/** Exclusive use of a directory, until `release` or the end of the process. */
export interface DirectoryLock {
  release(): void;
}

/** Another process, or this one, already uses the directory. */
export class DirectoryInUse extends Error {
  override readonly name = 'DirectoryInUse';
}

/**
 * The locks of this process. They must not be garbage collected, which would release them, and this process must not open
 * their files again: closing any handle of a file drops its POSIX locks.
 */
const heldHere = new Map<string, DatabaseSync>();

/**
 * Acquires exclusive use of `directory`, which is created if required.
 *
 * The lock is the operating system's own, on a file, so it ends with the process (also after `kill -9`), is not affected
 * by reused process IDs, and cannot be taken from a suspended process. Node has no file locks, but includes SQLite, which
 * uses them on every platform: an exclusive transaction on an empty database.
 *
 * @throws DirectoryInUse with the process that holds it; NotPrivate like `ensurePrivateDirectory`
 */
export function lockDirectory(directory: string): DirectoryLock {
  ensurePrivateDirectory(directory);
  const path = realpathSync(directory);
  const holderFile = join(path, 'lock.pid');
  if (heldHere.has(path)) throw new DirectoryInUse(inUse(path, `this process (pid ${process.pid})`));
  const handle = new DatabaseSync(join(path, 'lock'));
  try {
    handle.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    handle.close();
    if (!isLocked(error)) throw error;
    throw new DirectoryInUse(inUse(path, describeHolder(holderFile)));
  }
  heldHere.set(path, handle);
  // Only for messages: the lock above determines the holder.
  writeFileSync(holderFile, String(process.pid));
  return {
    release() {
      if (heldHere.get(path) !== handle) return;
      rmSync(holderFile, { force: true });
      heldHere.delete(path);
      handle.close();
    },
  };
}

const sqliteBusy = 5;

function isLocked(error: unknown): boolean {
  return error instanceof Error && 'errcode' in error && error.errcode === sqliteBusy;
}

function inUse(path: string, holder: string): string {
  return `The data directory ${path} is in use by ${holder}: two processes on it would destroy its data. Stop that one first, or set another directory.`;
}

function describeHolder(holderFile: string): string {
  try {
    return `the process with pid ${readFileSync(holderFile, 'utf8')}`;
  } catch {
    // The holder has the lock and is about to write its ID.
    return 'another process';
  }
}
