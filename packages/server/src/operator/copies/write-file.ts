import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { access, open, rename, rm } from 'node:fs/promises';
import type { Writable } from 'node:stream';
import { finished, pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';

/** Where an export is written. */
export interface FileTarget {
  write(text: string): Promise<void>;
  /** Makes the file visible under its name. */
  end(): Promise<void>;
  /** Leaves no file. */
  abandon(): Promise<void>;
}

/** The name of standard output. */
export const standardOutput = '-';

/**
 * Opens the target: a file that only its owner can read, compressed if its name ends in `.gz`, or standard output. A file has another
 * name until it is complete.
 *
 * @throws Error with a sentence if the file exists or cannot be created.
 */
export async function openTarget(path: string): Promise<FileTarget> {
  if (path === standardOutput) return { ...writing(process.stdout), end: async () => {}, abandon: async () => {} };
  if (await exists(path)) throw new Error(`${path} exists. Delete it, or specify another file.`);
  const unfinished = `${path}.unfinished`;
  await rm(unfinished, { force: true });
  const stream = createWriteStream(unfinished, { mode: 0o600, flags: 'wx' });
  await once(stream, 'open').catch((error: NodeJS.ErrnoException) => {
    throw new Error(`${unfinished} cannot be created: ${error.code ?? error.message}.`);
  });
  const gzip = path.endsWith('.gz') ? createGzip({ level: 6 }) : undefined;
  const done = gzip === undefined ? finished(stream) : pipeline(gzip, stream);
  // Whoever writes or ends gets the error.
  done.catch(() => undefined);
  const input = gzip ?? stream;
  return {
    ...writing(input),
    async end() {
      input.end();
      await done;
      const file = await open(unfinished, 'r');
      await file.sync().finally(() => file.close());
      await rename(unfinished, path);
    },
    async abandon() {
      input.destroy();
      await done.catch(() => undefined);
      await rm(unfinished, { force: true });
    },
  };
}

/** Waits until what was written before has been taken, so that memory is bounded. */
function writing(stream: Writable): Pick<FileTarget, 'write'> {
  let failure: Error | undefined;
  stream.once('error', (error) => {
    failure = error;
  });
  return {
    async write(text) {
      if (failure !== undefined) throw failure;
      if (!stream.write(text)) await once(stream, 'drain');
    },
  };
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
