/**
 * Reads on a standby beside reads on the primary: processor time of both servers for each read, times, and how many reads the
 * standby serves while another process writes. `--profile`, `--seconds`.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { openStore } from '@financial-automation/server/platform/store/store';
import { embeddedBinaries, PostgresProcess } from '@financial-automation/server/test/postgres-process';
import { runOn } from '@financial-automation/server/test/postgres-server';
import { sql } from 'kysely';
import { readOptions } from '../../scripts/options.ts';
import { printLoad } from './figures.ts';
import { type FirmRead, readsOf } from './firm-reads.ts';
import { openMidFirm } from './mid-firm.ts';
import { usedByServer } from './processor-time.ts';

const { values } = readOptions({
  options: {
    standby: { type: 'boolean' },
    profile: { type: 'string', default: 'tiny' },
    seconds: { type: 'string', default: '5' },
  },
});
const seconds = Number(values.seconds);
const atATime = 16;
const writesPerSecond = 50;
const measured = ['Client: by ID', 'TimeEntry: list', 'Client: where {"name":{"_ilike"'];

const settings = ['shared_buffers=256MB', 'max_connections=100'];
const primary = await PostgresProcess.create(embeddedBinaries(), settings);
await runOn(primary.url, `create role owner login createrole createdb`);
const ownerUrl = (url: string) => url.replace('admin', 'owner');
process.env.TEST_DATABASE_URL = ownerUrl(primary.url);
const firm = await openMidFirm(undefined, values.profile);
const { tenantId } = firm.scope;
const { name: database = '' } =
  (await firm.store.read(tenantId, (session) =>
    session.first<{ name: string }>(sql`select current_database() as name`),
  )) ?? {};
const standby = await primary.standby(settings);
const urlOf = (server: PostgresProcess) =>
  Object.assign(new URL(ownerUrl(server.url)), { pathname: `/${database}` }).href;
const store = await openStore({
  databaseUrl: urlOf(primary),
  standbyUrls: [urlOf(standby)],
  limits: { firstConnect: 60_000 },
});

try {
  while (store.standbys?.states[0]?.leftOut !== undefined) await pause(50);
  const all = await firm.store.read(tenantId, (session) => readsOf(session, firm.scope));
  printLoad();
  const rows: Record<string, Record<string, string | number>> = {};
  for (const name of measured) {
    const read = all.find((one) => one.name.startsWith(name));
    if (read === undefined) throw new Error(`There is no read ${name}.`);
    for (const writes of [0, writesPerSecond]) {
      for (const place of ['primary', 'standby'] as const)
        rows[`${read.name}, ${writes} writes/s, ${place}`] = await turn(read, place, writes);
    }
  }
  console.table(rows);
  printLoad();
} finally {
  await store.close();
  await firm.close();
  for (const server of [standby, primary]) await server.remove();
}

async function turn(read: FirmRead, place: 'primary' | 'standby', writes: number) {
  const run = () => store.read(tenantId, (session) => read.run(session), place);
  for (let warm = 0; warm < 50; warm++) await run();
  let served = 0;
  store.standbys?.observe((outcome) => {
    if (outcome === 'served') served += 1;
  });
  const times: number[] = [];
  let isOver = false;
  const writer = (async () => {
    while (writes > 0 && !isOver) {
      await firm.store.write(tenantId, (transaction) =>
        transaction.all(sql`update department set name = name where tenant_id = ${tenantId}`),
      );
      await pause(1000 / writes);
    }
  })();
  const before = [primary, standby].map(({ pid = 0 }) => usedByServer(pid));
  const end = performance.now() + seconds * 1000;
  const reader = async () => {
    while (performance.now() < end) {
      const started = performance.now();
      await run();
      times.push(performance.now() - started);
    }
  };
  await Promise.all(Array.from({ length: atATime }, reader));
  const used = [primary, standby].map(({ pid = 0 }, index) => usedByServer(pid) - (before[index] ?? 0));
  isOver = true;
  await writer;
  times.sort((a, b) => a - b);
  const at = (share: number) => `${(times[Math.floor(times.length * share)] ?? 0).toFixed(1)} ms`;
  const perRead = (index: number) => `${(((used[index] ?? 0) * 1e6) / times.length).toFixed(0)} µs`;
  return {
    'reads per second': Math.round(times.length / seconds),
    'primary, per read': perRead(0),
    'standby, per read': perRead(1),
    median: at(0.5),
    '99th percentile': at(0.99),
    'served by the standby': place === 'primary' ? '' : `${((served / times.length) * 100).toFixed(1)} %`,
  };
}
