import { randomBytes } from 'node:crypto';
import { afterAll, expect, inject, test } from 'vitest';
import { databaseUrl, dropDatabase, runOn } from '../../../test/postgres-server.ts';
import { openStore } from './store.ts';

const databases = inject('databases');
if (databases.engine !== 'postgres') throw new Error('These tests are about a server.');
const { serverUrl } = databases;
const name = `plain_${randomBytes(6).toString('hex')}`;
await runOn(serverUrl, `create role ${name} login password 'plain' createdb`);
const plain = new URL(serverUrl);
plain.username = name;
plain.password = 'plain';
await runOn(plain.href, `create database ${name} template template0`);
afterAll(async () => {
  await dropDatabase(plain.href, name);
  await runOn(serverUrl, `drop role ${name}`);
});

test('a user who may not assume the service role gets an error with the statements for an administrator', async () => {
  const options = { databaseUrl: databaseUrl(plain.href, name) };
  await expect(openStore(options)).rejects.toThrow(`GRANT financial_automation_service TO ${name};`);
  await runOn(serverUrl, `grant financial_automation_service to ${name}`);
  const logged: string[] = [];
  const store = await openStore({ ...options, log: { info: (message) => logged.push(message), warn: () => {} } });
  await store.ready();
  await store.close();
  expect(logged).toEqual([expect.stringContaining('ALTER FUNCTION pg_catalog.textlike(text, text) LEAKPROOF;')]);
});

test('defaults that an administrator sets for the database do not change how transactions run', async () => {
  await runOn(plain.href, `alter database ${name} set default_transaction_isolation = 'repeatable read'`);
  await runOn(plain.href, `alter database ${name} set row_security = off`);
  const settings = `select current_setting('transaction_isolation') as isolation, current_setting('row_security') as policies`;
  for (const pooler of [undefined, 'transaction'] as const) {
    const store = await openStore({ databaseUrl: databaseUrl(plain.href, name), pooler });
    const { rows } = await store.ownerStatements(settings).finally(() => store.close());
    expect(rows).toContainEqual({ isolation: 'read committed', policies: 'on' });
  }
});
