/** A restored installation does nothing outside of its database until an operator adopts it. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { sql } from 'kysely';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { atEnd } from '../../../test/at-end.ts';
import { testDatabase } from '../../../test/database.ts';
import { freePort } from '../../../test/free-port.ts';
import { startReceiver } from '../../../test/receiver.ts';
import { readConfig, readServerConfig } from '../../app/read-config.ts';
import { type Running, serve } from '../../main/main.ts';
import { prepareServing } from '../../main/serving.ts';
import { databaseOf } from '../../platform/process/config.ts';
import { openStore } from '../../platform/store/store.ts';
import { createApiKey } from '../api-keys.ts';
import { createTenant, tenantNamed } from '../tenants.ts';
import { adoptDatabase } from './adopt.ts';
import { addCell } from './cells.ts';

const folder = await mkdtemp(join(tmpdir(), 'financial-automation-adopt-'));
atEnd(() => rm(folder, { recursive: true, force: true }));
const [home, east] = [await testDatabase(), await testDatabase('empty')];
const receiver = await startReceiver();
const environment = {
  DATABASE_URL: home.databaseUrl ?? '',
  MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
  DATA_DIR: join(folder, 'data'),
  LOG_LEVEL: 'silent',
  PAYMENT_PROCESSOR: 'sandbox',
  WEBHOOK_ALLOW_LOOPBACK: 'on',
};

async function withServer<Result>(work: (running: Running) => Promise<Result>): Promise<Result> {
  const running = await serve({ ...environment, PORT: String(await freePort()) });
  try {
    return await work(running);
  } finally {
    await running.stop();
  }
}

/** What a process logs while it prepares to serve. */
async function warningsOfStart(): Promise<string[]> {
  const warnings: string[] = [];
  const log = pino({ level: 'warn' }, { write: (line) => void warnings.push(JSON.parse(line).msg) });
  const config = readServerConfig(environment);
  await using opened = new AsyncDisposableStack();
  const store = await openStore({ ...databaseOf(config), log });
  opened.defer(() => store.close());
  await prepareServing(config, Promise.resolve(store), log, opened);
  return warnings;
}

interface Key {
  readonly tenant: string;
  readonly apiKey: string;
}

async function call({ address }: Running, { tenant, apiKey }: Key, path: string, body: object) {
  const headers = { 'Content-Type': 'application/json', Tenant: tenant };
  const post = (at: string, content: object, more: object = {}) =>
    fetch(address + at, { method: 'POST', headers: { ...headers, ...more }, body: JSON.stringify(content) });
  const { access_token: token } = Object(await (await post('/v1/auth/token', { apiKey })).json());
  return (await post(path, body, { Authorization: `Bearer ${token}` })).status;
}

const client = (systemRef: string) => ({ records: [{ type: 'Client', systemRef, attributes: { name: systemRef } }] });
const adopt = (...kept: string[]) => {
  const lines: string[] = [];
  return adoptDatabase(readConfig(environment), kept, (line) => lines.push(line)).then(() => lines);
};

test('adopt › a restored database delivers nothing, takes no payments and uses no other database until it is adopted', async () => {
  const keys = await withServer(async (running) => {
    const operator = { service: running.service };
    expect(running.service.processor).toBeDefined();
    await addCell(operator, { name: 'east', url: east.databaseUrl ?? '' });
    if ('look' in running.service.store && typeof running.service.store.look === 'function')
      await running.service.store.look();
    const place = { currency: 'USD', timeZone: 'America/New_York', country: 'US' };
    await createTenant(operator, { name: 'alpha', displayName: 'Alpha', ...place });
    await createTenant(operator, { name: 'beta', displayName: 'Beta', cell: 'east', ...place });
    const keyOf = async (tenant: string): Promise<Key> => {
      const options = { tenant, user: 'crm', roles: ['API_ADMIN'], days: 1, description: undefined };
      return { tenant, apiKey: (await createApiKey(operator, options)).key };
    };
    const [alpha, beta] = [await keyOf('alpha'), await keyOf('beta')];
    const subscription = { entityType: 'Client', operations: ['CREATE'], deliveryUrl: receiver.url };
    expect(await call(running, alpha, '/api/v1/event-subscriptions', subscription)).toBe(201);
    expect(await call(running, alpha, '/api/v1/records', client('before'))).toBe(200);
    await expect.poll(() => receiver.arrivals.length).toBe(1);
    expect(await call(running, beta, '/api/v1/records', client('before'))).toBe(200);
    // As in a copy: see backup.postgres.nightly.test.ts for one that is restored.
    await running.service.store.system((transaction) =>
      transaction.all(sql`update installation set database = 'other'`),
    );
    return { alpha, beta };
  });
  await withServer(async (running) => {
    expect(running.service.processor).toBeUndefined();
    expect(running.service.store.cells).toHaveLength(1);
    expect(await call(running, keys.alpha, '/api/v1/records', client('drill'))).toBe(200);
    expect(await call(running, keys.beta, '/api/v1/records', client('drill'))).toBe(401);
    await expect(tenantNamed(running, 'beta')).rejects.toThrow(/^The tenant beta is in another database/);
    await pause(1_500);
    expect(receiver.arrivals).toHaveLength(1);
  });
  const ofPayments = (await warningsOfStart()).filter((warning) => /payment/i.test(warning));
  expect(ofPayments).toEqual([expect.stringMatching(/^This database was restored, .*: operator adopt/)]);
});

test('adopt › tenants that are open in several databases are found, and one of them is kept', async () => {
  await withServer(({ service }) =>
    service.store.system(async (transaction) => {
      await transaction.all(sql`delete from tenant_place where name = 'beta'`);
      await transaction.all(
        sql`insert into tenant (name, display_name, time_zone) values ('beta', 'Beta', 'America/New_York')`,
      );
    }),
  );
  await expect(adopt()).rejects.toThrow(/^The tenant beta is open in home and east\. .* --keep beta=home\./);
  await expect(adopt('beta=west')).rejects.toThrow('the directory has no database "west"');
  await expect(adopt('alpha=east')).rejects.toThrow('the tenant is not open in that database');
  expect(await adopt('beta=east')).toEqual([expect.stringMatching(/^The database is adopted\. Restart the processes/)]);
  await withServer(async (running) => {
    expect(running.service.processor).toBeDefined();
    expect(running.service.store.cells.map(({ name }) => name)).toEqual(['home', 'east']);
    // What the drill wrote is an event of this installation now.
    await expect.poll(() => receiver.arrivals.length).toBe(2);
    expect((await running.service.directory.tenant('beta'))?.id).toBeGreaterThan(10_000_000);
    const acts = await running.service.store.system((transaction) =>
      transaction.all(sql`select details from operator_log where operation = 'adopt'`),
    );
    expect(acts).toEqual([{ details: { kept: ['beta=east'] } }]);
  });
});
