import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeEach, expect, test, vi } from 'vitest';
import { s3Credentials, startS3 } from '../../../test/s3-server.ts';
import { S3Storage } from './s3-storage.ts';
import { ContentMissing } from './storage.ts';

const { endpoint, objects, breakNextUpload } = await startS3('files');
const folder = await mkdtemp(join(tmpdir(), 'financial-automation-s3-'));
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Creates a storage that signs with this secret. */
function storageWith(secret = s3Credentials.secretAccessKey, bucket = 'files'): S3Storage {
  vi.stubEnv('AWS_ACCESS_KEY_ID', s3Credentials.accessKeyId);
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', secret);
  return new S3Storage({ bucket, region: 'eu-central-1', endpoint });
}

beforeEach(() => () => vi.unstubAllEnvs());

test('content of any length is returned unchanged, completely and in ranges', async () => {
  const storage = storageWith();
  for (const length of [0, 1, 300_000]) {
    const bytes = randomBytes(length);
    const path = join(folder, `source-${length}`);
    await writeFile(path, bytes);
    const stored = { sha256: createHash('sha256').update(bytes).digest('hex'), sizeBytes: length };
    expect(await storage.put(1, bytes)).toEqual(stored);
    objects.clear();
    expect(await storage.put(1, { path })).toEqual(stored);
    expect([...objects]).toEqual([[`1/${stored.sha256.slice(0, 2)}/${stored.sha256}`, bytes]]);
    expect(await buffer(await storage.open(1, stored.sha256))).toEqual(bytes);
    if (length < 3) continue;
    const part = await buffer(await storage.open(1, stored.sha256, { start: 2, end: length - 2 }));
    expect(part).toEqual(bytes.subarray(2, length - 1));
  }
});

test('content that does not exist, or belongs to another tenant, is missing', async () => {
  const storage = storageWith();
  const { sha256 } = await storage.put(1, Buffer.from('of tenant 1'));
  await expect(storage.open(2, sha256)).rejects.toThrow(ContentMissing);
});

test('an interrupted upload is retried, and never visible in part', async () => {
  const storage = storageWith();
  const bytes = randomBytes(2_000_000);
  breakNextUpload();
  const { sha256 } = await storage.put(1, bytes);
  expect(objects.get(`1/${sha256.slice(0, 2)}/${sha256}`)).toEqual(bytes);
});

test('a rejected signature or a missing bucket is an error', async () => {
  await expect(storageWith('another secret').put(1, Buffer.from('x'))).rejects.toThrow('The signature does not match.');
  await expect(storageWith(undefined, 'other').put(1, Buffer.from('x'))).rejects.toThrow('The bucket does not exist.');
});

test('all content of a tenant is deleted, and no other', async () => {
  const storage = storageWith();
  objects.clear();
  const contents = Array.from({ length: 130 }, (_, number) => Buffer.from(String(number)));
  await Promise.all(contents.map((bytes) => storage.put(1, bytes)));
  const { sha256 } = await storage.put(11, Buffer.from('of tenant 11'));
  await storage.removeAll(1);
  expect([...objects.keys()]).toEqual([`11/${sha256.slice(0, 2)}/${sha256}`]);
  await storage.removeAll(1);
});
