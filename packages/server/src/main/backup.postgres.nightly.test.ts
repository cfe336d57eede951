/** The commands of the run book restore a backup on which the service continues, and recover to a point in time. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { seedDemoData } from '@financial-automation/demo-data';
import pg from 'pg';
import { afterAll, expect, test } from 'vitest';
import { freePort } from '../../test/free-port.ts';
import { postgresFolder, startInstalledPostgres } from '../../test/installed-postgres.ts';
import { PostgresProcess } from '../../test/postgres-process.ts';
import { databaseUrl, runOn } from '../../test/postgres-server.ts';
import { readConfig } from '../app/read-config.ts';
import { createApiKey } from '../operator/api-keys.ts';
import { checkBooks } from '../operator/books.ts';
import { addCell, adoptDatabase, isRestored, setCellAddress } from '../operator/databases/index.ts';
import { createTenant } from '../operator/tenants.ts';
import { type Running, serve } from './main.ts';

const binaries = postgresFolder();
const folder = await mkdtemp(join(tmpdir(), 'financial-automation-backup-'));
afterAll(() => rm(folder, { recursive: true }));
const repository = fileURLToPath(new URL('../../../..', import.meta.url));
const runBook = await readFile(new URL('../../docs/run-book.md', import.meta.url), 'utf8');
const running = await readFile(new URL('../../docs/running.md', import.meta.url), 'utf8');
const place = { currency: 'USD', timeZone: 'America/Los_Angeles', country: 'US' };
const urlOf = (server: string, user: string, database: string) => {
  const url = new URL(databaseUrl(server, database));
  url.username = user;
  return url.href;
};

test.skipIf(binaries === undefined)(
  'a backup of two databases and files is restored, and the service continues on it',
  async () => {
    const archive = join(folder, 'archive');
    await mkdir(archive, { mode: 0o777 });
    await chmod(archive, 0o777);
    await chmod(folder, 0o755);
    const postgres = await startInstalledPostgres(binaries ?? '', [
      'archive_mode=on',
      `archive_command=${/: `(cp "%p" .*?)`\./.exec(runBook)?.[1]?.replaceAll('/archive', archive)}`,
    ]);
    const url = (user: string, database: string) => urlOf(postgres.url, user, database);
    const original = { url: url('service', 'original'), dataDir: join(folder, 'data') };
    const restored = { url: url('service', 'restored'), dataDir: join(folder, 'restored-data') };
    const environment = {
      ...postgres.environment,
      BACKUP_URL: url('backup', 'original'),
      BACKUP_URL_EAST: url('backup', 'original_east'),
      BACKUP_FOLDER: join(folder, 'backup'),
      BASE_FOLDER: join(folder, 'base'),
      ARCHIVE_FOLDER: archive,
      TEXTFILE: join(folder, 'backup.prom'),
      ADMIN_URL: postgres.url,
      SERVICE_USER: 'service',
      // Parameters with slashes, as those that name certificates have.
      RESTORED_URL: `${restored.url}${restored.url.includes('?') ? '&' : '?'}application_name=a/b`,
      RESTORED_URL_EAST: url('service', 'restored_east'),
    };
    try {
      await runOn(
        postgres.url,
        // Not every administrator is a superuser.
        'create role administrator login createrole createdb',
        ...statementsOf('sql').map((statement) => statement.replace('…', 'backup')),
      );
      const administrator = url('administrator', 'postgres');
      const created = { ...environment, ADMIN_URL: administrator, SERVICE_DATABASE: 'original' };
      await run('create', created, running);
      await runOn(administrator, 'create database original_east owner service');
      // As a superuser declares it, in one of the databases.
      await runOn(databaseUrl(postgres.url, 'original'), 'alter function pg_catalog.textlike(text, text) leakproof');
      const before = await withServer(original, async (running) => {
        expect(await isRestored(running.service.store)).toBe(false);
        await addCell(running, { name: 'east', url: url('service', 'original_east') });
        if ('look' in running.service.store && typeof running.service.store.look === 'function')
          await running.service.store.look();
        await createTenant(running, { name: 'hartwell', displayName: 'Hartwell & Oakes LLP', ...place });
        await seedDemoData(running, 'hartwell');
        await createTenant(running, { name: 'easterly', displayName: 'Easterly LLP', cell: 'east', ...place });
        return {
          key: await keyOf(running, 'hartwell'),
          east: await keyOf(running, 'easterly'),
          ...(await rowsOf(running)),
        };
      });
      expect([before.clients.length, before.ledger.length]).not.toContain(0);
      await mkdir(original.dataDir, { recursive: true });
      await writeFile(join(original.dataDir, 'content'), 'A letter');

      // As the run book says, the owner of the tables cannot make one.
      await expect(run('backup', { ...environment, BACKUP_URL: original.url })).rejects.toThrow(
        /row-level security policy/,
      );
      const { BACKUP_URL_EAST: _, ...incomplete } = environment;
      await expect(run('backup', incomplete)).rejects.toThrow(
        'Set BACKUP_URL_EAST to the address of the database "east".',
      );
      expect(existsSync(environment.BACKUP_FOLDER)).toBe(false);
      await run('backup', { ...environment, DATA_DIR: original.dataDir });
      await run('restore', { ...environment, DATA_DIR: restored.dataDir });
      expect(await readFile(join(restored.dataDir, 'content'), 'utf8')).toBe('A letter');
      expect(await readFile(environment.TEXTFILE, 'utf8')).toMatch(/^backup_completed_timestamp_seconds \d{10}$/m);
      const leakproof = (database: string) =>
        queryOf(
          databaseUrl(postgres.url, database),
          `select proleakproof from pg_proc where oid = 'textlike(text, text)'::regprocedure`,
        );
      expect([await leakproof('restored'), await leakproof('restored_east')]).toEqual([
        [{ proleakproof: true }],
        [{ proleakproof: false }],
      ]);

      await withServer(restored, async (running) => {
        // It is a drill until the database is adopted.
        expect(await isRestored(running.service.store)).toBe(true);
        expect(await (await fetch(`${running.address}/readyz`)).json()).toEqual({ status: 'ready', drill: true });
        expect(await (await fetch(`${running.address}/metrics`)).text()).toContain('\nservice_drill 1\n');
        // The API key is valid, so the signing keys were restored and can be decrypted.
        expect(await rowsOf(running, before.key)).toMatchObject({ clients: before.clients, ledger: before.ledger });
        expect(await checkBooks(running, { tenant: 'hartwell', repair: false })).toMatchObject({
          differences: [],
          breaches: [],
        });
        const records = [{ type: 'Client', systemRef: 'after', attributes: { name: 'Harbor Logistics' } }];
        expect(await call(running, 'hartwell', before.key, '/api/v1/records', { records })).toMatchObject({
          summary: { created: 1 },
        });
        await expect(setCellAddress(running, { name: 'west', url: restored.url })).rejects.toThrow(
          'has no database west',
        );
        await setCellAddress(running, { name: 'east', url: environment.RESTORED_URL_EAST });
      });
      await adoptDatabase(readConfig(settingsOf(restored)), [], () => {});
      await withServer(restored, async (running) => {
        expect(await call(running, 'easterly', before.east, '/gql/v1/clients/search', {})).toMatchObject({ data: [] });
        expect(await (await fetch(`${running.address}/readyz`)).json()).toEqual({
          status: 'ready',
          cells: { east: 'ready' },
        });
      });

      // To a point in time: what came before it is there, and what came after it is not.
      await run('base', environment);
      const add = (systemRef: string) =>
        withServer(original, (running) =>
          call(running, 'hartwell', before.key, '/api/v1/records', {
            records: [{ type: 'Client', systemRef, attributes: { name: systemRef } }],
          }),
        );
      await add('wanted');
      const [{ now = '' } = {}] = await queryOf<{ now: string }>(postgres.url, 'select clock_timestamp()::text as now');
      await add('unwanted');
      const [{ file = '' } = {}] = await queryOf<{ file: string }>(
        postgres.url,
        'select pg_walfile_name(pg_switch_wal()) as file',
      );
      await expect.poll(() => existsSync(join(archive, file))).toBe(true);
      await postgres.stop();
      await run('recover', { ...environment, RECOVERY_TIME: new Date(now).toISOString() });
      const recovered = await PostgresProcess.onCopy(binaries ?? '', environment.BASE_FOLDER);
      try {
        const found = async () =>
          await queryOf(
            databaseUrl(recovered.url, 'original'),
            `select system_ref from client where system_ref like '%wanted'`,
          );
        // Until it is promoted, nobody can write.
        await expect
          .poll(() => queryOf(recovered.url, 'select pg_is_in_recovery() as recovers'))
          .toEqual([{ recovers: false }]);
        expect(await found()).toEqual([{ system_ref: 'wanted' }]);
      } finally {
        await recovered.remove();
      }
    } finally {
      await postgres.stop();
    }
  },
);

test('backup.sh recover › writes the time as PostgreSQL reads it in its settings', async () => {
  const BASE_FOLDER = await mkdtemp(join(folder, 'copy-'));
  await writeFile(join(BASE_FOLDER, 'PG_VERSION'), '18');
  const environment = { ...process.env, BASE_FOLDER, ARCHIVE_FOLDER: folder, RECOVERY_TIME: '2026-11-30T05:48:43Z' };
  await run('recover', environment);
  const settings = await readFile(join(BASE_FOLDER, 'postgresql.auto.conf'), 'utf8');
  expect(settings).toContain(`recovery_target_time = '2026-11-30T05:48:43+00'`);
});

test('backup.sh › gives no password to a program as an argument, which all users of the machine can read', async () => {
  const programs = await mkdtemp(join(folder, 'programs-'));
  const [seen, BACKUP_FOLDER] = [join(programs, 'seen'), join(programs, 'backup')];
  for (const name of ['psql', 'pg_dump', 'pg_restore', 'pg_basebackup']) {
    await writeFile(join(programs, name), `#!/bin/sh\necho ${name} $* "[$PGPASSWORD]" >>${seen}\n`);
    await chmod(join(programs, name), 0o755);
  }
  const address =
    'postgres://backup:S%40cr%2Fe%25t:%C3%A9$x@db.example:5432/firm?sslmode=verify-full&sslrootcert=/etc/ca.crt';
  const environment = {
    ...{
      ...process.env,
      PATH: `${programs}:${process.env.PATH}`,
      DATA_DIR: '',
      BACKUP_FOLDER,
      SERVICE_USER: 'service',
    },
    ...{
      BACKUP_URL: address,
      RESTORED_URL: address,
      ADMIN_URL: address,
      REPLICATION_URL: address,
      BASE_FOLDER: programs,
    },
  };
  await run('backup', environment);
  await writeFile(join(BACKUP_FOLDER, 'home.dump'), '');
  await writeFile(join(BACKUP_FOLDER, 'home.leakproof.sql'), '');
  await run('restore', environment);
  await run('base', environment);
  const calls = (await readFile(seen, 'utf8')).trim().split('\n');
  expect(new Set(calls.map((call) => call.split(' ')[0]))).toEqual(
    new Set(['psql', 'pg_dump', 'pg_restore', 'pg_basebackup']),
  );
  for (const call of calls)
    expect(call).toMatch(
      / --dbname=postgres:\/\/backup@db\.example:5432\/firm\?sslmode=verify-full&sslrootcert=\/etc\/ca\.crt \[S@cr\/e%t:é\$x\]$/,
    );
});

interface Place {
  readonly url: string;
  readonly dataDir: string;
}

function settingsOf({ url, dataDir }: Place) {
  return {
    DATABASE_URL: url,
    MIGRATE_AT_START: 'on',
    MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
    DATA_DIR: dataDir,
    LOG_LEVEL: 'silent',
    PAYMENT_PROCESSOR: 'none',
    BACKGROUND: 'off',
  };
}

async function withServer<Result>(place: Place, work: (running: Running) => Promise<Result>): Promise<Result> {
  const running = await serve({ ...settingsOf(place), PORT: String(await freePort()) });
  try {
    return await work(running);
  } finally {
    await running.stop();
  }
}

async function keyOf(running: Running, tenant: string): Promise<string> {
  const options = { tenant, user: 'crm', roles: ['API_ADMIN'], days: 1, description: undefined };
  return (await createApiKey(running, options)).key;
}

async function rowsOf(running: Running, key?: string): Promise<{ clients: unknown[]; ledger: unknown[] }> {
  const apiKey = key ?? (await keyOf(running, 'hartwell'));
  const all = async (path: string) => Object(await call(running, 'hartwell', apiKey, path, { pageSize: 1000 })).data;
  return { clients: await all('/gql/v1/clients/search'), ledger: await all('/gql/v1/ledger_entries/search') };
}

async function call(
  { address }: Running,
  tenant: string,
  apiKey: string,
  path: string,
  body: object,
): Promise<unknown> {
  const headers = { 'Content-Type': 'application/json', Tenant: tenant };
  const post = async (at: string, content: object, more: object = {}) =>
    (
      await fetch(address + at, { method: 'POST', headers: { ...headers, ...more }, body: JSON.stringify(content) })
    ).json();
  const { access_token: token } = Object(await post('/v1/auth/token', { apiKey }));
  return await post(path, body, { Authorization: `Bearer ${token}` });
}

/** Runs the commands of a block of the run book, and fails with what they print. */
async function run(block: string, environment: NodeJS.ProcessEnv, page = runBook): Promise<void> {
  await promisify(execFile)('sh', ['-e', '-c', blockOf(`sh ${block}`, page)], { env: environment, cwd: repository });
}

async function queryOf<Row>(url: string, statement: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(statement)).rows;
  } finally {
    await client.end();
  }
}

function statementsOf(block: string): string[] {
  return blockOf(block)
    .split(';')
    .map((statement) => statement.trim())
    .filter((statement) => statement !== '');
}

function blockOf(name: string, page = runBook): string {
  const [, text] = new RegExp(`^\`\`\`${name}\\n(.*?)^\`\`\``, 'ms').exec(page) ?? [];
  if (text === undefined) throw new Error(`The page has no block "${name}".`);
  return text;
}
