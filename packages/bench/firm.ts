import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createDemoTenants } from '@financial-automation/demo-data/profiles/make-demo-tenants';
import { isProfile } from '@financial-automation/demo-data/profiles/profile';
import type { Vault } from '@financial-automation/server/bench';
import { onDatabase, readConfig, type Store, tenantNamed, unlimited } from '@financial-automation/server/service';
import { createDatabase, openService, settings } from './service.ts';

/** A tenant whose rows are read by those who hold all roles. */
export interface Firm extends AsyncDisposable {
  readonly store: Store;
  readonly scope: { readonly tenantId: number; readonly vault: Vault; holds(): boolean };
}

/**
 * Opens the firm of a profile on PostgreSQL: in the database that `pnpm demo-data` has filled, or in one that is filled for this
 * run, which takes minutes.
 */
export async function openDemoFirm(database: string | undefined, profile: string): Promise<Firm> {
  if (!isProfile(profile)) throw new Error(`The profile ${profile} does not exist.`);
  const name = `demo_${profile}`;
  if (database !== undefined) return openFirm(database, name);
  const own = await createDatabase('firm');
  const folder = await mkdtemp(join(tmpdir(), 'financial-automation-bench-'));
  const config = readConfig({ ...settings, DATABASE_URL: own.url, MIGRATE_AT_START: 'on', DATA_DIR: folder });
  await onDatabase(config, (operator) => createDemoTenants({ operator, profile, name, log: console.log }), unlimited);
  const firm = await openFirm(own.url, name);
  return {
    ...firm,
    async [Symbol.asyncDispose]() {
      await firm[Symbol.asyncDispose]();
      await own[Symbol.asyncDispose]();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function openFirm(databaseUrl: string, name: string): Promise<Firm> {
  const service = await openService({ databaseUrl, limits: { firstConnect: 60_000 } });
  const { store, vault } = service;
  const { id: tenantId } = await tenantNamed({ service }, name);
  return { store, scope: { tenantId, vault, holds: () => true }, [Symbol.asyncDispose]: () => store.close() };
}
