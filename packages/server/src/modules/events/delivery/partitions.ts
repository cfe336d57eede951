import type { Store } from '../../../platform/store/store.ts';

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

/** How many partitions a process can lease at the moment. */
export interface Capacity {
  /** Of subscriptions whose last attempt succeeded. */
  readonly working: number;
  /** Of subscriptions whose last attempt failed. They may take long, so they have a share of their own. */
  readonly failing: number;
  /** Tenants that have their share already. */
  readonly fullTenants: readonly number[];
}

/** Duration of a lease, in seconds. Processes renew it several times in that time; after it, others lease the partition. */
const leaseSeconds = 10;
export const renewEvery = 3_000;

/** Partitions are due by the clock of their tenant. */
const realDueAt = `(partition.due_at - tenant.clock_offset * interval '1 millisecond')`;

const due = (condition: string, most: string) => `
  select partition.tenant_id, partition.subscription_id, tenant.name
  from delivery_partition partition join tenant on tenant.id = partition.tenant_id and tenant.active
  where ((${realDueAt} <= now() and partition.leased_until is null) or partition.leased_until < now()) and ${condition}
    and partition.tenant_id <> all ($4::integer[])
  order by ${realDueAt} limit ${most} for update of partition skip locked`;

/** Partitions of all tenants, and which process has the lease of each. The owner leases them; rows of tenants stay out of reach. */
export class Partitions {
  readonly #store: Store;
  /** This process. */
  readonly holder: string;

  constructor(store: Store, holder: string) {
    this.#store = store;
    this.holder = holder;
  }

  /** Leases partitions that are due, the longest due first, and those of processes that died. */
  async lease({ working, failing, fullTenants }: Capacity): Promise<Partition[]> {
    const { rows } = await this.#store.ownerStatements(
      `with working as (${due('partition.consecutive_failures = 0', '$2')}),
         failing as (${due('partition.consecutive_failures > 0', '$3')}),
         chosen as (select * from working union all select * from failing)
       update delivery_partition partition
       set leased_by = $1, leased_until = now() + interval '${leaseSeconds} seconds', due_at = null
       from chosen where partition.tenant_id = chosen.tenant_id and partition.subscription_id = chosen.subscription_id
       returning partition.tenant_id as "tenantId", chosen.name as "tenantName", partition.subscription_id as "subscriptionId",
         partition.consecutive_failures as failures, partition.failing_since as "failingSince"`,
      [this.holder, working, failing, fullTenants],
    );
    return rows.map((row) => ({
      tenantId: Number(row.tenantId),
      tenantName: String(row.tenantName),
      subscriptionId: String(row.subscriptionId),
      failures: Number(row.failures),
      failingSince: row.failingSince === null ? null : String(row.failingSince),
    }));
  }

  /** Renews the leases of this process. */
  async renew(): Promise<void> {
    await this.#store.ownerStatements(
      `update delivery_partition partition set leased_until = now() + interval '${leaseSeconds} seconds'
       from (select tenant_id, subscription_id from delivery_partition where leased_by = $1
         order by tenant_id, subscription_id for update) leased
       where partition.tenant_id = leased.tenant_id and partition.subscription_id = leased.subscription_id`,
      [this.holder],
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

  /** Milliseconds until the next partition is due, negative where one waits already; undefined where there is none. */
  async dueIn(): Promise<number | undefined> {
    const { rows } = await this.#store.ownerStatements(
      `select date_part('epoch', min(${realDueAt}) - now()) * 1000 as "dueIn"
       from delivery_partition partition join tenant on tenant.id = partition.tenant_id
       where partition.due_at is not null and partition.leased_until is null`,
    );
    const dueIn = rows[0]?.dueIn ?? null;
    return dueIn === null ? undefined : Number(dueIn);
  }
}
