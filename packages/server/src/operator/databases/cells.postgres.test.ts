/** A process serves the tenants of several databases, of which one is the directory. */
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { atEnd } from '../../../test/at-end.ts';
import { testDatabase } from '../../../test/database.ts';
import { freePort } from '../../../test/free-port.ts';
import { overTcp } from '../../../test/postgres-server.ts';
import { openProxy } from '../../../test/severable-proxy.ts';
import { Directory } from '../../admission/directory.ts';
import { serve } from '../../main/main.ts';
import { hashOf } from '../../modules/billing/link/link-token.ts';
import { findLink } from '../../modules/billing/pay/link-page.ts';
import { currentSecret } from '../../modules/events/signatures/webhook-secret.ts';
import { type MasterKeys, Vault } from '../../platform/auth/vault.ts';
import { Cells } from '../../platform/store/databases/cells.ts';
import { DatabaseUnavailable } from '../../platform/store/errors.ts';
import { createApiKey } from '../api-keys.ts';
import { exportTenant } from '../copies/export-tenant.ts';
import { importTenant } from '../copies/import-tenant.ts';
import { listJobs, retryJob } from '../jobs.ts';
import { migrateDatabase } from '../migrate.ts';
import { reencryptAll } from '../reencrypt.ts';
import { setTenantSetting, showTenantSettings } from '../tenant-settings.ts';
import { createTenant, listTenants, setTenantOpen } from '../tenants.ts';
import { addCell, listCells, openAllCells, removeCell, setCellAddress } from './cells.ts';

const folder = await mkdtemp(join(tmpdir(), 'financial-automation-cells-'));
atEnd(() => rm(folder, { recursive: true, force: true }));
const { databaseUrl: homeUrl = '' } = await testDatabase();
const { databaseUrl: eastUrl = '' } = await testDatabase('empty');
const east = overTcp(eastUrl);
const proxy = await openProxy(east.hostname, Number(east.port || 5432));
atEnd(() => proxy.sever());
east.host = `127.0.0.1:${proxy.port}`;

async function started() {
  const running = await serve({
    DATABASE_URL: homeUrl,
    MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
    DATA_DIR: join(folder, 'data'),
    PORT: String(await freePort()),
    LOG_LEVEL: 'silent',
    PAYMENT_PROCESSOR: 'sandbox',
  });
  atEnd(() => running.stop());
  return running;
}

const running = await started();
const { service, address } = running;
const operator = { service };
const cells = service.store;
const place = { currency: 'USD', timeZone: 'America/New_York', country: 'US' };

async function look(store = cells): Promise<void> {
  if (!(store instanceof Cells)) throw new Error('There is no directory.');
  await store.look();
}

async function callerOf(tenant: string, at = address) {
  const user = { tenant, user: 'crm', roles: ['API_ADMIN'], days: 1, description: undefined };
  const { key } = await createApiKey(operator, user);
  const headers = { 'Content-Type': 'application/json', Tenant: tenant };
  const send = (path: string, body: object, more: object = {}) =>
    fetch(at + path, { method: 'POST', headers: { ...headers, ...more }, body: JSON.stringify(body) });
  const { access_token: token } = Object(await (await send('/v1/auth/token', { apiKey: key })).json());
  return async (path: string, body: object = {}) => {
    const response = await send(path, body, { Authorization: `Bearer ${token}` });
    return {
      status: response.status,
      retryAfter: response.headers.get('Retry-After'),
      body: Object(await response.json()),
    };
  };
}

const readiness = async (at = address) => {
  const response = await fetch(`${at}/readyz`);
  return { status: response.status, body: Object(await response.json()) };
};
const record = (name: string) => ({ records: [{ type: 'Client', systemRef: name, attributes: { name } }] });
const idOf = async (name: string) => (await service.directory.tenant(name))?.id ?? 0;

test('cell add › prepares an empty database, which the serving process then opens', async () => {
  expect(await addCell(operator, { name: 'east', url: east.href })).toEqual({ number: 1 });
  await look();
  expect(await listCells(operator)).toEqual([
    { number: 0, name: 'home', state: 'available', tenants: 0 },
    { number: 1, name: 'east', state: 'available', tenants: 0 },
  ]);
  await expect(addCell(operator, { name: 'Bad name', url: east.href })).rejects.toThrow(/^The name of a database/);
  await expect(addCell(operator, { name: 'west', url: 'http://x' })).rejects.toThrow(/^Set CELL_DATABASE_URL/);
});

test('operator migrate › upgrades all databases of the directory', async () => {
  const lines: string[] = [];
  await migrateDatabase(service.config, true, (line) => lines.push(line));
  expect(lines).toEqual(['The database is up to date.', 'Database east:', 'The database is up to date.']);
});

