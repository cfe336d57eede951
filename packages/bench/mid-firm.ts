import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createDemoTenants } from '../demo-data/src/profiles/make-demo-tenants.ts';
import { isProfile } from '../demo-data/src/profiles/profile.ts';
import { onDatabase } from '../server/src/operator/run-commands.ts';
import { tenantNamed } from '../server/src/operator/tenants.ts';
import { Directory } from '../server/src/platform/auth/directory.ts';
import { Vault } from '../server/src/platform/auth/vault.ts';
import { openStore, type Store } from '../server/src/platform/store/store.ts';
import type { PageScope } from '../server/src/query/page.ts';
import { readConfig } from '../server/src/service/config.ts';
import { databaseUrl, dropDatabase, runOn } from '../server/test/postgres-server.ts';
import { findServer } from '../server/test/postgres-setup.ts';

/** A tenant with the demo data of a large firm. */
export interface MidFirm {
  readonly store: Store;
  readonly scope: Omit<PageScope, 'name'>;
  close(): Promise<void>;
}

/**
 * Opens the firm of a profile on PostgreSQL: in the database that `pnpm demo-data` has filled, or in one that is filled for this
 * run, which takes minutes.
 */
export async function openMidFirm(database: string | undefined, profile: string): Promise<MidFirm> {
  if (!isProfile(profile)) throw new Error(`The profile ${profile} does not exist.`);
  const vault = new Vault(randomBytes(32));
  const opened = database === undefined ? await fillDatabase(profile) : { url: database, drop: async () => {} };
  // Slow reads are measured, too, and must not be stopped.
  const store = await openStore({ databaseUrl: opened.url, limits: { read: 600_000, firstConnect: 60_000 } });
  const tenant = await tenantNamed({ service: { directory: new Directory(store) } }, `demo_${profile}`);
  return {
    store,
    scope: { tenantId: tenant.id, holds: () => true, vault, paging: 'offset', place: 'body' },
    async close() {
      await store.close();
      await opened.drop();
    },
  };
}

async function fillDatabase(profile: Parameters<typeof createDemoTenants>[0]['profile']) {
  const postgres = await findServer();
  const name = `bench_firm_${process.pid}`;
  await runOn(postgres.url, `create database ${name} template template0`);
  const url = databaseUrl(postgres.url, name);
  const dataDir = await mkdtemp(join(tmpdir(), 'financial-automation-bench-'));
  const config = readConfig({
    DATABASE_URL: url,
    MIGRATE_AT_START: 'on',
    DATA_DIR: dataDir,
    MASTER_KEY: randomBytes(32).toString('base64'),
  });
  const options = { databaseUrl: url, profile, name: `demo_${profile}`, log: console.log };
  await onDatabase(config, (operator) => createDemoTenants({ operator, ...options }));
  return {
    url,
    async drop() {
      await dropDatabase(postgres.url, name);
      await postgres.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}
