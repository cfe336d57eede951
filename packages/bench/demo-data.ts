/** The demo data of a profile, on which reads are measured. */
import { createProfileTenant } from '@financial-automation/demo-data/profiles/load-profile';
import { isProfile } from '@financial-automation/demo-data/profiles/profile';
import { onDatabase, readConfig, type Service, tenantNamed, unlimited } from '@financial-automation/server/service';
import { createDatabase, openService, settings, temporaryFolder } from './service.ts';

interface Chosen {
  /** The URL of a database that has the data; without it, one is created and filled, which takes minutes. */
  readonly database?: string | undefined;
  readonly profile: string;
}

type DemoData = AsyncDisposable & Pick<Service, 'store' | 'vault'> & { readonly tenantId: number };

/** Opens the demo data of a profile. */
export async function openDemoData({ database, profile }: Chosen): Promise<DemoData> {
  const name = `demo_${profile}`;
  const own = database === undefined ? await createDatabase(name) : undefined;
  const databaseUrl = database ?? own?.url ?? '';
  if (own !== undefined) await fill(databaseUrl, profile, name);
  const service = await openService({ databaseUrl, limits: { firstConnect: 60_000 } });
  const { store, vault } = service;
  const { id: tenantId } = await tenantNamed({ service }, name);
  return {
    store,
    vault,
    tenantId,
    async [Symbol.asyncDispose]() {
      await store.close();
      await own?.[Symbol.asyncDispose]();
    },
  };
}

async function fill(url: string, profile: string, name: string): Promise<void> {
  if (!isProfile(profile)) throw new Error(`The profile ${profile} does not exist.`);
  await using folder = await temporaryFolder();
  const config = readConfig({ ...settings, DATABASE_URL: url, MIGRATE_AT_START: 'on', DATA_DIR: folder.path });
  await onDatabase(config, (operator) => createProfileTenant({ operator, profile, name, log: console.log }), unlimited);
}
