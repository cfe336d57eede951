/** Measures a call of PGlite in a thread of its own, beside PGlite in the main thread. `--rounds N` sets how often. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PGlite } from '@electric-sql/pglite';
import { createPgConfig } from '@electric-sql/pglite/node-postgres';
import { standardLimits } from '@financial-automation/server/platform/store/limits';
import { openPglite } from '@financial-automation/server/platform/store/pglite';
import pg from 'pg';
import { readOptions } from '../../scripts/options.ts';

const { values } = readOptions({ options: { rounds: { type: 'string', default: '7' } } });
const rounds = Number(values.rounds);
const calls = 2_000;
const storedRows = 5_000;
const folder = await mkdtemp(join(tmpdir(), 'financial-automation-bench-'));

const engine = await openPglite(join(folder, 'thread'), standardLimits, { info() {}, warn() {} });
const startParams = [...PGlite.defaultStartParams, '-c', 'shared_buffers=16MB', '-c', 'jit=off'];
const inMainThread = await PGlite.create(join(folder, 'main'), { startParams });
const pools = { thread: engine.pool, main: new pg.Pool({ ...createPgConfig(inMainThread), idleTimeoutMillis: 0 }) };

let id = storedRows;
const operations: Readonly<Record<string, () => pg.QueryConfig>> = {
  'read by id': () => ({ name: 'by_id', text: 'select * from row where id = $1', values: [randomId()] }),
  'list of 50 rows': () => ({
    name: 'list',
    text: 'select * from row where id > $1 order by id limit 50',
    values: [randomId() - 50],
  }),
  insert: () => ({
    name: 'insert',
    text: 'insert into row (id, name, note, amount, attributes) values ($1, $2, $3, $4, $5)',
    values: [++id, 'Harbor & Pine', 'x'.repeat(120), '1250.00', '{"n":1}'],
  }),
};

for (const pool of Object.values(pools)) {
  await pool.query(`create table row (id integer primary key, name text, note text, amount numeric, attributes jsonb,
    created_at timestamptz default now())`);
  await pool.query(`insert into row select n, md5(n::text), repeat(md5(n::text), 4), n, jsonb_build_object('n', n)
    from generate_series(1, ${storedRows}) n`);
  await pool.query('analyze row');
}
for (const [name, operation] of Object.entries(operations)) {
  const samples: Record<string, { wall: number; cpu: number }[]> = { thread: [], main: [] };
  // Round by round, so that a slow minute of the machine affects both.
  for (let round = 0; round <= rounds; round++) {
    for (const [place, pool] of Object.entries(pools)) {
      const sample = await measure(pool, operation);
      if (round > 0) samples[place]?.push(sample);
    }
  }
  for (const [place, ofPlace] of Object.entries(samples)) {
    const median = (of: (sample: { wall: number; cpu: number }) => number) =>
      ofPlace
        .map(of)
        .sort((left, right) => left - right)
        [rounds >> 1]?.toFixed(0);
    console.log(`${name}, ${place}: ${median((s) => s.wall)} µs per call, ${median((s) => s.cpu)} µs of CPU`);
  }
}
await engine.close();
await pools.main.end();
await inMainThread.close();
await rm(folder, { recursive: true });

function randomId(): number {
  return 51 + Math.floor(Math.random() * (storedRows - 100));
}

/** One call after the other. */
async function measure(pool: pg.Pool, operation: () => pg.QueryConfig): Promise<{ wall: number; cpu: number }> {
  const before = process.cpuUsage();
  const started = performance.now();
  for (let call = 0; call < calls; call++) await pool.query(operation());
  const { user, system } = process.cpuUsage(before);
  return { wall: ((performance.now() - started) * 1000) / calls, cpu: (user + system) / calls };
}
