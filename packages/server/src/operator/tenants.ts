import '../app/handlers.ts';
import { sql } from 'kysely';
import { parseSetting, readTenantSettings } from '../admission/tenant-settings.ts';
import { jobsDue } from '../background/job-table.ts';
import { schemaOf } from '../contract/contract.ts';
import { propertiesOf } from '../contract/fields.ts';
import type { Origin } from '../entity/plan.ts';
import { transact, transactAfter } from '../entity/transact.ts';
import type { UnitOfWork } from '../entity/unit-of-work.ts';
import { org } from '../modules/reference/index.ts';
import type { Tenant } from '../platform/auth/caller.ts';
import { DatabaseUnavailable, UniqueViolation } from '../platform/store/errors.ts';
import { recordOperatorAct } from '../platform/store/operator-log.ts';
import type { Transaction } from '../platform/store/session.ts';
import type { Cell, Store } from '../platform/store/store.ts';
import { partitionsDue } from '../platform/store/trace.ts';
import { inCell, nameOfDatabase, storeOfTenant } from './databases/index.ts';
import { checkTenantName, closedTenant, noTenant, type Operator, type OperatorOf } from './operator.ts';

export interface NewTenant {
  /** The name in the `Tenant` header of requests. */
  readonly name: string;
  readonly displayName: string;
  /** ISO 4217. */
  readonly currency: string;
  /** IANA time zone. */
  readonly timeZone: string;
  /** ISO 3166 alpha-2, of the firm's first legal entity. */
  readonly country: string;
  /** Whether it has a clock of its own. It cannot be changed later. */
  readonly sandbox?: boolean | undefined;
  /** The database of the directory that gets it; the one with the directory by default. */
  readonly cell?: string | undefined;
  /** The ID of the legal entity if it is predefined, as in demo data. */
  readonly orgId?: string | undefined;
}

/**
 * Creates a tenant and the firm's first legal entity, which bills all clients.
 *
 * @throws Error with a sentence if the name is invalid or already used.
 */
export async function createTenant({ service }: Operator, input: NewTenant): Promise<Tenant> {
  checkTenantName(input.name);
  const { maxLength = 0 } = propertiesOf(schemaOf('Org')).name ?? {};
  if (input.displayName.trim() === '' || input.displayName.length > maxLength)
    throw new Error(`The name of a firm has 1 to ${maxLength} characters.`);
  parseSetting('timeZone', input.timeZone);
  parseSetting('currency', input.currency);
  if (!new RegExp(schemaOf('Country').pattern ?? '').test(input.country)) {
    throw new Error(`"${input.country}" is not a valid country, which is an ISO 3166-1 alpha-2 code, such as US.`);
  }
  try {
    const insert = (store: Store) =>
      transactAfter(
        store,
        async (transaction) => {
          const origin = byOperator(service, await insertTenant(transaction, input), 'tenant create');
          return { origin, found: origin };
        },
        async (unit, origin) => {
          await unit.plan((plan) =>
            plan.create(
              org,
              {
                name: input.displayName,
                legalName: input.displayName,
                code: 'MAIN',
                currency: input.currency,
                country: input.country,
                timeZone: input.timeZone,
                fiscalYearStartMonth: 1,
              },
              { id: input.orgId },
            ),
          );
          return origin;
        },
      );
    const { tenant } = await inCell({ service }, input.name, input.cell ?? null, insert);
    return tenant;
  } catch (error) {
    if (error instanceof UniqueViolation) throw new Error(`The tenant ${input.name} already exists.`);
    throw error;
  }
}

async function insertTenant(transaction: Transaction, input: NewTenant): Promise<Tenant> {
  const inserted = await transaction.first(sql<Omit<Tenant, 'settings'> & { settings: unknown }>`
    insert into tenant (name, display_name, currency, time_zone, is_sandbox)
    values (${input.name}, ${input.displayName}, ${input.currency}, ${input.timeZone}, ${input.sandbox === true})
    returning id, name, currency, time_zone as "timeZone", settings, is_sandbox as "isSandbox"`);
  if (inserted === undefined) throw new Error('The tenant was not created.');
  await recordOperatorAct(transaction, { operation: 'tenant create', subject: input.name, details: input });
  return { ...inserted, settings: readTenantSettings(inserted.settings) };
}

