import { sql } from 'kysely';
import type { Logger } from 'pino';
import { retryLevel } from '../../../platform/store/errors.ts';
import type { Store } from '../../../platform/store/store.ts';
import { partitionsDue } from '../../../platform/store/trace.ts';

/**
 * The events of a tenant as one subscription gets them: they are sent in order from its position on. This process has the lease of
 * the partition for some seconds.
 */
export interface Partition {
  readonly tenantId: number;
  readonly tenantName: string;
  readonly subscriptionId: string;
  /** Attempts that failed in a row. */
  readonly failures: number;
  /** The first of them, RFC 3339. */
  readonly failingSince: string | null;
}

/** When there is something to do next, in all processes. */
export interface NextWork {
  /** Milliseconds until the next partition is due, negative where one waits already; undefined where there is none. */
  readonly dueIn: number | undefined;
  /** Whether a process works on a partition, or did so when it died. */
  readonly isLeased: boolean;
}

/** How many partitions of a kind a process can lease at the moment. */
export interface FreeSlots {
  readonly free: number;
  /** By tenant. */
  readonly taken: ReadonlyMap<number, number>;
  /** Tenants that have as many slots as are free, and get no more. */
  readonly fullTenants: readonly number[];
}

/** Duration of a lease, in seconds. Processes renew it several times in that time; after it, others lease the partition. */
const leaseSeconds = 10;
export const renewEvery = 3_000;

/** Sandboxes whose clocks are ahead: partitions are due by the clock of their tenant. */
const ahead = `ahead as (
  select id, clock_offset * interval '1 millisecond' as lead from tenant where is_sandbox and clock_offset > 0)`;

const unleased = 'leased_until is null and due_at is not null';

/** The parameters of a statement that are the slots of a kind. */
interface PlaceParameters {
  readonly free: string;
  readonly taken: string;
  readonly fullTenants: string;
}

/**
 * Selects the partitions of a kind that are due longest, of each tenant as many as leave it as many slots free. More than are leased,
 * because other processes may be leasing some.
 */
const due = (failures: string, { free, taken, fullTenants }: PlaceParameters) => {
  const ofOpenTenant = `and partition.consecutive_failures ${failures} and partition.tenant_id <> all (${fullTenants}::integer[])
    and exists (select from tenant where tenant.id = partition.tenant_id and tenant.active)`;
  const most = `2 * ${free}::integer`;
  return `
  select tenant_id, subscription_id, since, rank
  from (select due.*, row_number() over (partition by tenant_id order by since) as rank from (
  (select tenant_id, subscription_id, due_at as since from delivery_partition partition
   where ${unleased} and due_at <= now() ${ofOpenTenant} order by due_at limit ${most})
  union all
  (select found.tenant_id, found.subscription_id, found.due_at - ahead.lead from ahead cross join lateral (
     select tenant_id, subscription_id, due_at from delivery_partition partition
     where tenant_id = ahead.id and ${unleased} and due_at > now() and due_at <= now() + ahead.lead ${ofOpenTenant}
     order by due_at limit ${most}) found)
  union all
  (select tenant_id, subscription_id, leased_until from delivery_partition partition
   where leased_until < now() ${ofOpenTenant} order by leased_until limit ${most})) due) due
  where 2 * (rank - 1) < ${free}::integer - coalesce((${taken}::jsonb ->> tenant_id::text)::integer, 0)`;
};

/**
 * Locks the first of them that no other process is leasing, in turns of the tenants. Half of the slots remain for tenants that come
 * next.
 */
const chosen = (candidates: string, { free }: PlaceParameters) => `
  select partition.tenant_id, partition.subscription_id, tenant.name
  from ${candidates} candidate
  join delivery_partition partition
    on partition.tenant_id = candidate.tenant_id and partition.subscription_id = candidate.subscription_id
  join tenant on tenant.id = partition.tenant_id
  where (partition.leased_until is null and partition.due_at is not null) or partition.leased_until < now()
  order by candidate.rank, candidate.since limit (${free}::integer + 1) / 2 for update of partition skip locked`;

const ofWorking: PlaceParameters = { free: '$2', taken: '$3', fullTenants: '$4' };
const ofFailing: PlaceParameters = { free: '$5', taken: '$6', fullTenants: '$7' };

function valuesOf({ free, taken, fullTenants }: FreeSlots): unknown[] {
  return [free, JSON.stringify(Object.fromEntries(taken)), fullTenants];
}

/** Partitions of all tenants, and which process has the lease of each. The owner leases them; rows of tenants stay out of reach. */
export class Partitions {
  readonly #store: Store;
  /** This process. */
  readonly holder: string;

  constructor(store: Store, holder: string) {
    this.#store = store;
    this.holder = holder;
  }

