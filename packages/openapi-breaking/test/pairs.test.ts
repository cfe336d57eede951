import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { compare } from '../src/compare.ts';
import { loadDocument, NotComparable } from '../src/load.ts';
import { type Pair, pairs } from './pairs.ts';
import { reported } from './reported.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'pairs-'));
});
afterAll(() => rm(folder, { recursive: true }));

/** Each comparison takes a process of its own: a sample by day, of every verdict, and all by night. */
const all = [...pairs, ...reported];
const rejected = all.filter(({ verdict }) => verdict === 'rejected');
const sample = [...all.filter((_, index) => index % 40 === 0), ...rejected.slice(0, 1)];
const chosen = process.env.NIGHTLY === undefined ? sample : all;

describe('compare', () => {
  test.each(chosen.map((pair, index) => [pair.name, pair, index] as const))('%s', async (_name, pair, index) => {
    expect(await verdictOn(pair, index)).toMatchObject({ verdict: pair.verdict });
  });
});

async function verdictOn({ before, after }: Pair, index: number) {
  try {
    const [released, present] = await Promise.all([load(`${index}-before`, before), load(`${index}-after`, after)]);
    const { breaks } = await compare(released, present);
    return { verdict: breaks.length > 0 ? 'breaks' : 'same', breaks };
  } catch (error) {
    if (error instanceof NotComparable) return { verdict: 'rejected', says: error.message };
    throw error;
  }
}

async function load(name: string, files: Pair['before']) {
  const place = join(folder, name);
  await mkdir(place);
  for (const [file, text] of Object.entries(files)) await writeFile(join(place, file), text);
  return await loadDocument(join(place, 'openapi.yaml'));
}
