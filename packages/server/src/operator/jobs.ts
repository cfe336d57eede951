import type { Store } from '../platform/store/store.ts';
import type { Operator } from './operator.ts';

/** Jobs that wait or run, by name, and dead jobs. */
export interface JobOverview {
  readonly queues: readonly { readonly job: string; readonly waiting: number; readonly running: number }[];
  /** The latest first, at most 100. */
  readonly dead: readonly DeadJob[];
}

/** A job whose last retry failed. It is kept for a year. */
interface DeadJob {
  readonly id: string;
  readonly job: string;
  readonly tenant: string;
  readonly attempts: number;
  /** RFC 3339 */
  readonly diedAt: string;
  readonly reason: string;
}

/** These commands need the database only. */
type JobOperator = { readonly service: Pick<Operator['service'], 'store'> };

export async function listJobs({ service: { store } }: JobOperator): Promise<JobOverview> {
  const all = await Promise.all(store.cells.map(({ number }) => jobsOf(store.cell(number))));
  const queues = Map.groupBy(
    all.flatMap((one) => one.queues),
    ({ job }) => job,
  );
  const sum = (numbers: readonly number[]) => numbers.reduce((total, one) => total + one, 0);
  return {
    queues: [...queues].toSorted().map(([job, found]) => ({
      job,
      waiting: sum(found.map(({ waiting }) => waiting)),
      running: sum(found.map(({ running }) => running)),
    })),
    dead: all
      .flatMap(({ dead }) => dead)
      .toSorted((one, other) => (one.diedAt > other.diedAt ? -1 : 1))
      .slice(0, 100),
  };
}

/** The jobs of one database. */
async function jobsOf(store: Store): Promise<JobOverview> {
  const queues = await store.ownerStatements(
    `select name as job, count(*) filter (where status = 'WAITING')::integer as waiting,
       count(*) filter (where status = 'RUNNING')::integer as running
     from background_job where status in ('WAITING', 'RUNNING') group by name order by name`,
  );
  const dead = await store.ownerStatements(
    `select job.id, job.name as job, tenant.name as tenant, failures as attempts,
       to_char(ended_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as "diedAt", coalesce(failure, '') as reason
     from background_job job join tenant on tenant.id = job.tenant_id where status = 'DEAD' order by ended_at desc limit 100`,
  );
  return {
    queues: queues.rows.map(({ job, waiting, running }) => ({
      job: String(job),
      waiting: Number(waiting),
      running: Number(running),
    })),
    dead: dead.rows.map((row) => ({
      id: String(row.id),
      job: String(row.job),
      tenant: String(row.tenant),
      attempts: Number(row.attempts),
      diedAt: String(row.diedAt),
      reason: String(row.reason),
    })),
  };
}

/**
 * Runs a dead job again.
 *
 * @throws Error with a sentence if no dead job has this ID.
 */
export async function retryJob({ service: { store } }: JobOperator, id: string): Promise<void> {
  const retry = async (one: Store) =>
    one.ownerStatements(
      `with retried as (
         update background_job set status = 'WAITING', due_at = now(), runs = 0, failures = 0, ended_at = null
         where status = 'DEAD' and id::text = $1 returning name)
       select pg_notify('background_job', name) from retried`,
      [id],
    );
  const results = await Promise.all(store.cells.map(({ number }) => retry(store.cell(number))));
  if (results.every(({ rows }) => rows.length === 0))
    throw new Error(`No dead job has the ID ${id}. "job list" shows them.`);
}
