import { ensureApiUser } from '../../../server/src/operator/api-keys.ts';
import { createTenant, type Operator } from '../../../server/src/operator/tenants.ts';
import { type Filling, loadProfiles } from './load-profile.ts';
import { besides, type ProfileName } from './profile.ts';

interface DemoTenantOptions {
  readonly operator: Operator;
  readonly databaseUrl: string | undefined;
  readonly profile: ProfileName;
  /** Name of the first tenant; the others append a suffix. */
  readonly name: string;
  readonly log: (line: string) => void;
}

/**
 * Creates the tenants of a profile and fills them. An empty one from an interrupted run is filled.
 *
 * @throws Error with a sentence if a tenant already has demo data.
 */
export async function createDemoTenants({
  operator,
  databaseUrl,
  profile,
  name,
  log,
}: DemoTenantOptions): Promise<void> {
  const tenants = [
    [name, profile] as const,
    ...Object.entries(besides[profile]).map(([ending, other]) => [`${name}_${ending}`, other] as const),
  ];
  const { store, storage, directory } = operator.service;
  const fillings: Filling[] = [];
  for (const [tenantName, size] of tenants) {
    const place = { currency: 'USD', timeZone: 'America/Denver', country: 'US' };
    const tenant =
      (await directory.tenant(tenantName)) ??
      (await createTenant(operator, { name: tenantName, displayName: `Demo firm ${tenantName}`, ...place }));
    log(`${tenantName}: ${size}`);
    if (size === 'empty') continue;
    const user = { user: 'demo-data', roles: [] };
    const apiUserId = await store.write(tenant.id, (transaction) => ensureApiUser(transaction, tenant, user));
    fillings.push({ tenantId: tenant.id, profile: size, apiUserId });
  }
  const start = performance.now();
  await loadProfiles({ store, databaseUrl, storage }, fillings, (step, count, seconds) =>
    log(`  ${step}: ${count} in ${seconds.toFixed(1)} s`),
  );
  log(`done in ${((performance.now() - start) / 1000).toFixed(1)} s`);
}
