/** The commands of the run book restore a backup on which the service continues. */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { seedDemoData } from '@financial-automation/demo-data';
import { afterAll, expect, test } from 'vitest';
import { freePort } from '../../test/free-port.ts';
import { postgresFolder, startInstalledPostgres } from '../../test/installed-postgres.ts';
import { databaseUrl, runOn } from '../../test/postgres-server.ts';
import { createApiKey } from '../operator/api-keys.ts';
import { checkBooks } from '../operator/books.ts';
import { isRestored } from '../operator/databases/index.ts';
import { createTenant } from '../operator/tenants.ts';
import { type Running, serve } from './main.ts';

const binaries = postgresFolder();
const folder = await mkdtemp(join(tmpdir(), 'financial-automation-backup-'));
afterAll(() => rm(folder, { recursive: true }));
const runBook = await readFile(new URL('../../docs/run-book.md', import.meta.url), 'utf8');

test.skipIf(binaries === undefined)('a backup is restored, and the service continues on it', async () => {
  const postgres = await startInstalledPostgres(binaries ?? '');
  try {
    const urlOf = (user: string, database: string) => {
      const url = new URL(databaseUrl(postgres.url, database));
      url.username = user;
      return url.href;
    };
    await runOn(
      postgres.url,
      'create role service login createrole',
      'create role financial_automation_service nologin',
      'grant financial_automation_service to service',
      'create database original owner service',
      ...statementsOf('sql').map((statement) => statement.replace('…', 'backup')),
    );
    const before = await withServer(urlOf('service', 'original'), async (running) => {
      expect(await isRestored(running.service.store)).toBe(false);
      const place = { currency: 'USD', timeZone: 'America/Los_Angeles', country: 'US' };
      await createTenant(running, { name: 'hartwell', displayName: 'Hartwell & Oakes LLP', ...place });
      await seedDemoData(running, 'hartwell');
      const options = { tenant: 'hartwell', user: 'crm', roles: ['API_ADMIN'], days: 1, description: undefined };
      const { key } = await createApiKey(running, options);
      return { key, rows: await rowsOf(running, key) };
    });
    expect(before.rows.clients.length).toBeGreaterThan(0);

    const environment = {
      ...postgres.environment,
      BACKUP_URL: urlOf('backup', 'original'),
      BACKUP_FILE: join(folder, 'backup.dump'),
      ADMIN_URL: postgres.url,
      SERVICE_USER: 'service',
      RESTORED_DATABASE: 'restored',
      RESTORED_URL: urlOf('service', 'restored'),
    };
    // As the run book says, the owner of the tables cannot make one.
    await expect(run('backup', { ...environment, BACKUP_URL: urlOf('service', 'original') })).rejects.toThrow(
      /row-level security policy/,
    );
    await run('backup', environment);
    await run('restore', environment);

    await withServer(urlOf('service', 'restored'), async (running) => {
      // It is a drill until the database is adopted.
      expect(await isRestored(running.service.store)).toBe(true);
      // The API key is valid, so the signing keys were restored and can be decrypted.
      expect(await rowsOf(running, before.key)).toEqual(before.rows);
      expect(await checkBooks(running, { tenant: 'hartwell', repair: false })).toMatchObject({
        differences: [],
        breaches: [],
      });
      const records = [{ type: 'Client', systemRef: 'after', attributes: { name: 'Harbor Logistics' } }];
      expect(await call(running, before.key, '/api/v1/records', { records })).toMatchObject({
        summary: { created: 1 },
      });
      expect((await rowsOf(running, before.key)).clients.length).toBe(before.rows.clients.length + 1);
    });
  } finally {
    await postgres.stop();
  }
});

async function withServer<Result>(url: string, work: (running: Running) => Promise<Result>): Promise<Result> {
  const running = await serve({
    DATABASE_URL: url,
    MIGRATE_AT_START: 'on',
    MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
    DATA_DIR: join(folder, 'data'),
    PORT: String(await freePort()),
    LOG_LEVEL: 'silent',
    PAYMENT_PROCESSOR: 'none',
    BACKGROUND: 'off',
  });
  try {
    return await work(running);
  } finally {
    await running.stop();
  }
}

async function rowsOf(running: Running, key: string): Promise<{ clients: unknown[]; ledger: unknown[] }> {
  const all = async (path: string) => Object(await call(running, key, path, { pageSize: 1000 })).data;
  return { clients: await all('/gql/v1/clients/search'), ledger: await all('/gql/v1/ledger_entries/search') };
}

async function call({ address }: Running, apiKey: string, path: string, body: object): Promise<unknown> {
  const headers = { 'Content-Type': 'application/json', Tenant: 'hartwell' };
  const post = async (at: string, content: object, more: object = {}) =>
    (
      await fetch(address + at, { method: 'POST', headers: { ...headers, ...more }, body: JSON.stringify(content) })
    ).json();
  const { access_token: token } = Object(await post('/v1/auth/token', { apiKey }));
  return await post(path, body, { Authorization: `Bearer ${token}` });
}

/** Runs the commands of a block of the run book, and fails with what they print. */
async function run(block: string, environment: NodeJS.ProcessEnv): Promise<void> {
  await promisify(execFile)('sh', ['-e', '-c', blockOf(`sh ${block}`)], { env: environment });
}

function statementsOf(block: string): string[] {
  return blockOf(block)
    .split(';')
    .map((statement) => statement.trim())
    .filter((statement) => statement !== '');
}

function blockOf(name: string): string {
  const [, text] = new RegExp(`^\`\`\`${name}\\n(.*?)^\`\`\``, 'ms').exec(runBook) ?? [];
  if (text === undefined) throw new Error(`The run book has no block "${name}".`);
  return text;
}
