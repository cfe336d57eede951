import { sql } from 'kysely';
import type { Tenant } from '../context.ts';
import { schemaOf } from '../contract/contract.ts';
import { UnitOfWork } from '../entity/unit-of-work.ts';
import { create } from '../entity/write.ts';
import { org } from '../resources/clients/reference-data.ts';
import type { Service } from '../service.ts';
import { UniqueViolation } from '../store/errors.ts';

export interface NewTenant {
  /** The name that calls carry in the `Tenant` header. */
  readonly name: string;
  readonly displayName: string;
  /** ISO 4217. */
  readonly currency: string;
  /** IANA. */
  readonly timeZone: string;
  /** ISO 3166 alpha-2, of the firm's first legal entity. */
  readonly country: string;
}

/**
 * Makes a tenant and the firm's first legal entity, which every client is billed by.
 *
 * @throws Error with a sentence where the name is taken or has another form.
 */
export async function createTenant({ service }: Operator, wanted: NewTenant): Promise<Tenant> {
  if (!new RegExp(schemaOf('TenantName').pattern ?? '').test(wanted.name)) {
    throw new Error('The name of a tenant has 2 to 63 of a-z, 0-9 and _, and starts with a letter.');
  }
  if (!Intl.supportedValuesOf('timeZone').includes(wanted.timeZone) && wanted.timeZone !== 'UTC') {
    throw new Error(`"${wanted.timeZone}" is not an IANA time zone, such as America/New_York.`);
  }
  const tenant = await insertTenant(service, wanted);
  await asOperator(service, tenant, 'tenant create', (unit) =>
    create(unit, org, {
      name: wanted.displayName,
      legalName: wanted.displayName,
      code: 'MAIN',
      currency: wanted.currency,
      country: wanted.country,
      timeZone: wanted.timeZone,
      fiscalYearStartMonth: 1,
    }),
  );
  return tenant;
}

/** What an operator's command works on. */
export interface Operator {
  readonly service: Pick<Service, 'store' | 'vault' | 'tokens' | 'keys' | 'directory'>;
}

async function insertTenant({ store }: Operator['service'], wanted: NewTenant): Promise<Tenant> {
  try {
    const tenant = await store.system((transaction) =>
      transaction.first<Tenant>(sql`
        insert into tenant (name, display_name, currency, time_zone)
        values (${wanted.name}, ${wanted.displayName}, ${wanted.currency}, ${wanted.timeZone})
        returning id, name, currency, time_zone as "timeZone", settings`),
    );
    if (tenant === undefined) throw new Error('The tenant was not made.');
    return tenant;
  } catch (error) {
    if (error instanceof UniqueViolation) throw new Error(`There is a tenant ${wanted.name} already.`);
    throw error;
  }
}

/** The tenant with the name. @throws Error with a sentence where there is none. */
export async function tenantNamed({ service }: Operator, name: string): Promise<Tenant> {
  const tenant = await service.directory.tenant(name);
  if (tenant === undefined) throw new Error(`There is no tenant ${name}. Make one with: tenant create ${name}`);
  return tenant;
}

/** One transaction of the operator's for a tenant, audited as such. */
export function asOperator<T>(
  { store, vault }: Operator['service'],
  tenant: Tenant,
  operation: string,
  work: (unit: UnitOfWork) => Promise<T>,
): Promise<T> {
  return store.write(tenant.id, async (transaction) => {
    const unit = new UnitOfWork(transaction, { tenant, caller: undefined, operation, requestId: 'operator', vault });
    const result = await work(unit);
    await unit.announce();
    return result;
  });
}
