import { randomUUID } from 'node:crypto';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import pg from 'pg';
import { inject } from 'vitest';
import type { Engine } from '../src/platform/store/engine.ts';
import { openPglite } from '../src/platform/store/pglite.ts';
import { openPostgres } from '../src/platform/store/postgres.ts';
import { openStore, type Store, type StoreOptions } from '../src/platform/store/store.ts';
import { atEnd } from './at-end.ts';
import { patientLimits } from './patient-limits.ts';
import { databaseUrl, dropDatabase } from './postgres-server.ts';
import './provided.ts';

/** The engine of this test run. */
export const engineName = inject('databases').engine;

/**
 * Opens a store on a separate database for this file, or on the one in the options, with two tenants and no other rows.
 * Call it at the top level of the test file; it is closed after the file's last test.
 */
export async function testStore(
  options: StoreOptions = {},
): Promise<{ store: Store; tenantId: number; otherTenantId: number }> {
  const limits = { ...patientLimits, ...options.limits };
  const isProvided = options.databaseUrl !== undefined || options.dataDir !== undefined;
  const database = isProvided ? {} : await testDatabase();
  const store = await openStore({ ...database, ...options, limits });
  atEnd(() => store.close());
  return { store, tenantId: await addTenant(store, 'alpha'), otherTenantId: await addTenant(store, 'beta') };
}

/** Creates a tenant with default settings. @returns its ID */
export async function addTenant(store: Store, name: string): Promise<number> {
  const tenant = await store.system((transaction) =>
    transaction.first<{ id: number }>(sql`
      insert into tenant (name, display_name, time_zone) values (${name}, ${name}, 'America/New_York') returning id`),
  );
  if (tenant === undefined) throw new Error('The tenant was not created.');
  return tenant.id;
}

/** Creates a separate database for this file: migrated, or as the engine creates it. It is dropped after the file. */
export async function testDatabase(state: 'migrated' | 'empty' = 'migrated'): Promise<StoreOptions> {
  const databases = inject('databases');
  if (databases.engine === 'pglite') {
    const dataDir = await mkdtemp(join(tmpdir(), 'financial-automation-test-'));
    atEnd(() => rm(dataDir, { recursive: true, force: true }));
    await cp(databases[state], dataDir, { recursive: true });
    return { dataDir };
  }
  return copyOf(databases[state]);
}

/** The connection by which this worker creates and drops databases, for all of its files. */
let connection: Promise<pg.Client> | undefined;

async function runOnServer(serverUrl: string, statement: string): Promise<void> {
  connection ??= connectTo(serverUrl);
  await (await connection).query(statement);
}

async function connectTo(serverUrl: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: serverUrl });
  // The next statement connects again.
  client.on('error', () => {
    connection = undefined;
  });
  await client.connect();
  return client;
}

/** Copies a database of PostgreSQL without connections for this file. It is dropped after the file. */
export async function copyOf(template: string): Promise<StoreOptions> {
  const databases = inject('databases');
  if (databases.engine !== 'postgres') throw new Error('This project of tests does not have PostgreSQL.');
  const { serverUrl, migrated } = databases;
  // The setup of the run drops those with this beginning that are left.
  const name = `${migrated}_${randomUUID().replaceAll('-', '')}`;
  atEnd(() => dropDatabase(serverUrl, name, runOnServer));
  // Copying files takes half of the processor time of copying pages through the log.
  await runOnServer(serverUrl, `create database ${name} template ${template} strategy file_copy`);
  return { databaseUrl: databaseUrl(serverUrl, name) };
}

/** Creates the data directory of a process with a migrated PGlite. The caller removes it. */
export async function createDataDir(): Promise<string> {
  const databases = inject('databases');
  if (databases.engine !== 'pglite') throw new Error('This project of tests does not have PGlite.');
  const dataDir = await mkdtemp(join(tmpdir(), 'financial-automation-data-'));
  await cp(databases.migrated, join(dataDir, 'database'), { recursive: true });
  return dataDir;
}

/** Opens the engine of a store, for tests that require a connection of the owner. It is closed after the file. */
export async function testEngine(options: StoreOptions): Promise<Engine> {
  const log = { info() {}, warn() {} };
  const engine =
    options.databaseUrl === undefined
      ? await openPglite(options.dataDir ?? '', patientLimits, log)
      : await openPostgres({ databaseUrl: options.databaseUrl, poolSize: 5, pooler: undefined }, patientLimits, log);
  atEnd(() => engine.close());
  return engine;
}
