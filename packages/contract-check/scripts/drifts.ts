#!/usr/bin/env node
/**
 * Checks the server with each drift of the suites, one at a time, and checks the correct servers under many seeds: by
 * default 20, or 1 with `--only` or `--part`, which also limit it to the operations of these drifts.
 * Exits with 1 if a drift is not found, or if a correct server has a finding.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { readOptions } from '../../../scripts/options.ts';
import type { Drift } from '../test/drifts/drift.ts';
import { serviceDrifts } from '../test/drifts/service/drifts.ts';
import { workshopDrifts } from '../test/drifts/workshop/drifts.ts';
import { type DriftRow, driftTable, writeDriftTable } from './drift-table.ts';
import type { Done, Job } from './drift-worker.ts';

const { values: options } = readOptions({
  options: {
    suite: { type: 'string', default: '' },
    only: { type: 'string', default: '' },
    part: { type: 'string', default: '' },
    seed: { type: 'string', default: '1' },
    seeds: { type: 'string' },
    workers: { type: 'string', default: String(availableParallelism()) },
    table: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
  },
});
const isPart = options.only !== '' || options.part !== '';
const seeds = Number(options.seeds ?? (isPart ? 1 : 20));
let failed = false;

await run('workshop', workshopDrifts);
await run('service', serviceDrifts);
process.exit(failed ? 1 : 0);

/** A drift without functions, so that it can be sent to a worker. */
type Named = Omit<Drift<never>, 'alter' | 'probe'>;

async function run(suite: string, drifts: readonly Named[]): Promise<void> {
  if (options.suite !== '' && options.suite !== suite) return;
  const expected = drifts.filter(
    ({ name, expect }) => name.includes(options.only) && expect?.join().startsWith(options.part) !== false,
  );
  if (expected.length === 0) return;
  // The whole service takes minutes per seed. A part is compared with the correct server operation by operation.
  const parts = isPart
    ? [...new Map(expected.map(({ operation, needs = [] }) => [operation, [operation, ...needs]])).values()]
    : [undefined];
  const jobs = Array.from({ length: seeds }, (_, index) => parts.map((only) => ({ seed: index + 1, only }))).flat();
  console.log(`${suite}: ${jobs.length} runs of the correct server, then ${expected.length} drifts`);
  const workers = await start(suite);
  try {
    const known: string[] = [];
    await each(workers, jobs, ({ seed, only = [] }, { findings, requests, milliseconds }) => {
      console.log(
        `${[suite, 'correct', ...only, `seed ${seed}`].join(', ')}: ${findings.length} findings, ${requests} requests, ${seconds(milliseconds)}`,
      );
      for (const { operation, check, title, actual } of findings)
        console.log(`  ${operation} ${check}: ${title} (${actual})`);
      known.push(...findings.map(({ operation, cause }) => `${operation} ${cause}`));
    });
    const rows = new Map<string, DriftRow>();
    await each(
      workers,
      expected.map(({ name }) => ({ drift: name, seed: Number(options.seed), known })),
      ({ drift: name }, done) => {
        const drift = expected.find((one) => one.name === name);
        if (drift === undefined) return;
        const checks = [...new Set(done.findings.map(({ check }) => check))];
        const { operation, kind, what, expect } = drift;
        rows.set(name, { suite, part: expect?.[0] ?? 'any', operation, kind, what, checks });
        console.log(`${`${rows.size}`.padStart(4)}/${expected.length} ${lineOf(drift, checks, done)}`);
      },
    );
    const all = expected.flatMap(({ name }) => rows.get(name) ?? []);
    const correct = { seeds, findings: known.length };
    report(suite, all, correct.findings);
    if (options.table) console.log(`\n${driftTable(suite, all, correct)}`);
    if (options.write) await writeDriftTable(suite, all, correct);
  } finally {
    for (const worker of workers) worker.disconnect();
  }
}

async function start(suite: string): Promise<ChildProcess[]> {
  const file = fileURLToPath(new URL('drift-worker.ts', import.meta.url));
  const workers = Array.from({ length: Number(options.workers) }, () => fork(file, [suite]));
  for (const worker of workers)
    worker.on('exit', (code) => {
      if (code !== 0) throw new Error(`A worker exited with ${code}; see its output above.`);
    });
  await Promise.all(workers.map((worker) => once(worker, 'message')));
  return workers;
}

/** Gives each worker its next job as soon as it finishes one. */
async function each<Mine extends Job>(
  workers: readonly ChildProcess[],
  jobs: readonly Mine[],
  onDone: (job: Mine, done: Done) => void,
): Promise<void> {
  const left = [...jobs];
  await Promise.all(
    workers.map(async (worker) => {
      for (let job = left.shift(); job !== undefined; job = left.shift()) {
        worker.send(job);
        const [done] = (await once(worker, 'message')) as [Done];
        onDone(job, done);
      }
    }),
  );
}

function report(suite: string, rows: readonly DriftRow[], wrong: number): void {
  const missed = rows.filter(({ checks }) => checks.length === 0);
  console.log(`\n${suite}: ${rows.length - missed.length} of ${rows.length} drifts are caught.`);
  for (const { operation, what } of missed) console.log(`  missed: ${operation}: ${what}`);
  if (missed.length > 0 || wrong > 0) failed = true;
}

function lineOf({ name, kind, expect }: Named, checks: readonly string[], done: Done): string {
  const { findings, isReached, milliseconds } = done;
  const by = checks.join(', ') || `MISSED${isReached ? '' : ' (no call of the operation succeeded)'}`;
  const isElsewhere = findings.length > 0 && !findings.some(({ category }) => expect?.includes(category) !== false);
  return `${seconds(milliseconds).padStart(7)}  ${name} [${kind}] → ${by}${isElsewhere ? ' (another part)' : ''}`;
}

function seconds(milliseconds: number): string {
  return `${(milliseconds / 1000).toFixed(1)} s`;
}
