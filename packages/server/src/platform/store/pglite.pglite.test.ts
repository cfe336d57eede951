import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { sql } from 'kysely';
import { afterAll, expect, test } from 'vitest';
import { testDatabase } from '../../../test/database.ts';
import { nightlyTest } from '../../../test/nightly-test.ts';
import { patientLimits } from '../../../test/patient-limits.ts';
import { insertOrg } from '../../../test/rows.ts';
import { smallDisk } from '../../../test/small-disk.ts';
import { client } from '../../modules/clients/client.ts';
import { conditionOf } from '../../query/where.ts';
import type { Engine } from './engine.ts';
import { silentLog } from './limits.ts';
import { checkpointIfDue, openPglite } from './pglite.ts';
import { serviceRole } from './role.ts';
import { openStore, type Store } from './store.ts';

/** The nightly run has 20. */
const kills = Number(process.env.KILL_ROUNDS ?? 1);
const threadEnds = 2 * kills;
const tenantId = 1;
const { dataDir = '' } = await testDatabase();
const emptyDir = await mkdtemp(join(tmpdir(), 'financial-automation-first-start-'));
afterAll(() => rm(emptyDir, { recursive: true }));

/** Starts another process that writes rows, and kills it at a random moment. @returns the rows that it acknowledged */
async function writeUntilKilled(rows: number): Promise<string[]> {
  const script = join(import.meta.dirname, '../../../test/write-rows.ts');
  const child = spawn(process.execPath, [script, dataDir, String(tenantId)], { stdio: ['ignore', 'pipe', 'inherit'] });
  const acknowledged: string[] = [];
  const exit = once(child, 'exit');
  for await (const id of createInterface({ input: child.stdout })) {
    acknowledged.push(id);
    if (acknowledged.length === rows) child.kill('SIGKILL');
  }
  await exit;
  return acknowledged;
}

/** Opening a database takes a second of a processor: the first tests share a store, and those after it an engine. */
let store: Store | undefined;
let engine: Engine | undefined;
afterAll(closeDatabase);

async function closeDatabase(): Promise<void> {
  await Promise.all([store?.close(), engine?.close()]);
  [store, engine] = [undefined, undefined];
}

async function openedStore(): Promise<Store> {
  store ??= await openStore({ dataDir, limits: patientLimits });
  return store;
}

async function openedEngine(): Promise<Engine> {
  if (engine === undefined) await closeDatabase();
  engine ??= await openPglite(dataDir, patientLimits, silentLog);
  return engine;
}

test('kill -9 during writes loses no acknowledged row', async () => {
  const acknowledged: string[] = [];
  for (let kill = 1; kill <= kills; kill++) acknowledged.push(...(await writeUntilKilled(20 * kill)));
  const store = await openedStore();
  const stored = await store.read(tenantId, (session) =>
    session.all(sql<{ id: string; beside: string }>`
      select o.id, b.id as beside from org o
      left join org b on b.tenant_id = o.tenant_id and b.name = 'beside ' || o.id::text
      where o.tenant_id = ${tenantId} and o.name = o.id::text`),
  );
  expect(acknowledged.length).toBeGreaterThanOrEqual(20 * kills);
  const found = new Set(stored.map((row) => row.id));
  expect(acknowledged.filter((id) => !found.has(id))).toEqual([]);
  expect(stored.filter((row) => row.beside === null)).toEqual([]);
});

test('the readiness check does not wait for work of tenants', async () => {
  const store = await openedStore();
  // If it waited for the only connection, which this work has, neither would end.
  await store.read(tenantId, () => store.ready());
  await store.write(tenantId, () => store.ready());
  await store.ready();
});

test('a second process is rejected while the store is open', async () => {
  await openedStore();
  const script = `
    const { openStore } = await import(${JSON.stringify(join(import.meta.dirname, 'store.ts'))});
    await openStore({ dataDir: process.argv[1] });`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script, dataDir]);
  const output = (await child.stderr.toArray()).join('');
  expect(output).toContain(`is in use by the process with pid ${process.pid}`);
});

// Creating a database takes seconds; the preparation of these tests does it on a new machine.
nightlyTest?.('an interrupted first start is repeated, and logs what it does', async () => {
  mkdirSync(join(emptyDir, 'database.unfinished'));
  await writeFile(join(emptyDir, 'database.unfinished', 'PG_VERSION'), '18');
  const logged: string[] = [];
  const log = { info: (message: string) => logged.push(message), warn: (message: string) => logged.push(message) };
  const store = await openStore({ dataDir: emptyDir, limits: patientLimits, log });
  await store.ready();
  await store.close();
  expect(logged).toEqual([
    expect.stringMatching(/^Creating the database in .*, at the first start only\.$/),
    expect.stringContaining('not a power failure'),
  ]);
});

// Opening the database once more takes seconds of a processor; the failure is always the same.
nightlyTest?.(
  'a disk that is too full for the write-ahead log stops PostgreSQL, which opens again once there is space',
  async (context) => {
    await closeDatabase();
    const disk = await smallDisk(context, dataDir, 96);
    const script = join(import.meta.dirname, '../../../test/exhaust-disk.ts');
    const [program = '', ...words] = [...disk.through, process.execPath, script, disk.folder];
    const child = spawn(program, words, { stdio: ['ignore', 'pipe', 'inherit'] });
    const output = JSON.parse((await child.stdout.toArray()).join(''));
    expect(output.rows).toEqual([1, 2, 3]);
    expect(output.failures).toEqual(Array(6).fill('DiskFull'));
    expect(output.warnings).toContainEqual(expect.stringMatching(/^PGlite ended: The disk .* is full/));
  },
);

