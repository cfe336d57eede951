import { createHash, randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, open, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import {
  type ByteRange,
  ContentMissing,
  type ContentSource,
  type ContentStorage,
  contentKey,
  folderKey,
  type StoredContent,
} from './storage.ts';

/** Unfinished files of killed processes are deleted at this age, in milliseconds. */
const maxWriteMs = 24 * 3_600_000;

/**
 * Content on the disk of this machine. It is written to a temporary file, flushed, and then renamed, so that files under
 * their final names are complete even after a power failure.
 */
export class LocalStorage implements ContentStorage {
  readonly #root: string;
  #prepared: Promise<void> | undefined;

  /** @param root a dedicated directory, created if it does not exist */
  constructor(root: string) {
    this.#root = root;
  }

  get #incoming(): string {
    return join(this.#root, 'incoming');
  }

  async put(tenantId: number, content: ContentSource): Promise<StoredContent> {
    this.#prepared ??= this.#prepare();
    await this.#prepared;
    const unfinished = join(this.#incoming, randomUUID());
    try {
      const stored = await writeFlushed(unfinished, content);
      const path = this.#pathOf(tenantId, stored.sha256);
      await mkdir(dirname(path), { recursive: true, mode: 0o700 });
      await rename(unfinished, path);
      // Directory entries are flushed separately; the directories may be new, too.
      for (let folder = dirname(path); folder.startsWith(this.#root); folder = dirname(folder)) await flush(folder);
      return stored;
    } catch (error) {
      await rm(unfinished, { force: true });
      throw error;
    }
  }

  async open(tenantId: number, sha256: string, range?: ByteRange): Promise<Readable> {
    const stream = createReadStream(this.#pathOf(tenantId, sha256), range ?? {});
    await new Promise<void>((resolve, reject) => {
      stream.once('open', () => resolve());
      stream.once('error', (error: NodeJS.ErrnoException) =>
        reject(error.code === 'ENOENT' ? new ContentMissing(sha256) : error),
      );
    });
    return stream;
  }

  async removeAll(tenantId: number): Promise<void> {
    await rm(join(this.#root, folderKey(tenantId)), { recursive: true, force: true });
  }

  #pathOf(tenantId: number, sha256: string): string {
    return join(this.#root, contentKey(tenantId, sha256));
  }

  async #prepare(): Promise<void> {
    await mkdir(this.#incoming, { recursive: true, mode: 0o700 });
    const names = await readdir(this.#incoming);
    if (names.length === 0) return;
    // The time of the disk, which several machines may share.
    const newest = join(this.#incoming, randomUUID());
    await writeFile(newest, '');
    const { mtimeMs: now } = await stat(newest);
    await rm(newest);
    for (const name of names) {
      const path = join(this.#incoming, name);
      // Another process may have completed it just now.
      const age = await stat(path).then(
        ({ mtimeMs }) => now - mtimeMs,
        () => 0,
      );
      if (age > maxWriteMs) await rm(path, { force: true });
    }
  }
}

async function writeFlushed(path: string, content: ContentSource): Promise<StoredContent> {
  const hash = createHash('sha256');
  let sizeBytes = 0;
  const file = await open(path, 'wx', 0o600);
  try {
    // Consumed immediately after opening: an error event without a listener would end the process.
    const source = content instanceof Uint8Array ? Readable.from([content]) : createReadStream(content.path);
    for await (const chunk of source as AsyncIterable<Uint8Array>) {
      hash.update(chunk);
      sizeBytes += chunk.byteLength;
      await writeWhole(file, chunk);
    }
    await file.sync();
  } finally {
    await file.close();
  }
  return { sha256: hash.digest('hex'), sizeBytes };
}

/** Writes all bytes, because a single write may be partial. */
async function writeWhole(file: Awaited<ReturnType<typeof open>>, bytes: Uint8Array): Promise<void> {
  for (let written = 0; written < bytes.byteLength; )
    written += (await file.write(bytes.subarray(written))).bytesWritten;
}

async function flush(directory: string): Promise<void> {
  const handle = await open(directory, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
