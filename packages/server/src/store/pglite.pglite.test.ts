import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { sql } from 'kysely';
import { afterAll, expect, test } from 'vitest';
import { testDatabase } from '../../test/database.ts';
import { insertOrg } from '../../test/rows.ts';
import { conditionOf } from '../query/where.ts';
import { client } from '../resources/clients/client.ts';
import { openStore } from './store.ts';

const kills = 10;
const tenantId = 1;
const { dataDir = '' } = await testDatabase();
const emptyDir = await mkdtemp(join(tmpdir(), 'financial-automation-first-start-'));
afterAll(() => rm(emptyDir, { recursive: true }));

/** Lets another process write rows, and kills it at some moment of that. @returns the rows it was told are stored */
async function writeUntilKilled(rows: number): Promise<string[]> {
  const script = join(import.meta.dirname, '../../test/write-rows.ts');
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

test('kill -9 in the middle of writes loses no row that was acknowledged', async () => {
  const acknowledged: string[] = [];
  for (let kill = 1; kill <= kills; kill++) acknowledged.push(...(await writeUntilKilled(20 * kill)));
  const store = await openStore({ dataDir });
  const stored = await store.read(tenantId, (session) =>
    session.all(sql<{ id: string; beside: string }>`
      select o.id, b.id as beside from org o
      left join org b on b.tenant_id = o.tenant_id and b.name = 'beside ' || o.id::text
      where o.tenant_id = ${tenantId} and o.name = o.id::text`),
  );
  await store.close();
  expect(acknowledged.length).toBeGreaterThanOrEqual(20 * kills);
  const found = new Set(stored.map((row) => row.id));
  expect(acknowledged.filter((id) => !found.has(id))).toEqual([]);
  expect(stored.filter((row) => row.beside === null)).toEqual([]);
});

test('a second process is refused while the store is open', async () => {
  const store = await openStore({ dataDir });
  const script = `
    const { openStore } = await import(${JSON.stringify(join(import.meta.dirname, 'store.ts'))});
    await openStore({ dataDir: process.argv[1] });`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script, dataDir]);
  const output = (await child.stderr.toArray()).join('');
  await store.close();
  expect(output).toContain(`is in use by the process with pid ${process.pid}`);
});

test('a first start that was broken off is begun again, and says what it does', async () => {
  mkdirSync(join(emptyDir, 'database.unfinished'));
  await writeFile(join(emptyDir, 'database.unfinished', 'PG_VERSION'), '18');
  const said: string[] = [];
  const log = { info: (message: string) => said.push(message), warn: (message: string) => said.push(message) };
  const store = await openStore({ dataDir: emptyDir, log });
  await store.ready();
  await store.close();
  expect(said).toEqual([
    expect.stringMatching(/^Creating the database in .*, at the first start only\.$/),
    expect.stringContaining('not a power failure'),
  ]);
});

test('a search by part of a name uses its index', async () => {
  const store = await openStore({ dataDir });
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
    // For so few rows a walk through all of them would do.
    await transaction.all(sql`set local enable_seqscan = off`);
    const explain = (condition: object) =>
      transaction.all(sql<{ 'QUERY PLAN': string }>`
        explain (costs off) select * from client e
        where e.tenant_id = ${tenantId} and ${conditionOf(client, 'e', tenantId, { name: condition })}`);
    return [await explain({ _like: '%abc12%' }), await explain({ _ilike: '%ABC12%' })];
  });
  await store.close();
  for (const plan of plans) {
    const lines = plan.map((line) => line['QUERY PLAN'].trim());
    expect(lines).toContain('->  Bitmap Index Scan on client_names_index');
    expect(lines.join()).toMatch(/Index Cond: \(\(tenant_id = 1\) AND \(.*name.* ~~ '%abc12%'/);
  }
});
