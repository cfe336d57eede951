/** The demo data of a profile, on which reads are measured. */
import { join } from 'node:path';
import { createProfileTenant } from '@financial-automation/demo-data/profiles/load-profile';
import { isProfile } from '@financial-automation/demo-data/profiles/profile';
import type { StoreOptions } from '@financial-automation/server/bench';
import { runOn } from '@financial-automation/server/machine';
import { onDatabase, readConfig, type Service, tenantNamed, unlimited } from '@financial-automation/server/service';
import { createDatabase, openService, settings, temporaryFolder } from './service.ts';

interface Chosen {
  /** The URL of a database that has the data; without it, one is created and filled, which takes minutes. */
  readonly database?: string | undefined;
  readonly profile: string;
  /** `PGlite`, or PostgreSQL by default. */
  readonly engine?: string;
}

interface DemoData extends AsyncDisposable, Pick<Service, 'store'> {
  /** For whom a reader reads: the tenant with the data, and a caller with all roles. */
  readonly scope: Pick<Service, 'vault'> & { readonly tenantId: number; readonly holds: () => boolean };
}

/** Opens the demo data of a profile. */
export async function openDemoData({ database, profile, engine }: Chosen): Promise<DemoData> {
  const name = `demo_${profile}`;
  const resources = new AsyncDisposableStack();
  const folder = resources.use(await temporaryFolder()).path;
  const databaseUrl = database ?? (engine === 'PGlite' ? undefined : resources.use(await createDatabase(name)).url);
  if (database === undefined) await fill({ DATA_DIR: folder, DATABASE_URL: databaseUrl }, profile, name);
  const place: StoreOptions = databaseUrl === undefined ? { dataDir: join(folder, 'database') } : { databaseUrl };
  const service = await openService({ ...place, limits: { firstConnect: 60_000 } });
  resources.defer(() => service.store.close());
  const { id: tenantId } = await tenantNamed({ service }, name);
  return {
    store: service.store,
    scope: { tenantId, vault: service.vault, holds: () => true },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

async function fill(place: NodeJS.ProcessEnv, profile: string, name: string): Promise<void> {
  if (!isProfile(profile)) throw new Error(`The profile ${profile} does not exist.`);
  const config = readConfig({ ...settings, ...place, MIGRATE_AT_START: 'on' });
  await onDatabase(config, (operator) => createProfileTenant({ operator, profile, name, log: console.log }), unlimited);
  if (place.DATABASE_URL !== undefined) await runOn(place.DATABASE_URL, 'vacuum analyze');
}
