import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createDemoTenants } from '@financial-automation/demo-data/profiles/make-demo-tenants';
import { isProfile } from '@financial-automation/demo-data/profiles/profile';
import { Directory } from '@financial-automation/server/admission/directory';
import { readConfig } from '@financial-automation/server/app/read-config';
import { onDatabase } from '@financial-automation/server/operator/run-commands';
import { tenantNamed } from '@financial-automation/server/operator/tenants';
import { Vault } from '@financial-automation/server/platform/auth/vault';
import { openStore, type Store } from '@financial-automation/server/platform/store/store';
import type { PageScope } from '@financial-automation/server/query/page';
import { createDatabase } from './postgres.ts';

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
    scope: { tenantId: tenant.id, holds: () => true, vault, paging: 'offset', location: 'body' },
    async close() {
      await store.close();
      await opened.drop();
    },
  };
}

async function fillDatabase(profile: Parameters<typeof createDemoTenants>[0]['profile']) {
  const database = await createDatabase('firm');
  const { url } = database;
  const dataDir = await mkdtemp(join(tmpdir(), 'financial-automation-bench-'));
  const config = readConfig({
    DATABASE_URL: url,
    MIGRATE_AT_START: 'on',
    DATA_DIR: dataDir,
    MASTER_KEY: randomBytes(32).toString('base64'),
  });
  const options = { profile, name: `demo_${profile}`, log: console.log };
  await onDatabase(config, (operator) => createDemoTenants({ operator, ...options }));
  return {
    url,
    async drop() {
      await database[Symbol.asyncDispose]();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}
