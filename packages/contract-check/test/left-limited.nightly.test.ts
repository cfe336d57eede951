/** Cleaning up waits for limits of the rate, which takes longer than a request is repeated. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { check } from '../src/check.ts';
import { startThings, Things } from './things.ts';

it('what a run created is deleted although the server limits how often', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'contract-check-limited-'));
  const spec = join(folder, 'openapi.json');
  const data = new Things();
  const before = data.copy();
  let first = Number.POSITIVE_INFINITY;
  const { url, close } = await startThings(data, spec, async (request, next, operation) => {
    if (operation?.id !== 'deleteThing') return next(request);
    first = Math.min(first, performance.now());
    const isLimited = performance.now() - first < 10_000;
    return isLimited ? { status: 429, headers: { 'retry-after': '11' } } : next(request);
  });
  const only = ['createThing', 'getThing', 'deleteThing', 'listThings'];
  const { left } = await check({ spec, url, disposable: true, only, checks: [], minCoverage: 0 });
  await close();
  await rm(folder, { recursive: true });
  expect(left.created).toEqual([]);
  expect(data.copy().things).toEqual(before.things);
});