test('tenants of both databases are served, and their names are used once', async () => {
  await createTenant(operator, { name: 'alpha', displayName: 'Alpha', ...place });
  await createTenant(operator, { name: 'beta', displayName: 'Beta', cell: 'east', ...place });
  expect([(await idOf('alpha')) < 10_000_000, Math.floor((await idOf('beta')) / 10_000_000)]).toEqual([true, 1]);
  for (const [name, cell] of [
    ['beta', undefined],
    ['beta', 'east'],
    ['alpha', 'east'],
    ['alpha', undefined],
  ] as const)
    await expect(createTenant(operator, { name, displayName: name, cell, ...place })).rejects.toThrow(
      `The tenant ${name} already exists.`,
    );
  await expect(createTenant(operator, { name: 'other', displayName: 'Other', cell: 'west', ...place })).rejects.toThrow(
    'The directory has no database west. "operator cell list" shows them.',
  );
  // One that was interrupted after its name was placed can be repeated.
  await cells.system((transaction) => transaction.all(sql`insert into tenant_place (name, cell) values ('gamma', 1)`));
  await createTenant(operator, { name: 'gamma', displayName: 'Gamma', cell: 'east', ...place });
  await expect(addCell(operator, { name: 'west', url: east.href })).rejects.toThrow(
    'The directory has this database already: it is east.',
  );
  const missing = new URL(eastUrl);
  missing.pathname = '/none';
  await expect(addCell(operator, { name: 'west', url: missing.href })).rejects.toThrow(
    /^The database that CELL_DATABASE_URL names does not exist/,
  );
  await expect(setCellAddress(operator, { name: 'east', url: homeUrl })).rejects.toThrow(
    'The database at this address is not east.',
  );

  for (const name of ['alpha', 'beta']) {
    const call = await callerOf(name);
    expect(await call('/api/v1/records', record(`client of ${name}`))).toMatchObject({ status: 200 });
    const { body } = await call('/gql/v1/clients/search');
    expect(body.data).toMatchObject([{ name: `client of ${name}` }]);
  }
  // The background gives positions to the events of each database.
  const beta = await idOf('beta');
  const waiting = () =>
    cells.read(beta, (session) =>
      session.first<{ waiting: number; positioned: number }>(sql`
        select (select count(*) from event_waiting where tenant_id = ${beta}) as waiting,
          (select count(*) from event_position where tenant_id = ${beta}) as positioned`),
    );
  await expect.poll(waiting).toMatchObject({ waiting: 0, positioned: expect.any(Number) });
  expect((await waiting())?.positioned).toBeGreaterThan(0);
});

test('a wrong master key is reported before another database is opened', async () => {
  const wrong = openAllCells(service.config, service.store, new Vault([randomBytes(32)]), { info() {}, warn() {} });
  await expect(wrong).rejects.toThrow(/^MASTER_KEY is not the key with which this database was set up\./);
});

test('master-key reencrypt › reaches the tenants of all databases, and the addresses of these', async () => {
  const [former, next] = [Buffer.alloc(32, 7), Buffer.alloc(32, 8)];
  const secretOf = async (name: string, key: Buffer) => currentSecret(cells, new Vault([key]), await idOf(name));
  const secrets = [await secretOf('alpha', former), await secretOf('beta', former)];
  const reencrypt = (...keys: MasterKeys) => reencryptAll({ service: { ...service, vault: new Vault(keys) } });
  // The signing key, the address of the other database, and the two secrets.
  expect(await reencrypt(next, former)).toEqual({ values: 4, reencrypted: 4 });
  expect([await secretOf('alpha', next), await secretOf('beta', next)]).toEqual(secrets);
  const alone = await openAllCells(service.config, service.store, new Vault([next]), { info() {}, warn() {} });
  expect(alone.cells).toMatchObject([{ name: 'home' }, { name: 'east', isReady: true }]);
  await alone.cell(1).close();
  expect(await reencrypt(former, next)).toEqual({ values: 4, reencrypted: 4 });
});

test('commands find the database of their tenant', async () => {
  expect((await listTenants(operator)).found.map(({ name, cell }) => [name, cell])).toEqual([
    ['alpha', 'home'],
    ['beta', 'east'],
    ['gamma', 'east'],
  ]);
  await setTenantSetting(operator, { tenant: 'beta', setting: 'currency', value: 'EUR' });
  expect(await showTenantSettings(operator, 'beta')).toMatchObject({ currency: 'EUR' });
  await setTenantOpen(operator, 'gamma', false);
  expect(await new Directory(cells).tenant('gamma')).toBeUndefined();
  expect(await listJobs(operator)).toMatchObject({ dead: [] });

  // From one database to the other, with another name.
  const file = join(folder, 'beta.ndjson');
  await exportTenant(operator, { tenant: 'beta', to: file, transferKey: null });
  const request = { file, transferKey: null, isClosed: false };
  await importTenant(operator, { ...request, name: 'beta_home', cell: null });
  await importTenant(operator, { ...request, name: 'beta_east', cell: 'east' });
  expect([(await idOf('beta_home')) < 10_000_000, Math.floor((await idOf('beta_east')) / 10_000_000)]).toEqual([
    true,
    1,
  ]);
  for (const name of ['beta', 'alpha', 'beta_home'])
    await expect(importTenant(operator, { ...request, name, cell: 'east' })).rejects.toThrow(/already exists/);
  const { body } = await (await callerOf('beta_home'))('/gql/v1/clients/search');
  expect(body.data).toMatchObject([{ name: 'client of beta' }]);
});

