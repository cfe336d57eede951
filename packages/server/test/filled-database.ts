import { cp } from 'node:fs/promises';
import pg from 'pg';
import { pino } from 'pino';
import { inject, vi } from 'vitest';
import { createService, type Service } from '../src/entity/service.ts';
import { createTenant } from '../src/operator/tenants.ts';
import { openStore, type StoreOptions } from '../src/platform/store/store.ts';
import { copyOf, testDatabase } from './database.ts';
import { patientLimits } from './patient-limits.ts';
import { contentFolder, databaseUrl } from './postgres-server.ts';
import './provided.ts';

/**
 * What a database has: the tenant `firm` with the firm of the examples, or with three years of a firm, twenty times, or the tenant of the
 * demo.
 */
export type Filling = 'examples' | 'sample' | 'demo';

/** With which the secrets of filled databases are encrypted. */
export const masterKey = Buffer.alloc(32, 7);

/**
 * Creates a separate database for this file with a filled tenant. Filling one takes seconds, so the first file of a run does
 * that, and the others copy what it has filled.
 *
 * @param config of the service that uses the database: the content of files is copied to its directory
 */
export async function filledDatabase(filling: Filling, config: Service['config']): Promise<StoreOptions> {
  const databases = inject('databases');
  if (databases.engine === 'pglite') {
    const database = await testDatabase();
    await fill(database, filling, config);
    return database;
  }
  const { serverUrl, migrated } = databases;
  const name = `${migrated}_${filling}`;
  const dataDir = contentFolder(name);
  const client = new pg.Client({ connectionString: serverUrl });
  await client.connect();
  try {
    // Files that run at the same time wait for the one that fills it.
    await client.query('select pg_advisory_lock(hashtext($1))', [name]);
    const { rows } = await client.query('select from pg_database where datname = $1', [name]);
    if (rows.length === 0) {
      const unfinished = `${name}_unfinished`;
      await client.query(`create database ${unfinished} template ${migrated} strategy file_copy`);
      await fill({ databaseUrl: databaseUrl(serverUrl, unfinished) }, filling, { ...config, dataDir });
      await client.query(`alter database ${unfinished} rename to ${name}`);
    }
  } finally {
    await client.end();
  }
  await cp(dataDir, config.dataDir, { recursive: true });
  return copyOf(name);
}

async function fill(database: StoreOptions, filling: Filling, config: Service['config']): Promise<void> {
  const store = await openStore({ ...database, limits: patientLimits });
  try {
    const service = await createService({ ...config, masterKeys: [masterKey] }, store, pino({ level: 'silent' }));
    const place = { currency: 'USD', timeZone: 'America/New_York', country: 'US' };
    // Loaded here, because few tests need it.
    if (filling === 'demo') {
      const { createDemoTenant } = await import('@financial-automation/demo-data/demo');
      await createDemoTenant({ service });
      return await doJobs(service);
    }
    const tenant = await createTenant({ service }, { name: 'firm', displayName: 'firm', ...place });
    if (filling === 'examples') {
      const { seedDemoData } = await import('@financial-automation/demo-data');
      await seedDemoData({ service }, tenant.name);
    } else {
      const { loadProfile } = await import('@financial-automation/demo-data/profiles/load-profile');
      await loadProfile({ service, tenant }, filling);
    }
  } finally {
    await store.close();
  }
}

/** Does what is left to the background, such as writing documents: otherwise the processes on all copies would do it. */
async function doJobs(service: Service): Promise<void> {
  const [{ startBackground }, { backgroundWork }] = await Promise.all([
    import('../src/background/background.ts'),
    import('../src/app/jobs.ts'),
  ]);
  const background = await startBackground(service, { jobs: backgroundWork.jobs, clockTasks: [] });
  const open = `select from background_job where status in ('WAITING', 'RUNNING')`;
  await vi.waitUntil(async () => (await service.store.ownerStatements(open)).rows.length === 0, { timeout: 120_000 });
  await background.stop(0);
}