export interface TenantSummary {
  readonly name: string;
  readonly displayName: string;
  readonly currency: string;
  readonly timeZone: string;
  /** Whether the tenant is open: closed tenants are not served. */
  readonly active: boolean;
  /** The database that has it; absent where there is only one. */
  readonly cell?: string;
  /** `moving to …`, and for what is not the tenant itself: `arriving copy` and `old copy`. Absent for most. */
  readonly move?: string;
}

/** What all databases of the directory have, as far as they are available. */
export interface InAllCells<Found> {
  readonly found: readonly Found[];
  /** The names of databases that cannot be reached. */
  readonly unavailable: readonly string[];
}

/** Reads from all databases of the directory. Those that cannot be reached are named. */
export async function fromAllCells<Found>(
  store: Store,
  read: (one: Store, cell: Cell) => Promise<Found>,
): Promise<InAllCells<Found>> {
  const results = await Promise.all(
    store.cells.map(async (cell) => {
      try {
        return { found: await read(store.cell(cell.number), cell) };
      } catch (error) {
        if (cell.number === 0 || !(error instanceof DatabaseUnavailable)) throw error;
        return { unavailable: cell.name };
      }
    }),
  );
  return {
    found: results.flatMap((one) => ('found' in one ? [one.found] : [])),
    unavailable: results.flatMap((one) => ('unavailable' in one ? [one.unavailable] : [])),
  };
}

/** All tenants, by name, of the databases that are available. */
export async function listTenants({ service: { store } }: OperatorOf<'store'>): Promise<InAllCells<TenantSummary>> {
  const hasOthers = store.cells.length > 1;
  const { found, unavailable } = await fromAllCells(store, async (one, { name: cell }) => {
    const rows = await one.owner.all(sql<Omit<TenantSummary, 'move'> & { phase: string | null; other: number | null }>`
      select name, display_name as "displayName", currency, time_zone as "timeZone", active, phase, move.cell as other
      from tenant left join tenant_move move on move.tenant = tenant.id`);
    return rows.map(({ phase, other, ...tenant }) => {
      const move = phase === null ? undefined : moveTexts[phase]?.(nameOfDatabase(store, other ?? 0));
      return { ...tenant, ...(hasOthers ? { cell } : {}), ...(move === undefined ? {} : { move }) };
    });
  });
  return { found: found.flat().toSorted((one, other) => (one.name < other.name ? -1 : 1)), unavailable };
}

const moveTexts: Readonly<Record<string, (cell: string) => string>> = {
  LEAVING: (cell) => `moving to ${cell}`,
  STOPPED: (cell) => `moving to ${cell}`,
  ARRIVING: (cell) => `arriving copy; the tenant is in ${cell}`,
  LEFT: (cell) => `old copy; the tenant moved to ${cell}`,
};

/**
 * Opens or closes a tenant. A closed one is not served, its jobs and events wait, and nothing falls due for it. Processes notice within
 * seconds.
 *
 * @throws Error with a sentence if it does not exist.
 */
export async function setTenantOpen({ service }: Operator, name: string, isOpen: boolean): Promise<void> {
  const store = await storeOfTenant({ service }, name);
  await store.system(async (transaction) => {
    const changed = await transaction.first(sql`
      update tenant set active = ${isOpen}, delete_after = null,
        closed_at = case when ${isOpen} then null else coalesce(closed_at, now()) end
      where name = ${name} returning id`);
    if (changed === undefined) throw new Error(noTenant(name));
    await recordOperatorAct(transaction, { operation: isOpen ? 'tenant open' : 'tenant close', subject: name });
  });
  for (const channel of [jobsDue, partitionsDue]) store.notify(channel, '');
}

/** Returns the tenant with the name. @throws Error with a sentence if it does not exist or is closed. */
export async function tenantNamed({ service }: OperatorOf<'directory'>, name: string): Promise<Tenant> {
  const tenant = await service.directory.tenant(name);
  if (tenant !== undefined) return tenant;
  await storeOfTenant({ service }, name);
  throw new Error(closedTenant(name));
}

/** Runs one transaction of the operator for a tenant, audited as the operator. */
export function asOperator<T>(
  service: Operator['service'],
  tenant: Tenant,
  operation: string,
  work: (unit: UnitOfWork) => Promise<T>,
): Promise<T> {
  return transact(service.store, byOperator(service, tenant, operation), work);
}

/** What changes of an operator are recorded with. */
export function byOperator({ vault }: Pick<Operator['service'], 'vault'>, tenant: Tenant, operation: string): Origin {
  return { tenant, caller: undefined, operation, requestId: 'operator', vault };
}
