import type { Store } from '../../../platform/store/store.ts';

/** The lane of a subscription, which this process has taken for some seconds. */
export interface Lane {
  readonly tenantId: number;
  readonly tenantName: string;
  readonly subscriptionId: string;
  /** Attempts that failed in a row. */
  readonly failures: number;
  /** The first of them, RFC 3339. */
  readonly failingSince: string | null;
}

/** How many lanes a process can take at the moment. */
export interface Room {
  /** Of subscriptions whose last attempt succeeded. */
  readonly working: number;
  /** Of subscriptions whose last attempt failed. They may take long, so they have a share of their own. */
  readonly failing: number;
  /** Tenants that have their share already. */
  readonly fullTenants: readonly number[];
}

/** For how long a lane is taken, in seconds. Processes renew it several times in that time; after it, others take the lane. */
const leaseSeconds = 10;
export const renewEvery = 3_000;

/** Lanes are due by the clock of their tenant. */
const realDueAt = `(lane.due_at - tenant.clock_offset * interval '1 millisecond')`;

const due = (condition: string, most: string) => `
  select lane.tenant_id, lane.subscription_id, tenant.name
  from delivery_partition lane join tenant on tenant.id = lane.tenant_id and tenant.active
  where ((${realDueAt} <= now() and lane.leased_until is null) or lane.leased_until < now()) and ${condition}
    and lane.tenant_id <> all ($4::integer[])
  order by ${realDueAt} limit ${most} for update of lane skip locked`;

/** Lanes of all tenants, and which process works on them. They are the owner's to take; rows of tenants stay out of reach. */
export class Lanes {
  readonly #store: Store;
  /** This process. */
  readonly holder: string;

  constructor(store: Store, holder: string) {
    this.#store = store;
    this.holder = holder;
  }

  /** Takes lanes that are due, the longest due first, and lanes of processes that died. */
  async claim({ working, failing, fullTenants }: Room): Promise<Lane[]> {
    const { rows } = await this.#store.ownerStatements(
      `with working as (${due('lane.consecutive_failures = 0', '$2')}),
         failing as (${due('lane.consecutive_failures > 0', '$3')}),
         taken as (select * from working union all select * from failing)
       update delivery_partition lane
       set leased_by = $1, leased_until = now() + interval '${leaseSeconds} seconds', due_at = null
       from taken where lane.tenant_id = taken.tenant_id and lane.subscription_id = taken.subscription_id
       returning lane.tenant_id as "tenantId", taken.name as "tenantName", lane.subscription_id as "subscriptionId",
         lane.consecutive_failures as failures, lane.failing_since as "failingSince"`,
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

  /** Keeps the lanes of this process. */
  async renew(): Promise<void> {
    await this.#store.ownerStatements(
      `update delivery_partition lane set leased_until = now() + interval '${leaseSeconds} seconds'
       from (select tenant_id, subscription_id from delivery_partition where leased_by = $1
         order by tenant_id, subscription_id for update) held
       where lane.tenant_id = held.tenant_id and lane.subscription_id = held.subscription_id`,
      [this.holder],
    );
  }

  /** Returns lanes that were not worked on to their end. @param whose all processes', where there is no other one. */
  async release(whose: 'own' | 'all'): Promise<void> {
    await this.#store.ownerStatements(
      `update delivery_partition lane set leased_by = null, leased_until = null, due_at = now()
       from (select tenant_id, subscription_id from delivery_partition where leased_by = $1 or ($2 and leased_by is not null)
         order by tenant_id, subscription_id for update) held
       where lane.tenant_id = held.tenant_id and lane.subscription_id = held.subscription_id`,
      [this.holder, whose === 'all'],
    );
  }

  /** Milliseconds until the next lane is due, negative where one waits already; undefined where there is none. */
  async dueIn(): Promise<number | undefined> {
    const { rows } = await this.#store.ownerStatements(
      `select date_part('epoch', min(${realDueAt}) - now()) * 1000 as "dueIn"
       from delivery_partition lane join tenant on tenant.id = lane.tenant_id
       where lane.due_at is not null and lane.leased_until is null`,
    );
    const dueIn = rows[0]?.dueIn ?? null;
    return dueIn === null ? undefined : Number(dueIn);
  }
}
