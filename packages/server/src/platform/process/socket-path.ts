import { join, resolve } from 'node:path';

/**
 * Only one process can open the embedded database, so a running server executes the operator's commands. They are sent
 * over a socket in the data directory that only the owner of the directory can open.
 */
export function socketIn(dataDir: string): string {
  return join(dataDir, 'operator.sock');
}

/** In bytes, as the system limits it. */
const maxSocketPath = process.platform === 'darwin' ? 103 : 107;

/** @throws Error with a sentence if the path of the directory is too long for a socket in it */
export function checkDataDir(dataDir: string): void {
  const path = resolve(socketIn(dataDir));
  if (Buffer.byteLength(path) <= maxSocketPath) return;
  throw new Error(
    `The path of the data directory is too long for a socket: ${path} has ${Buffer.byteLength(path)} bytes, and ${maxSocketPath} are possible. Set DATA_DIR to a shorter path, such as DATA_DIR=/tmp/financial-automation.`,
  );
}
