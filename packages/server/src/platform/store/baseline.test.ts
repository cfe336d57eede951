import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { expect, test } from 'vitest';
import { testDatabase, testEngine } from '../../../test/database.ts';
import { describeSchema } from '../../../test/describe-schema.ts';
import type { Engine } from './engine.ts';
import { DatabaseError } from './errors.ts';
import { migrate, pendingMigrations, readMigrations } from './migrate.ts';
import { ensureServiceRole } from './role.ts';
import { SchemaCheck } from './schema-check.ts';

const migrations = await readMigrations();
const file = (path: string) => new URL(path, import.meta.url);
const described = await readFile(file('generated/schema.sql'), 'utf8');

test('schema.sql describes a database with all migrations', async () => {
  const { pool } = await emptyDatabase();
  await migrate(pool, migrations);
  expect(
    differences(described, await describeSchema(pool)),
    'Run "pnpm exec node packages/server/scripts/schema.ts".',
  ).toEqual([]);
});

test('a database from before the baseline is rejected without one of its migrations, adopted with all, and then has its schema', async () => {
  const engine = await databaseBeforeBaseline();
  const { pool: before } = engine;
  expect(await pendingMigrations(before, migrations)).toEqual([...migrations.keys()]);
  const rename = (from: string, to: string) =>
    before.query('update schema_expansion set name = $2 where name = $1', [from, to]);
  await rename('0717_work_of_engagements', 'other');
  await expect(migrate(before, migrations)).rejects.toThrow(
    /lacks 0717_work_of_engagements\. Export its tenants with that version, and import them into a new database\.$/,
  );
  await rename('other', '0717_work_of_engagements');
  await migrate(before, migrations);
  expect(differences(described, await describeSchema(before))).toEqual([]);
  expect(await pendingMigrations(before, migrations)).toEqual([]);
  // The version before does not notice it, and can start again.
  const { rows } = await before.query(`select name from schema_expansion where name like '%\\_baseline'`);
  expect(rows).toEqual([{ name: [...migrations.keys()][0] }]);
  // And this one does not take what it replaces for migrations of a later version.
  const check = new SchemaCheck(engine, migrations);
  const error = new DatabaseError('Any.');
  expect(await check.causeOf(error)).toBe(error);
  check.verify();
});

/**
 * The lines of one description that the other does not have as often, after a sign: a comparison of the whole texts would take minutes. Columns
 * of one database can have another order.
 */
function differences(one: string, other: string): string[] {
  const counts = new Map<string, number>();
  for (const line of one.split('\n')) counts.set(line, (counts.get(line) ?? 0) - 1);
  for (const line of other.split('\n')) counts.set(line, (counts.get(line) ?? 0) + 1);
  const differing = [...counts].filter(([, count]) => count !== 0);
  return differing.map(([line, count]) => `${count < 0 ? '-' : '+'}${line}`);
}

async function emptyDatabase(): Promise<Engine> {
  const engine = await testEngine(await testDatabase('empty'));
  const client = await engine.pool.connect();
  await ensureServiceRole(client).finally(() => client.release());
  return engine;
}

async function databaseBeforeBaseline(): Promise<Engine> {
  const engine = await emptyDatabase();
  const text = await promisify(gunzip)(await readFile(file('../../../test/before-baseline.sql.gz')));
  const client = await engine.pool.connect();
  // Functions name tables that follow.
  await client.query(`begin; set local check_function_bodies = off; ${text}; commit`).finally(() => client.release());
  return engine;
}