test('a payment link is found in whichever database has it', async () => {
  const token = randomBytes(24).toString('base64url');
  const beta = await idOf('beta');
  await cells.cellOf(beta).system((transaction) =>
    transaction.all(sql`
      insert into payment_link_token values (${hashOf(token)}, ${beta}, '01a20e66-4ba3-736b-a057-716ee5abdbaa')`),
  );
  expect(await findLink(cells, token)).toMatchObject({ tenantName: 'beta' });
  expect(await findLink(cells, 'unknown')).toBeUndefined();
});

test('a database that is down takes only its tenants with it', async () => {
  const [alpha, beta] = [await callerOf('alpha'), await callerOf('beta')];
  await proxy.sever();
  await look();
  expect(await readiness()).toEqual({ status: 200, body: { status: 'ready', cells: { east: 'unavailable' } } });
  expect(await alpha('/gql/v1/clients/search')).toMatchObject({ status: 200 });
  expect(await beta('/gql/v1/clients/search')).toMatchObject({ status: 503, retryAfter: expect.any(String) });
  expect(await beta('/api/v1/records', record('lost'))).toMatchObject({ status: 503 });
  // What can be listed is listed.
  expect(await listTenants(operator)).toMatchObject({
    found: [{ name: 'alpha' }, { name: 'beta_home' }],
    unavailable: ['east'],
  });
  expect(await listJobs(operator)).toMatchObject({ unavailable: ['east'] });
  await expect(retryJob(operator, 'none')).rejects.toThrow(/cannot be reached: east/);
  // At once, without a connection.
  const ofBeta = await idOf('alpha').then((id) => id + 10_000_000);
  expect(() => cells.cellOf(ofBeta)).toThrow(DatabaseUnavailable);
  await expect(findLink(cells, 'unknown')).rejects.toThrow(DatabaseUnavailable);

  // A process that starts meanwhile serves the others, and opens it when it is back.
  const other = await started();
  expect(await readiness(other.address)).toMatchObject({ body: { cells: { east: 'unavailable' } } });
  const alphaThere = await callerOf('alpha', other.address);
  expect(await alphaThere('/gql/v1/clients/search')).toMatchObject({ status: 200 });

  await proxy.restore();
  await look();
  await look(other.service.store);
  expect(await readiness(other.address)).toMatchObject({ body: { cells: { east: 'ready' } } });
  expect(await beta('/gql/v1/clients/search')).toMatchObject({ status: 200 });
  const betaThere = await callerOf('beta', other.address);
  expect((await betaThere('/gql/v1/clients/search')).body.data).toMatchObject([{ name: 'client of beta' }]);
});

test('cell remove › takes back a database without tenants, whose number is not used again', async () => {
  // As in the process of another command.
  const inCommand = async <Result>(work: (command: typeof operator) => Promise<Result>) => {
    const store = await openAllCells(service.config, cells.cell(0), service.vault, { info() {}, warn() {} });
    return work({ service: { ...service, store } }).finally(() => store.close());
  };
  const { databaseUrl: url = '' } = await testDatabase();
  const west = { name: 'west', url };
  expect(await inCommand((command) => addCell(command, west))).toEqual({ number: 2 });
  await look();
  await inCommand((command) => removeCell(command, west));
  await inCommand(async (command) =>
    expect((await listCells(command)).map(({ name }) => name)).toEqual(['home', 'east']),
  );
  // A process that still has it open creates no tenant there.
  await expect(createTenant(operator, { name: 'delta', displayName: 'Delta', cell: 'west', ...place })).rejects.toThrow(
    'The directory has no database west.',
  );
  expect(await inCommand((command) => addCell(command, west))).toEqual({ number: 3 });
  await inCommand((command) => removeCell(command, west));
  await expect(removeCell(operator, west)).rejects.toThrow('The directory has no database west.');

  const removeEast = () => inCommand((command) => removeCell(command, { name: 'east' }));
  await expect(removeEast()).rejects.toThrow(/^The database east has the tenant beta, or a copy of it\./);
  // A tenant that the directory does not place there, as the old copy of one that has moved.
  const places = () =>
    cells.system((transaction) => transaction.all<{ name: string }>(sql`select * from tenant_place`));
  const before = await places();
  await cells.system((transaction) =>
    transaction.all(sql`update tenant_place set cell = 0, moves_to = 1 where cell = 1`),
  );
  await expect(removeEast()).rejects.toThrow(/^The database east has the tenant beta/);
  await cells.system((transaction) => transaction.all(sql`update tenant_place set moves_to = null`));
  await expect(removeEast()).rejects.toThrow(/^The database east has the tenant beta/);
  const ofEast = before.flatMap((row) => (Object(row).cell === 1 ? [row.name] : []));
  await cells.system((transaction) =>
    transaction.all(sql`update tenant_place set cell = 1 where name in (${sql.join(ofEast)})`),
  );
});
