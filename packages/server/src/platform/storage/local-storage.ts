import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, open, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import {
  type ByteRange,
  ContentMissing,
  type ContentSource,
  type ContentStorage,
  contentKey,
  folderKey,
  measure,
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
  await using file = await open(path, 'wx', 0o600);
  const stored = await measure(content, (chunk) => file.writeFile(chunk));
  await file.sync();
  return stored;
}

async function flush(directory: string): Promise<void> {
  await using handle = await open(directory, 'r');
  await handle.sync();
}
