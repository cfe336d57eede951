import { ensureApiUser } from '@financial-automation/server/operator/api-keys';
import type { Operator } from '@financial-automation/server/operator/operator';
import { createTenant } from '@financial-automation/server/operator/tenants';
import { type Filling, loadProfiles } from './load-profile.ts';
import { besides, type ProfileName } from './profile.ts';

interface DemoTenantOptions {
  readonly operator: Operator;
  readonly databaseUrl: string | undefined;
  readonly profile: ProfileName;
  /** Name of the first tenant; the others append a suffix. */
  readonly name: string;
  /** The day on which the data ends, RFC 3339; by default that of the tenant. */
  readonly today?: string | undefined;
  readonly log: (line: string) => void;
}

/**
 * Creates the tenants of a profile and fills them. An empty one from an interrupted run is filled, and one with the data of
 * the profile is left as it is.
 *
 * @throws Error with a sentence if a tenant has the data of another profile.
 */
export async function createDemoTenants({
  operator,
  databaseUrl,
  profile,
  name,
  today,
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
    const user = { user: 'demo-data', roles: ['API_ADMIN'] };
    const apiUserId = await store.write(tenant.id, (transaction) => ensureApiUser(transaction, tenant, user));
    fillings.push({ tenantId: tenant.id, profile: size, apiUserId });
  }
  const start = performance.now();
  const found = await loadProfiles({ store, databaseUrl, storage }, fillings, {
    today,
    report: (step, count, seconds) => log(`  ${step}: ${count} in ${seconds.toFixed(1)} s`),
  });
  for (const [tenantName, size] of tenants) {
    const id = (await directory.tenant(tenantName))?.id ?? -1;
    if (!found.has(id)) continue;
    const day = found.get(id) ?? 'an earlier version';
    log(`${tenantName} has the demo data of ${size} already, of ${day}. Nothing was loaded into it.`);
  }
  log(`done in ${((performance.now() - start) / 1000).toFixed(1)} s`);
}
