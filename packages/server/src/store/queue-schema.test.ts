import library from 'pg-boss/package.json' with { type: 'json' };
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { engineName, testDatabase, testEngine } from '../../test/database.ts';
import { openBoss } from '../background/queue.ts';
import { DatabaseError } from './errors.ts';
import { ensureQueueSchema, queueSchemaVersion } from './queue-schema.ts';
import { openStore } from './store.ts';

const silent = pino({ level: 'silent' });

test('the version of the queue tables matches the installed library', () => {
  expect(queueSchemaVersion).toBe(library.pgboss.schema);
});

test('the tables match those of the library', async () => {
  const store = await openStore(await testDatabase());
  try {
    const boss = await openBoss(store, silent);
    expect(await boss.detectSchemaDrift()).toMatchObject({ ok: true });
  } finally {
    await store.close();
  }
});

test('ensureQueueSchema › creates missing tables, keeps existing ones, and rejects newer ones', async () => {
  const { pool } = await testEngine(await testDatabase());
  const client = await pool.connect();
  const version = async () => (await client.query('select version from pgboss.version')).rows;
  try {
    await client.query('drop schema pgboss cascade');
    await ensureQueueSchema(client);
    await ensureQueueSchema(client);
    expect(await version()).toEqual([{ version: queueSchemaVersion }]);
    await client.query('update pgboss.version set version = version + 1');
    const rejection = ensureQueueSchema(client);
    await expect(rejection).rejects.toBeInstanceOf(DatabaseError);
    await expect(rejection).rejects.toThrow(/The job queue in the database is newer than this program/);
  } finally {
    client.release();
  }
});

test('ensureQueueSchema › upgrades older tables', async () => {
  const { pool } = await testEngine(await testDatabase());
  const client = await pool.connect();
  try {
    const { getRollbackPlans } = await import('pg-boss');
    await client.query(getRollbackPlans('pgboss', queueSchemaVersion));
    await ensureQueueSchema(client);
    const { rows } = await client.query('select version from pgboss.version');
    expect(rows).toEqual([{ version: queueSchemaVersion }]);
  } finally {
    client.release();
  }
});

test.runIf(engineName === 'postgres')('ensureQueueSchema › several processes start on an empty database', async () => {
  const options = await testDatabase('empty');
  const stores = await Promise.all([1, 2, 3].map(() => openStore(options)));
  for (const store of stores) {
    expect((await store.ownerStatements('select version from pgboss.version')).rows).toHaveLength(1);
    await store.close();
  }
});
