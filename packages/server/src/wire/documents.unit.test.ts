import { mkdtemp, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { setImmediate } from 'node:timers/promises';
import { brotliDecompressSync } from 'node:zlib';
import { afterAll, expect, test } from 'vitest';
import { Documents } from './documents.ts';
import type { Exchange } from './exchange.ts';
import { sampleServer } from './sample-server.ts';

const folder = await mkdtemp(join(tmpdir(), 'financial-automation-documents-'));
afterAll(() => rm(folder, { recursive: true }));

const publicUrl = 'https://api.example.com';
const text = `Call ${sampleServer}/gql/v1/orgs.\n`.repeat(10_000);
const addressed = text.replaceAll(sampleServer, publicUrl);

/** A document that counts how often it is computed. */
async function document(name: string) {
  const path = join(folder, name);
  await writeFile(path, text);
  const documents = new Documents(publicUrl);
  const counts = { computed: 0 };
  const headersOf = (content: string) => {
    counts.computed += 1;
    return { 'X-Length': String(content.length) };
  };
  const file = { path, headers: { 'Content-Type': 'text/plain' }, isAddressed: true, headersOf };
  const get = async (headers: Record<string, string> = {}, method = 'GET') => {
    const requestHeaders = { 'accept-encoding': 'identity', ...headers };
    const header = (field: string) => Reflect.get(requestHeaders, field) as string | undefined;
    const result = await documents.resultOf(file, { method, requestHeaders, header } as unknown as Exchange);
    if (result === undefined) throw new Error('The file does not exist.');
    return result;
  };
  return { path, counts, get };
}

test('a document is computed once, for all requests at the same time and later, and all share its memory', async () => {
  const { counts, get } = await document('shared');
  const results = await Promise.all([
    ...Array.from({ length: 50 }, () => get()),
    ...Array.from({ length: 50 }, () => get({ range: 'bytes=0-9' })),
    ...Array.from({ length: 50 }, () => get({ 'accept-encoding': 'br' })),
    get({}, 'HEAD'),
  ]);
  results.push(await get());
  expect(counts.computed).toBe(1);
  const whole = results.filter(({ status, headers }) => status === 200 && headers?.['Content-Encoding'] === undefined);
  const memory = new Set<unknown>();
  for (const { content, length } of whole) {
    expect(length).toBe(addressed.length);
    for await (const piece of content ?? Readable.from([])) {
      memory.add(piece.buffer);
      // What waits to be sent to a caller who does not read.
      expect(piece.length).toBeLessThanOrEqual(64 * 1024);
    }
  }
  expect(memory.size).toBe(1);
});

test('at most one piece of a document is written in a turn, however fast its caller reads', async () => {
  const { get } = await document('turns');
  let [turn, isReading] = [0, true];
  const count = async () => {
    for (; isReading; turn += 1) await setImmediate();
  };
  const counting = count();
  const turns = Array.from({ length: 64 }, async () => {
    const own: number[] = [];
    for await (const _ of (await get()).content ?? []) own.push(turn);
    return own;
  });
  for (const own of await Promise.all(turns)) {
    expect(own.length).toBeGreaterThan(5);
    expect(new Set(own).size).toBe(own.length);
  }
  isReading = false;
  await counting;
});

test('the address of the server is in the whole document, its parts, and what is compressed', async () => {
  const { get } = await document('addressed');
  const contentOf = async (headers?: Record<string, string>) => {
    const { content } = await get(headers);
    return buffer(content ?? Readable.from([]));
  };
  expect((await contentOf()).toString()).toBe(addressed);
  expect((await contentOf({ range: 'bytes=5-27' })).toString()).toBe(publicUrl);
  expect(brotliDecompressSync(await contentOf({ 'accept-encoding': 'br' })).toString()).toBe(addressed);
});

test('conditions are judged before anything is read or computed', async () => {
  const { counts, get } = await document('conditions');
  const future = new Date(Date.now() + 86_400_000).toUTCString();
  expect(await get({ 'if-modified-since': future })).toMatchObject({ status: 304, length: 0 });
  await expect(get({ 'if-match': '"other"' })).rejects.toMatchObject({ code: 'PRECONDITION_FAILED' });
  await expect(get({ 'if-unmodified-since': new Date(0).toUTCString() })).rejects.toMatchObject({ status: 412 });
  expect(counts.computed).toBe(0);
});

test('a document that is written again is read again', async () => {
  const { path, counts, get } = await document('changed');
  await get();
  await writeFile(path, 'new');
  const later = new Date(Date.now() + 10_000);
  await utimes(path, later, later);
  const { content, headers } = await get();
  expect((await buffer(content ?? Readable.from([]))).toString()).toBe('new');
  expect(headers).toMatchObject({ 'X-Length': '3', 'Last-Modified': later.toUTCString() });
  expect(counts.computed).toBe(2);
});