test('a database that opens for longer than a connection waits is there for a later one', async () => {
  await closeDatabase();
  engine = await openPglite(dataDir, { ...patientLimits, connect: 100, firstConnect: 100 }, silentLog);
  const { pool } = engine;
  let failures = 0;
  const isConnected = () =>
    pool.connect().then(
      (client) => {
        client.release();
        return true;
      },
      () => {
        failures += 1;
        return false;
      },
    );
  await expect.poll(isConnected).toBe(true);
  failures = 0;
  await engine.freeMemory?.();
  await expect.poll(isConnected).toBe(true);
  expect(failures).toBeGreaterThan(0);
  await closeDatabase();
});

test('a search by part of a name uses its index', async () => {
  const store = await openedStore();
  await store.write(tenantId, async (transaction) => {
    const org = await transaction.first(insertOrg(tenantId, 'org of clients'));
    await transaction.all(sql`
      insert into client (tenant_id, id, system_ref, name, client_ref, pms_ref, org_id, currency)
      select ${tenantId}, gen_random_uuid(), n, md5(n::text), n, n, ${org?.id}, 'USD' from generate_series(1, 3000) n`);
  });
  await store.system(async (transaction) => {
    await transaction.all(sql`select gin_clean_pending_list('client_names_index')`);
    await transaction.all(sql`analyze client`);
  });
  const plans = await store.write(tenantId, async (transaction) => {
    // For so few rows, a sequential scan would be chosen.
    await transaction.all(sql`set local enable_seqscan = off`);
    const explain = (condition: object) =>
      transaction.all(sql<{ 'QUERY PLAN': string }>`
        explain (costs off) select * from client e
        where e.tenant_id = ${tenantId} and ${conditionOf(client, 'e', tenantId, { name: condition })}`);
    return {
      client_names_index: [await explain({ _like: '%abc12%' }), await explain({ _ilike: '%ABC12%' })],
      client_search_index: [await explain({ _search: 'ÁBC12' })],
    };
  });
  for (const [index, plan] of Object.entries(plans).flatMap(([index, all]) =>
    all.map((plan) => [index, plan] as const),
  )) {
    const lines = plan.map((line) => line['QUERY PLAN'].trim());
    expect(lines).toContain(`->  Bitmap Index Scan on ${index}`);
    expect(lines.join()).toMatch(/Index Cond: \(\(tenant_id = 1\) AND \(.*name.* ~~ '%abc12%'/);
  }
});

test('terminating the thread during writes loses no acknowledged row', async () => {
  const engine = await openedEngine();
  await engine.pool.query('create table if not exists written (id integer primary key, text text unique)');
  const acknowledged: number[] = [];
  let id = 0;
  for (let ended = 0; ended < threadEnds; ended++) {
    const client = await engine.pool.connect();
    client.on('error', () => {});
    const before = acknowledged.length;
    try {
      for (;;) {
        id += 1;
        await client.query({ name: 'write', text: 'insert into written values ($1, $2)', values: [id, `text ${id}`] });
        acknowledged.push(id);
        // The first one takes as long as the machine needs.
        if (acknowledged.length === before + 1) setTimeout(() => client.release(true), Math.random() * 60);
      }
    } catch {
      // The thread was terminated with the connection.
    }
  }
  const { rows } = await engine.pool.query<{ id: number }>('select id from written');
  const indexed = await engine.pool.query<{ rows: number }>(
    `select count(*)::integer as rows from generate_series(1, $1) n join written on written.text = 'text ' || n`,
    [id],
  );
  const found = new Set(rows.map((row) => row.id));
  expect(acknowledged.length).toBeGreaterThan(0);
  expect(acknowledged.filter((one) => !found.has(one))).toEqual([]);
  expect(indexed.rows).toEqual([{ rows: found.size }]);
});

test('freeMemory opens the database again, with its rows and its listeners', async () => {
  const engine = await openedEngine();
  const heard: string[] = [];
  await engine.listen('after', (payload) => heard.push(payload));
  await engine.pool.query('create table kept (id integer)');
  await engine.pool.query(`create temporary table of_the_connection (id integer)`);
  await engine.freeMemory?.();
  const { rows } = await engine.pool.query(
    `select to_regclass('kept') is not null as kept, to_regclass('of_the_connection') is not null as same`,
  );
  await engine.pool.query(`select pg_notify('after', 'heard')`);
  await engine.pool.query('drop table kept');
  expect(rows).toEqual([{ kept: true, same: false }]);
  expect(heard.at(-1)).toBe('heard');
});

test('a long write-ahead log is truncated by a checkpoint, and the rights of requests are restored', async () => {
  const engine = await openedEngine();
  await engine.pool.query(`set role ${serviceRole}`);
  expect(await checkpointIfDue(engine.pool)).toBe(false);
  await engine.pool.query(`select pg_logical_emit_message(false, '', repeat('x', 9000000)) from generate_series(1, 2)`);
  expect(await checkpointIfDue(engine.pool)).toBe(true);
  expect(await checkpointIfDue(engine.pool)).toBe(false);
  const { rows } = await engine.pool.query('select current_user as user');
  await engine.pool.query('reset role');
  expect(rows).toEqual([{ user: serviceRole }]);
});
