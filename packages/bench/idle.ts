/**
 * What processes cost that have nothing to do, on one PostgreSQL with many tenants: processor time of each process and of the
 * database, while the clock ticks and events are waited for. `--tenants`, `--processes`, `--seconds`, `--server FILE`.
 */
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { openStore } from '@financial-automation/server/platform/store/store';
import { freePort } from '@financial-automation/server/test/free-port';
import { sql } from 'kysely';
import { readOptions } from '../../scripts/options.ts';
import { printLoad } from './figures.ts';
import { createDatabase } from './postgres.ts';
import { usedBy, usedByDatabase } from './processor-time.ts';

const { values } = readOptions({
  options: {
    idle: { type: 'boolean' },
    tenants: { type: 'string', default: '1000' },
    processes: { type: 'string', default: '2' },
    seconds: { type: 'string', default: '60' },
    server: { type: 'string', default: fileURLToPath(new URL('../server/dist/cli.js', import.meta.url)) },
  },
});
const [tenants, processes, seconds] = [Number(values.tenants), Number(values.processes), Number(values.seconds)];

/** Subscriptions of each tenant. */
const subscriptions = 4;
/** A process is idle when it has used less than this share of a core for five seconds; at most so long is waited for it, in seconds. */
const [idleShare, longestStart] = [0.02, 100];

await using database = await createDatabase('idle');
await measure(database.url);

async function measure(url: string): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'financial-automation-idle-'));
  await createTenants(url);
  printLoad();
  const children = await Promise.all(Array.from({ length: processes }, () => start(url, folder)));
  try {
    const startedAt = performance.now();
    for (let used = 1; used > idleShare && performance.now() - startedAt < longestStart * 1_000; ) {
      const before = usedBy(children.map(({ pid = 0 }) => pid)) + usedByDatabase(url);
      await pause(5_000);
      used = (usedBy(children.map(({ pid = 0 }) => pid)) + usedByDatabase(url) - before) / 5;
    }
    console.log(`Idle ${((performance.now() - startedAt) / 1000).toFixed(0)} s after the start.`);
    const began = performance.now();
    const pids = children.map(({ pid = 0 }) => pid);
    const own = pids.map((pid) => usedBy([pid]));
    const database = usedByDatabase(url);
    await pause(seconds * 1_000);
    const took = (performance.now() - began) / 1_000;
    const share = (used: number) => `${((used / took) * 100).toFixed(2)} %`;
    console.table(
      Object.fromEntries([
        ...pids.map((pid, index) => [
          `process ${index + 1}`,
          { 'share of a core': share(usedBy([pid]) - (own[index] ?? 0)) },
        ]),
        ['database, for each process', { 'share of a core': share((usedByDatabase(url) - database) / processes) }],
      ]),
    );
    console.log(`${tenants} tenants with ${subscriptions} subscriptions each, ${took.toFixed(0)} s.`);
  } finally {
    for (const child of children) child.kill('SIGKILL');
    await rm(folder, { recursive: true, force: true });
  }
}

async function createTenants(url: string): Promise<void> {
  const store = await openStore({ databaseUrl: url });
  await store.system((transaction) =>
    transaction.all(sql`
      insert into tenant (name, display_name, time_zone)
      select 'tenant_' || n, 'Tenant ' || n, (array['America/New_York', 'America/Los_Angeles', 'Europe/London'])[1 + n % 3]
      from generate_series(1, ${tenants}::integer) n`),
  );
  for (let tenantId = 1; tenantId <= tenants; tenantId++) {
    await store.write(tenantId, (transaction) =>
      transaction.all(sql`
        with caller as (insert into api_user (tenant_id, id, name, roles) values (${tenantId}, gen_random_uuid(), 'bench', '{}') returning id)
        insert into event_subscription (tenant_id, id, system_ref, entity_type, operations, delivery_url, created_by_api_user_id)
        select ${tenantId}, gen_random_uuid(), 'bench-' || n, 'Client', '{CREATE}', 'https://example.com', caller.id
        from caller, generate_series(1, ${subscriptions}::integer) n`),
    );
  }
  await store.ownerStatements('vacuum analyze').catch(() => undefined);
  await store.close();
}

async function start(url: string, folder: string) {
  const child = spawn(process.execPath, [values.server, 'serve'], {
    env: {
      PATH: process.env.PATH,
      DATABASE_URL: url,
      MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
      DATA_DIR: folder,
      PORT: String(await freePort()),
      LOG_LEVEL: 'info',
      PAYMENT_PROCESSOR: 'sandbox',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await new Promise<void>((resolve, reject) => {
    child.once('exit', () => reject(new Error('A process ended.')));
    child.stdout.on('data', (chunk) => {
      if (String(chunk).includes('"Serving."')) resolve();
    });
  });
  return child;
}