  /**
   * Leases partitions that are due, the longest due first, and those of processes that died.
   *
   * @param working slots of subscriptions whose last attempt succeeded.
   * @param failing of subscriptions whose last attempt failed. They may take long, so they have slots of their own.
   */
  async lease(working: FreeSlots, failing: FreeSlots): Promise<Partition[]> {
    const { rows } = await this.#store.ownerStatements<Partition>(
      `with ${ahead}, due_working as materialized (${due('= 0', ofWorking)}), due_failing as materialized (${due('> 0', ofFailing)}),
         working as (${chosen('due_working', ofWorking)}), failing as (${chosen('due_failing', ofFailing)}),
         chosen as (select * from working union all select * from failing)
       update delivery_partition partition
       set leased_by = $1, leased_until = now() + interval '${leaseSeconds} seconds', due_at = null
       from chosen where partition.tenant_id = chosen.tenant_id and partition.subscription_id = chosen.subscription_id
       returning partition.tenant_id as "tenantId", chosen.name as "tenantName", partition.subscription_id as "subscriptionId",
         partition.consecutive_failures as failures, partition.failing_since as "failingSince"`,
      [this.holder, ...valuesOf(working), ...valuesOf(failing)],
    );
    return rows;
  }

  /**
   * Renews leases of this process. One of a partition that failed, or of which the database did not say that it was leased, is not
   * among them, so that it ends.
   */
  async renew(subscriptionIds: readonly string[]): Promise<void> {
    await this.#store.ownerStatements(
      `update delivery_partition partition set leased_until = now() + interval '${leaseSeconds} seconds'
       from (select tenant_id, subscription_id from delivery_partition where leased_by = $1 and subscription_id = any($2)
         order by tenant_id, subscription_id for update) leased
       where partition.tenant_id = leased.tenant_id and partition.subscription_id = leased.subscription_id`,
      [this.holder, subscriptionIds],
    );
  }

  /** Ends leases of partitions that may have more to send. @param whose all processes', where there is no other one. */
  async release(whose: 'own' | 'all'): Promise<void> {
    await this.#store.ownerStatements(
      `update delivery_partition partition set leased_by = null, leased_until = null, due_at = now()
       from (select tenant_id, subscription_id from delivery_partition where leased_by = $1 or ($2 and leased_by is not null)
         order by tenant_id, subscription_id for update) leased
       where partition.tenant_id = leased.tenant_id and partition.subscription_id = leased.subscription_id`,
      [this.holder, whose === 'all'],
    );
  }

  /** When there is something to do next. */
  async next(): Promise<NextWork> {
    const { rows } = await this.#store.ownerStatements<{ dueIn: number | null; isLeased: boolean }>(
      `with ${ahead}, due as (
         (select due_at as at from delivery_partition partition join tenant on tenant.id = partition.tenant_id and tenant.active
          where ${unleased} and consecutive_failures = 0 order by due_at limit 1)
         union all
         (select due_at from delivery_partition partition join tenant on tenant.id = partition.tenant_id and tenant.active
          where ${unleased} and consecutive_failures > 0 order by due_at limit 1)
         union all
         (select found.due_at - ahead.lead from ahead cross join lateral (
            select due_at from delivery_partition where tenant_id = ahead.id and ${unleased} order by due_at limit 1) found)),
       leased as (select leased_until as at from delivery_partition where leased_until is not null order by leased_until limit 1)
       select date_part('epoch', (select min(at) from due) - now()) * 1000 as "dueIn", exists (select from leased) as "isLeased"`,
    );
    return { dueIn: rows[0]?.dueIn ?? undefined, isLeased: rows[0]?.isLeased === true };
  }

  /** Wakes all processes: this one cannot lease everything that is due. */
  async callOthers(): Promise<void> {
    await this.#store.ownerStatements('select pg_notify($1, $2)', [partitionsDue, '']);
  }
}

/** How many events get their positions in one transaction. It locks nothing that a write of the tenant needs. */
const maxEvents = 500;

/** Gives recorded events their positions in the feed of their tenant, which makes the partitions due that they concern. */
export class PositionAssigner {
  readonly #store: Store;
  readonly #log: Logger;
  readonly #onDue: () => void;
  /** Tenants whose events are getting their positions; `true` where more have been recorded since. */
  readonly #tenants = new Map<number, boolean>();
  readonly #running = new Set<Promise<void>>();
  #stopped = false;

  /** @param onDue is called when partitions have become due. */
  constructor(store: Store, log: Logger, onDue: () => void) {
    this.#store = store;
    this.#log = log;
    this.#onDue = onDue;
  }

  /** To be called when events of a tenant may have been recorded. */
  wake(tenantId: number): void {
    if (this.#stopped) return;
    if (this.#tenants.has(tenantId)) {
      this.#tenants.set(tenantId, true);
      return;
    }
    const running: Promise<void> = this.#assign(tenantId).finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  /** Looks for events of which no notification came: after a crash, or from another process. */
  async lookForAll(): Promise<void> {
    const { rows } = await this.#store.ownerStatements<{ tenant: number }>(
      'select * from tenants_with_new_events() as tenant',
    );
    for (const { tenant } of rows) this.wake(tenant);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#running);
  }

  async #assign(tenantId: number): Promise<void> {
    try {
      let again = true;
      while (again && !this.#stopped) {
        this.#tenants.set(tenantId, false);
        const result = await this.#store.write(tenantId, (transaction) =>
          transaction.first(
            sql<{ assigned: number; partitions: number }>`select * from assign_event_positions(${maxEvents})`,
          ),
        );
        if (result !== undefined && result.partitions > 0) this.#onDue();
        again = result?.assigned === maxEvents || this.#tenants.get(tenantId) === true;
      }
    } catch (error) {
      // The events stay where they are, and are found by the next look.
      this.#log[retryLevel(error)]({ err: error }, 'Assigning event positions failed; retrying.');
    } finally {
      this.#tenants.delete(tenantId);
    }
  }
}
