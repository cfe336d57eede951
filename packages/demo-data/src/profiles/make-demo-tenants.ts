import { createTenant, type Operator } from '@financial-automation/server/service';
import { loadProfile } from './load-profile.ts';
import { companions, type ProfileName } from './profile.ts';

interface DemoTenantOptions {
  readonly operator: Operator;
  readonly profile: ProfileName;
  /** Name of the first tenant; the others append a suffix. */
  readonly name: string;
  /** The day on which the data ends, RFC 3339; by default that of the tenant. */
  readonly today?: string | undefined;
  readonly log: (line: string) => void;
}

/**
 * Creates the tenants of a profile and fills them. One from an interrupted run is continued, and one with the data of the profile is left
 * as it is.
 *
 * @throws Error with a sentence if a tenant has the data of another profile.
 */
export async function createDemoTenants({ operator, profile, name, today, log }: DemoTenantOptions): Promise<void> {
  const tenants = [
    [name, profile] as const,
    ...Object.entries(companions[profile] ?? {}).map(([ending, other]) => [`${name}_${ending}`, other] as const),
  ];
  const { service } = operator;
  const start = performance.now();
  for (const [tenantName, size] of tenants) {
    const place = { currency: 'USD', timeZone: 'America/Denver', country: 'US' };
    const tenant =
      (await service.directory.tenant(tenantName)) ??
      (await createTenant(operator, { name: tenantName, displayName: `Demo firm ${tenantName}`, ...place }));
    log(`${tenantName}: ${size}`);
    if (size === 'empty') continue;
    const found = await loadProfile({ service, tenant }, size, {
      today,
      report: (step, seconds) => log(`  ${step} in ${seconds.toFixed(1)} s`),
    });
    if (found !== undefined)
      log(`${tenantName} has the demo data of ${size} already, of ${found}. Nothing was loaded into it.`);
  }
  log(`done in ${((performance.now() - start) / 1000).toFixed(1)} s`);
}
