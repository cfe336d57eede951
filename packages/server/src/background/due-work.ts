import type { Store } from '../platform/store/store.ts';

/** Stands for all tasks of a tenant, at the start of its day. */
export const startOfDay = 'day';

/** A task that may have something to do for a tenant. */
export interface DueWork {
  readonly tenantId: number;
  readonly tenantName: string;
  /** Name of the task, or `startOfDay`. */
  readonly task: string;
  /** False if the tenant is closed. */
  readonly isOpen: boolean;
}

/** When work that was claimed is due again, unless it is finished, in seconds: before the next tick. */
const retryAfter = 50;

/**
 * When tasks may have something to do, for all tenants: rows that triggers add, found by an index. Times are by the clock of each
 * tenant.
 */
export class DueTable {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  /**
   * Claims what is due longest. What is not finished afterwards is due again in the next minute, behind what waited meanwhile. Tenants
   * whose copy is not complete are left out: a move compares their due times.
   *
   * @param runId the tick.
   */
  async claim(now: Temporal.Instant, runId: string, limit: number): Promise<DueWork[]> {
    const { rows } = await this.#store.ownerStatements<DueWork>(
      `with ahead as (select id, clock_offset * interval '1 millisecond' as lead from tenant where is_sandbox and clock_offset > 0),
         due as (
           (select tenant_id, task, due_at, due_at as since from clock_due where due_at <= $1::timestamptz order by due_at limit 1000)
           union all
           select found.tenant_id, found.task, found.due_at, found.due_at - ahead.lead from ahead cross join lateral (
             select tenant_id, task, due_at from clock_due
             where tenant_id = ahead.id and due_at > $1::timestamptz and due_at <= $1::timestamptz + ahead.lead limit 100) found),
         chosen as materialized (
           select due.tenant_id, due.task, tenant.name, tenant.active, tenant.clock_offset * interval '1 millisecond' as lead,
             min(due.since) as since
           from due join tenant on tenant.id = due.tenant_id and tenant_move_phase(tenant.id) is distinct from 'ARRIVING'
           group by due.tenant_id, due.task, tenant.name, tenant.active, tenant.clock_offset
           order by min(due.since), due.tenant_id, due.task limit $3),
         claimed as (
           update clock_due set due_at = $1::timestamptz + chosen.lead + interval '${retryAfter} seconds', run_id = $2
           from chosen where clock_due.tenant_id = chosen.tenant_id and clock_due.task = chosen.task
             and clock_due.due_at <= $1::timestamptz + chosen.lead
           returning clock_due.tenant_id, clock_due.task)
       select tenant_id as "tenantId", name as "tenantName", task, active as "isOpen" from chosen
       where (tenant_id, task) in (select tenant_id, task from claimed) order by since, tenant_id, task`,
      [now.toString(), runId, limit],
    );
    return rows;
  }

  /** Removes what was claimed, and adds when the task has something to do next, if that is known. */
  async finish({ tenantId, task }: DueWork, runId: string, next: string | undefined): Promise<void> {
    await this.#store.ownerStatements(
      `with finished as (delete from clock_due where tenant_id = $1 and task = $2 and run_id = $3)
       insert into clock_due (tenant_id, task, due_at) select $1, $2, $4::timestamptz
       where $4::timestamptz is not null and not exists (select from clock_due
         where tenant_id = $1 and task = $2 and due_at = $4::timestamptz and run_id is distinct from $3)`,
      [tenantId, task, runId, next ?? null],
    );
  }

  /**
   * Makes all tasks due for a tenant whose day starts, and notes the start of the next one. A start that a trigger has added
   * meanwhile, because the tenant has another time zone, stays.
   */
  async startDay(
    { tenantId }: DueWork,
    runId: string,
    tasks: readonly string[],
    now: Temporal.Instant,
    next: Temporal.Instant,
  ): Promise<void> {
    await this.#store.ownerStatements(
      `with finished as (delete from clock_due
         where tenant_id = $1 and task = '${startOfDay}' and (run_id = $2 or due_at = $5::timestamptz))
       insert into clock_due (tenant_id, task, due_at)
       select $1, task, $4::timestamptz from unnest($3::text[]) task union all select $1, '${startOfDay}', $5::timestamptz`,
      [tenantId, runId, tasks, now.toString(), next.toString()],
    );
  }

  /** Removes everything of a tenant that was closed. Opening it again adds the start of its day. */
  async removeAll(tenantId: number): Promise<void> {
    await this.#store.ownerStatements('delete from clock_due where tenant_id = $1', [tenantId]);
  }
}
