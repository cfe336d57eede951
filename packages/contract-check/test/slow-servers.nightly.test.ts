/** Servers that limit the rate, or respond late: a run waits for them for several seconds. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { check } from '../src/check.ts';
import { specificationOf } from './independent/independent.ts';
import { auth, start } from './independent/lab/server.ts';
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

it('a request that is late because of earlier ones of another operation is no finding', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'contract-check-late-'));
  const spec = join(folder, 'openapi.json');
  let isLate = false;
  let end = Number.POSITIVE_INFINITY;
  const { url, close } = await startThings(new Things(), spec, async (request, next, operation) => {
    if (operation?.id === 'sendSignal' && !isLate) {
      isLate = true;
      await sleep(2500);
    } else if (operation?.id === 'createNote' && isLate) {
      end = Math.min(end, performance.now() + 6000);
      await sleep(Math.max(0, end - performance.now()));
    }
    return next(request);
  });
  const focus = ['createNote', 'sendSignal'];
  const limits = { focus, probes: 3, timeout: 1, minCoverage: 0 };
  const { findings, notices } = await check({ spec, url, disposable: true, checks: ['robustness'], ...limits });
  await close();
  await rm(folder, { recursive: true });
  expect(findings).toEqual([]);
  for (const id of focus)
    expect(notices.join()).toContain(`${id}: Every request must have a response; it was observed`);
});

it.each([
  [25, undefined, []],
  [40, 'cancel-not-stored', ['action-lost', 'action-state']],
] as const)('a job that goes on during requests of %i ms with the drift %s: %j', async (pause, drift, expected) => {
  const server = await start(drift, (request, next) => sleep(pause).then(() => next(request)));
  const focus = ['startExport', 'getExport', 'cancelExport', 'getExportRows'];
  const options = { url: server.url, auth, disposable: true, focus, probes: 2 };
  const { findings } = await check({ spec: specificationOf('lab'), ...options });
  await server.stop();
  expect(findings.map((one) => one.check).sort()).toEqual(expected);
});
