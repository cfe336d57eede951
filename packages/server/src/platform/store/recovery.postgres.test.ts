import { setTimeout as pause } from 'node:timers/promises';
import { sql } from 'kysely';
import { afterAll, afterEach, expect, test } from 'vitest';
import { testDatabase, testEngine } from '../../../test/database.ts';
import { overTcp, runOn } from '../../../test/postgres-server.ts';
import { openProxy } from '../../../test/severable-proxy.ts';
import { DatabaseUnavailable, translateError } from './errors.ts';
import { openStore } from './store.ts';

const { databaseUrl = '' } = await testDatabase();
const direct = overTcp(databaseUrl);
const proxy = await openProxy(direct.hostname, Number(direct.port || 5432));
const proxied = overTcp(databaseUrl);
proxied.host = `127.0.0.1:${proxy.port}`;
const logged: string[] = [];
const log = { info: () => {}, warn: (message: string) => logged.push(message) };
const store = await openStore({ databaseUrl: proxied.href, poolSize: 3, limits: { read: 30_000 }, log });
afterAll(async () => {
  await store.close();
  await proxy.sever();
});

const engine = await testEngine({ databaseUrl });

const one = sql<{ one: number }>`select 1 as one`;
// Only a superuser can end a process that vacuums the database, which may run at any time.
const endBackends = `select pg_terminate_backend(pid) from pg_stat_activity
  where datname = '${direct.pathname.slice(1)}' and pid <> pg_backend_pid() and backend_type = 'client backend'`;
const reads = () => Promise.all([1, 2, 3].map(() => store.read(1, (session) => session.first(one))));

afterEach(async () => {
  await store.ready();
  expect(await reads()).toEqual([{ one: 1 }, { one: 1 }, { one: 1 }]);
});

test('a server that stops while connections are idle is unavailable until it is back', async () => {
  await reads();
  await proxy.sever();
  await pause(100);
  await expect(store.ready()).rejects.toBeInstanceOf(DatabaseUnavailable);
  await expect(store.write(1, (transaction) => transaction.first(one))).rejects.toBeInstanceOf(DatabaseUnavailable);
  expect(logged.join()).toContain('Database connection lost');
  await proxy.restore();
});

test('a server that stops during a statement ends it, and the transaction', async () => {
  const outcomes = Promise.allSettled([
    store.read(1, (session) => session.all(sql`select pg_sleep(10)`)),
    store.write(1, async (transaction) => {
      await transaction.savepoint(() => transaction.all(sql`select pg_sleep(10)`)).catch(() => undefined);
    }),
  ]);
  await pause(1_100);
  await proxy.sever();
  for (const outcome of await outcomes) {
    expect(outcome).toMatchObject({ status: 'rejected', reason: { name: 'DatabaseUnavailable' } });
  }
  await proxy.restore();
});

test('a connection that the server closes is not used again', async () => {
  const interrupted = store.read(1, (session) => session.all(sql`select pg_sleep(10)`));
  const outcome = expect(interrupted).rejects.toBeInstanceOf(DatabaseUnavailable);
  await pause(1_100);
  await runOn(direct.href, endBackends);
  await outcome;
});

test('a server that does not respond in time is unavailable', async () => {
  const client = await engine.pool.connect();
  const statement = { text: 'select pg_sleep(1)', query_timeout: 50 };
  const failure = await client.query(statement).catch((error: unknown) => translateError(error, false));
  client.release(true);
  expect(failure).toBeInstanceOf(DatabaseUnavailable);
});

test('connections that break while idle are replaced transparently', async () => {
  for (let time = 1; time <= 5; time++) {
    await reads();
    await runOn(direct.href, endBackends);
    await Promise.all([reads(), store.write(1, (transaction) => transaction.first(one)), store.ready()]);
    await reads();
    await proxy.sever();
    await proxy.restore();
    await Promise.all([store.write(1, (transaction) => transaction.first(one)), reads(), store.ready()]);
  }
});

test('work that times out waiting for a connection fails with an error', async () => {
  const busy = [1, 2, 3].map(() => store.read(1, (session) => session.all(sql`select pg_sleep(6)`)));
  await expect(store.read(1, (session) => session.first(one))).rejects.toBeInstanceOf(DatabaseUnavailable);
  await Promise.all(busy);
});

test('an unreachable server is reported at the start, without its password', async () => {
  const nowhere = overTcp(databaseUrl);
  nowhere.port = '1';
  const opening = openStore({ databaseUrl: nowhere.href });
  await expect(opening).rejects.toMatchObject({
    name: 'ServerAway',
    message: `The PostgreSQL server at ${nowhere.host} cannot be reached (ECONNREFUSED). Start it, or correct the host and the port of DATABASE_URL.`,
  });
});
