import { createHash, randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, readdir, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { afterAll, expect, test } from 'vitest';
import { LocalStorage } from './local-storage.ts';
import { ContentMissing } from './storage.ts';

const root = await mkdtemp(join(tmpdir(), 'financial-automation-storage-'));
afterAll(() => rm(root, { recursive: true, force: true }));
const storage = new LocalStorage(join(root, 'files'));
const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');

test('content of any length is returned unchanged, completely and in ranges', async () => {
  for (const length of [0, 1, 300_000]) {
    const bytes = randomBytes(length);
    const path = join(root, `source-${length}`);
    await writeFile(path, bytes);
    const stored = { sha256: sha256(bytes), sizeBytes: length };
    expect(await storage.put(1, bytes)).toEqual(stored);
    expect(await storage.put(1, { path })).toEqual(stored);
    expect(await buffer(await storage.open(1, stored.sha256))).toEqual(bytes);
    if (length < 3) continue;
    const part = await buffer(await storage.open(1, stored.sha256, { start: 2, end: length - 2 }));
    expect(part).toEqual(bytes.subarray(2, length - 1));
  }
});

test('only the owner can read content, and no unfinished files remain', async () => {
  const { sha256: name } = await storage.put(1, Buffer.from('secret'));
  const path = join(root, 'files', '1', name.slice(0, 2), name);
  expect((await stat(path)).mode & 0o077).toBe(0);
  expect((await stat(join(root, 'files'))).mode & 0o077).toBe(0);
  expect(await readdir(join(root, 'files', 'incoming'))).toEqual([]);
});

test('an unreadable source leaves no files', async () => {
  await expect(storage.put(1, { path: join(root, 'nothing') })).rejects.toThrow(/ENOENT/);
  await expect(storage.put(1, { path: root })).rejects.toThrow(/EISDIR/);
  expect(await readdir(join(root, 'files', 'incoming'))).toEqual([]);
});

test('content that does not exist, or belongs to another tenant, is missing', async () => {
  const { sha256: name } = await storage.put(1, Buffer.from('of tenant 1'));
  await expect(storage.open(2, name)).rejects.toThrow(ContentMissing);
  await expect(storage.open(1, '0'.repeat(64))).rejects.toThrow(ContentMissing);
});

test('a name that is not a hash is rejected without access to the disk', async () => {
  await expect(storage.open(1, '../../etc/passwd')).rejects.toThrow(/SHA-256/);
});

test('unfinished files of a killed process are deleted after a day', async () => {
  const incoming = join(root, 'left', 'incoming');
  await mkdir(incoming, { recursive: true });
  for (const name of ['old', 'new']) await writeFile(join(incoming, name), 'half');
  const yesterday = new Date(Date.now() - 25 * 3_600_000);
  await utimes(join(incoming, 'old'), yesterday, yesterday);
  await new LocalStorage(join(root, 'left')).put(1, Buffer.from('x'));
  expect(await readdir(incoming)).toEqual(['new']);
});

test('all content of a tenant is deleted, and no other', async () => {
  const one = new LocalStorage(join(root, 'of-tenants'));
  const { sha256: name } = await one.put(1, Buffer.from('x'));
  await one.put(11, Buffer.from('x'));
  await one.removeAll(1);
  await expect(one.open(1, name)).rejects.toThrow(ContentMissing);
  expect(await buffer(await one.open(11, name))).toEqual(Buffer.from('x'));
  await one.removeAll(1);
});
