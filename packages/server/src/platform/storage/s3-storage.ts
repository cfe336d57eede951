import { createReadStream } from 'node:fs';
import { Readable } from 'node:stream';
import {
  DeleteObjectCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  NoSuchKey,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3';
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

export interface S3Settings {
  readonly bucket: string;
  readonly region: string;
  /** The URL of the server; undefined for Amazon S3. */
  readonly endpoint: string | undefined;
}

/**
 * Content in a bucket of Amazon S3 or a compatible server. Objects become visible only when they are complete.
 * Credentials are read as by the AWS SDK, for example from `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY`.
 */
export class S3Storage implements ContentStorage {
  readonly #bucket: string;
  readonly #client: S3Client;

  constructor({ bucket, region, endpoint }: S3Settings) {
    this.#bucket = bucket;
    this.#client = new S3Client({
      region,
      // Servers other than Amazon's use one host name for all buckets.
      ...(endpoint === undefined ? {} : { endpoint, forcePathStyle: true }),
      // Each object is sent with the hash below. Not all servers support other checksums.
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
      requestHandler: { connectionTimeout: 5_000, socketTimeout: 60_000 },
    });
  }

  async put(tenantId: number, content: ContentSource): Promise<StoredContent> {
    const stored = await measure(content);
    await this.#client.send(
      new PutObjectCommand({
        Bucket: this.#bucket,
        Key: contentKey(tenantId, stored.sha256),
        Body: content instanceof Uint8Array ? content : createReadStream(content.path),
        ContentLength: stored.sizeBytes,
        // The server rejects content that has changed since it was hashed, or in transit.
        ChecksumSHA256: Buffer.from(stored.sha256, 'hex').toString('base64'),
      }),
    );
    return stored;
  }

  async open(tenantId: number, sha256: string, range?: ByteRange): Promise<Readable> {
    try {
      const { Body } = await this.#client.send(
        new GetObjectCommand({
          Bucket: this.#bucket,
          Key: contentKey(tenantId, sha256),
          ...(range === undefined ? {} : { Range: `bytes=${range.start}-${range.end}` }),
        }),
      );
      if (Body instanceof Readable) return Body;
      throw new Error('The storage returned no content.');
    } catch (error) {
      if (error instanceof NoSuchKey) throw new ContentMissing(sha256);
      throw error;
    }
  }

  async removeAll(tenantId: number): Promise<void> {
    for (;;) {
      const list = new ListObjectsV2Command({ Bucket: this.#bucket, Prefix: folderKey(tenantId), MaxKeys: 100 });
      const { Contents: found = [] } = await this.#client.send(list);
      if (found.length === 0) return;
      // One by one, because not all servers accept the checksum of a request for many.
      await Promise.all(
        found.map(({ Key }) => this.#client.send(new DeleteObjectCommand({ Bucket: this.#bucket, Key }))),
      );
    }
  }
}
