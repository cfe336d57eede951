import { linkSync, mkdirSync, readFileSync, rmSync, type Stats, statSync, writeFileSync } from 'node:fs';

/** A file or directory that others can read or write. The message includes the command to fix it. */
export class NotPrivate extends Error {
  override readonly name = 'NotPrivate';
}

/**
 * Creates a directory if it does not exist, for this user only.
 *
 * @throws NotPrivate if it belongs to another user, or others can write to it
 */
export function ensurePrivateDirectory(path: string): void {
  mkdirSync(path, { recursive: true, mode: 0o700 });
  const stats = statSync(path);
  checkOwner(path, stats);
  if (stats.mode & 0o022) {
    throw new NotPrivate(`Users other than its owner may write to ${path}. Run: chmod go-w '${path}'`);
  }
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
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  } finally {
    rmSync(unfinished);
  }
}

function checkOwner(path: string, { uid }: Stats): void {
  // Windows has no user IDs.
  const own = process.geteuid?.();
  if (own === undefined || own === uid) return;
  throw new NotPrivate(
    `${path} belongs to the user with id ${uid}, and this process runs as ${own}. Run it as that user, or change the owner: chown -R ${own} '${path}'`,
  );
}
