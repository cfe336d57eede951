import { recordOperatorAct } from '../platform/store/operator-log.ts';
import type { Store } from '../platform/store/store.ts';
import type { OperatorOf } from './operator.ts';
import { fromAllCells } from './tenants.ts';

/** Jobs that wait or run, by name, and dead jobs. */
export interface JobOverview {
  readonly queues: readonly { readonly job: string; readonly waiting: number; readonly running: number }[];
  /** The latest first, at most 100. */
  readonly dead: readonly DeadJob[];
  /** The names of databases that cannot be reached. */
  readonly unavailable: readonly string[];
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

export async function listJobs({ service: { store } }: OperatorOf<'store'>): Promise<JobOverview> {
  const { found: all, unavailable } = await fromAllCells(store, jobsOf);
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
    unavailable,
  };
}

/** Jobs of tenants that are in another database. */
const ofCopies = `exists (select from tenant_move move where move.tenant = job.tenant_id and move.phase in ('ARRIVING', 'LEFT'))`;

/** The jobs of one database. */
async function jobsOf(store: Store): Promise<Omit<JobOverview, 'unavailable'>> {
  const { rows: queues } = await store.ownerStatements<JobOverview['queues'][number]>(
    `select name as job, count(*) filter (where status = 'WAITING')::integer as waiting,
       count(*) filter (where status = 'RUNNING')::integer as running
     from background_job job where status in ('WAITING', 'RUNNING') and not ${ofCopies} group by name order by name`,
  );
  const { rows: dead } = await store.ownerStatements<DeadJob>(
    `select job.id, job.name as job, tenant.name as tenant, failures as attempts,
       to_char(ended_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as "diedAt", coalesce(failure, '') as reason
     from background_job job join tenant on tenant.id = job.tenant_id
     where status = 'DEAD' and not ${ofCopies} order by ended_at desc limit 100`,
  );
  return { queues, dead };
}

/**
 * Runs a dead job again.
 *
 * @throws Error with a sentence if no dead job has this ID.
 */
export async function retryJob({ service: { store } }: OperatorOf<'store'>, id: string): Promise<void> {
  const retry = async (one: Store) =>
    one.ownerStatements<{ job: string; tenant: string }>(
      `with retried as (
         update background_job set status = 'WAITING', due_at = now(), runs = 0, failures = 0, ended_at = null
         where status = 'DEAD' and id::text = $1 returning name, tenant_id)
       select retried.name as job, tenant.name as tenant, pg_notify('background_job', retried.name)
       from retried join tenant on tenant.id = tenant_id`,
      [id],
    );
  const { found, unavailable } = await fromAllCells(store, retry);
  const [retried] = found.flatMap(({ rows }) => rows);
  if (retried !== undefined) {
    const details = { job: retried.job, tenant: retried.tenant };
    return recordOperatorAct(store.owner, { operation: 'job retry', subject: id, details });
  }
  if (unavailable.length > 0)
    throw new Error(`The job ${id} was not found. These databases cannot be reached: ${unavailable.join(', ')}.`);
  throw new Error(`No dead job has the ID ${id}. "job list" shows them.`);
}
