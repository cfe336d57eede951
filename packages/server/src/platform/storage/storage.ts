import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import type { Readable } from 'node:stream';

/** Content to store: bytes, or a file on this machine. */
export type ContentSource = Uint8Array | { readonly path: string };

/** The hash and length of content, which identify it within a tenant. */
export interface StoredContent {
  /** In lower-case hexadecimal. */
  readonly sha256: string;
  readonly sizeBytes: number;
}

/** First and last byte of a range. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/**
 * Stores the content of files by tenant and SHA-256. Content is stored completely or not at all, and never changes.
 * Storing it again has no effect, so interrupted operations can be repeated.
 */
export interface ContentStorage {
  put(tenantId: number, content: ContentSource): Promise<StoredContent>;
  /** @throws ContentMissing if no content has this hash */
  open(tenantId: number, sha256: string, range?: ByteRange): Promise<Readable>;
  /** Deletes all content of a tenant that does not exist. */
  removeAll(tenantId: number): Promise<void>;
}

/** The content of a file is missing in the storage: it was deleted there, or the service runs with another storage. */
export class ContentMissing extends Error {
  override readonly name = 'ContentMissing';

  constructor(sha256: string) {
    super(`The storage has no content with the hash ${sha256}.`);
  }
}

/**
 * Returns the key of content in a storage. Its parts come from the database, but are checked because they become a path.
 */
export function contentKey(tenantId: number, sha256: string): string {
  if (!/^[0-9a-f]{64}$/.test(sha256)) throw new Error('Content is named by a tenant and a SHA-256 hash.');
  return `${folderKey(tenantId)}${sha256.slice(0, 2)}/${sha256}`;
}

/** What the keys of all content of a tenant start with. */
export function folderKey(tenantId: number): string {
  if (!Number.isSafeInteger(tenantId)) throw new Error('Content is named by a tenant and a SHA-256 hash.');
  return `${tenantId}/`;
}

/** Reads content once, to calculate its hash and length, and to write it. */
export async function measure(
  content: ContentSource,
  write?: (chunk: Uint8Array) => Promise<void>,
): Promise<StoredContent> {
  const hash = createHash('sha256');
  let sizeBytes = 0;
  const chunks = content instanceof Uint8Array ? [content] : createReadStream(content.path);
  for await (const chunk of chunks as AsyncIterable<Uint8Array>) {
    hash.update(chunk);
    sizeBytes += chunk.byteLength;
    await write?.(chunk);
  }
  return { sha256: hash.digest('hex'), sizeBytes };
}
