import { linkSync, mkdirSync, readFileSync, rmSync, type Stats, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** A file or directory that others can read or write. The message includes the command to fix it. */
export class NotPrivate extends Error {
  override readonly name = 'NotPrivate';
}

/** A directory that cannot be used. The message is the reason, as part of a sentence. */
export class UnusableDirectory extends Error {
  override readonly name = 'UnusableDirectory';
}

/**
 * Creates a directory if it does not exist, for this user only.
 *
 * @throws NotPrivate if it belongs to another user, or others can write to it; UnusableDirectory
 */
export function ensurePrivateDirectory(path: string): void {
  try {
    createDirectory(path);
  } catch (error) {
    throw new UnusableDirectory(reasonsNotToCreate[codeOf(error)] ?? 'it cannot be created there', { cause: error });
  }
  const stats = statSync(path);
  if (!stats.isDirectory()) throw new UnusableDirectory('it is not a directory');
  checkOwner(path, stats);
  if (stats.mode & 0o022) {
    throw new NotPrivate(`Users other than its owner may write to ${path}. Run: chmod go-w '${path}'`);
  }
}

const reasonsNotToCreate: Readonly<Record<string, string>> = {
  ENOTDIR: 'it is not a directory',
  EACCES: 'this user is not allowed to create it',
  EROFS: 'its file system is read-only',
  ENOSPC: 'the disk is full',
};

/** Node's own recursive creation never ends in directories such as `/proc`. */
function createDirectory(path: string): void {
  if (statSync(path, { throwIfNoEntry: false }) !== undefined) return;
  const parent = dirname(path);
  if (parent !== path) createDirectory(parent);
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    // Another process created it.
    if (codeOf(error) !== 'EEXIST') throw error;
  }
}

/**
 * Creates a file in a directory, with a second name as `createWhole` does, and removes it.
 *
 * @throws UnusableDirectory
 */
export function checkHoldsFiles(path: string): void {
  const probe = join(path, `.probe.${process.pid}`);
  try {
    writeFileSync(probe, '');
    linkSync(probe, `${probe}.link`);
  } catch (error) {
    const isFull = codeOf(error) === 'ENOSPC';
    throw new UnusableDirectory(isFull ? 'the disk is full' : 'files cannot be created there', { cause: error });
  } finally {
    for (const one of [probe, `${probe}.link`]) rmSync(one, { force: true });
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}

/**
 * Reads a secret file. If it does not exist, it is created with the text that `create` returns.
 *
 * @throws NotPrivate if it belongs to another user, or others can read or write it
 */
export function readSecretFile(path: string, create: () => string): string {
  createWhole(path, create);
  const stats = statSync(path);
  checkOwner(path, stats);
  if (stats.mode & 0o077) {
    throw new NotPrivate(`Users other than its owner may read or write ${path}. Run: chmod 600 '${path}'`);
  }
  return readFileSync(path, 'utf8');
}

/** Another process may do the same concurrently, and this one may be killed, so the file is created atomically. */
function createWhole(path: string, create: () => string): void {
  if (statSync(path, { throwIfNoEntry: false }) !== undefined) return;
  const unfinished = `${path}.${process.pid}`;
  writeFileSync(unfinished, create(), { mode: 0o600, flush: true });
  try {
    linkSync(unfinished, path);
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  } finally {
    rmSync(unfinished);
  }
}

function checkOwner(path: string, { uid }: Stats): void {
  // Windows has no user IDs.
  const own = process.geteuid?.();
  if (own === undefined || own === uid) return;
  throw new NotPrivate(
    `${path} belongs to the user with the ID ${uid}, and this process runs as ${own}. Run it as that user, or change the owner: chown -R ${own} '${path}'`,
  );
}
