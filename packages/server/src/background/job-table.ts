import pRetry from 'p-retry';
import { isTemporary } from '../platform/store/errors.ts';
import { newId } from '../platform/store/new-id.ts';
import type { Store } from '../platform/store/store.ts';
import type { Job } from './job.ts';

/** A job that this process has leased for one run. */
export interface TakenJob {
  readonly tenantId: number;
  readonly tenantName: string;
  readonly id: string;
  readonly data: unknown;
  /** Identifies this run among all runs of the job. */
  readonly runId: string;
  /** 1 for the first run. */
  readonly attempt: number;
  /** Number of earlier runs that failed. */
  readonly failures: number;
  /** Time between when the job was due and now. */
  readonly lagSeconds: number;
}

/** When a worker has something to do. Jobs of closed tenants wait until these are opened. */
export interface DueJobs {
  readonly name: string;
  /** Milliseconds until the next job is due; negative if one is waiting, null if there is none. */
  readonly dueIn: number | null;
  /** Whether the lease of a run has expired. */
  readonly lapsed: boolean;
}

/** Receives the name of a job that was added, or nothing if jobs may have become due. */
export const jobsDue = 'background_job';
/** Retention of completed and of dead jobs, for diagnosis. */
const retention = { COMPLETED: '1 day', DEAD: '365 days' };

/**
 * Statements of the queue, which apply to the jobs of all tenants. Adding and completing a job belong to the tenant's
 * transactions: `enqueue` and `run-job.ts`.
 */
export class JobTable {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  /** Calls the function with the name of a job that has been added, or an empty name if it is not due yet. */
  listen(onAdded: (name: string) => void): Promise<{ close(): Promise<void> }> {
    return this.#store.listen(jobsDue, onAdded);
  }

  /** When jobs with these names are due. Uses an index for each, so the cost does not depend on the number of jobs. */
  async due(names: readonly string[]): Promise<{ readonly jobs: readonly DueJobs[]; readonly now: number }> {
    const { rows: jobs } = await this.#store.ownerStatements<DueJobs & { readonly now: number }>(
      `select worker.name, date_part('epoch', next.due_at - now()) * 1000 as "dueIn",
         exists (select from background_job where name = worker.name and status = 'RUNNING' and leased_until < now()) as lapsed,
         date_part('epoch', now()) * 1000 as now
       from unnest(array_append($1::text[], '')) as worker(name)
       left join lateral (select job.due_at from background_job job
         join tenant on tenant.id = job.tenant_id and tenant.active
         where job.name = worker.name and job.status = 'WAITING' order by job.due_at, job.id limit 1) next on true`,
      [names],
    );
    return { jobs, now: jobs[0]?.now ?? 0 };
  }

  /**
   * Takes the job that is due longest of the next tenant that has one and is not full. Never repeated, because it may have
   * taken effect.
   *
   * @param last the ID of the tenant whose turn was last
   */
  async take(job: Job, fullTenants: readonly string[], last = 0): Promise<TakenJob | undefined> {
    const taken = await this.#takeAfter(job, fullTenants, last);
    return taken === undefined && last > 0 ? this.#takeAfter(job, fullTenants, 0) : taken;
  }

  async #takeAfter(
    { name, settings }: Job,
    fullTenants: readonly string[],
    last: number,
  ): Promise<TakenJob | undefined> {
    const { rows } = await this.#store.ownerStatements<TakenJob>(
      `with next as materialized (
         select job.tenant_id, job.id, tenant.name as tenant from background_job job
         join tenant on tenant.id = job.tenant_id and tenant.active
         where job.name = $1 and job.status = 'WAITING' and job.due_at <= now() and tenant.name <> all ($2::text[])
           and job.tenant_id > $5
         order by job.tenant_id, job.due_at, job.id limit 1 for update of job skip locked)
       update background_job job set status = 'RUNNING', runs = runs + 1, run_id = $3, leased_until = now() + $4 * interval '1 second'
       from next where job.tenant_id = next.tenant_id and job.id = next.id
       returning job.tenant_id as "tenantId", next.tenant as "tenantName", job.id, job.data, job.run_id as "runId",
         job.runs as attempt, job.failures, greatest(0, date_part('epoch', now() - job.due_at)) as "lagSeconds"`,
      [name, fullTenants, newId(), settings.leaseSeconds, last],
    );
    return rows[0];
  }

  /** Renews the leases of runs. @returns the IDs of the runs that still hold their job */
  renew({ name, settings }: Job, runIds: readonly string[]): Promise<ReadonlySet<string>> {
    return this.#change(
      `update background_job job set leased_until = now() + $3 * interval '1 second'
       where name = $1 and status = 'RUNNING' and run_id = any ($2::uuid[]) returning run_id as changed`,
      [name, runIds, settings.leaseSeconds],
    );
  }

  /** Ends a run that has not completed the job in a transaction of its own. @returns whether it still had the lease of the job */
  async complete({ name }: Job, runId: string): Promise<boolean> {
    const changed = await this.#change(
      `with ended as (select tenant_id, id, run_id from background_job where name = $1 and status = 'RUNNING' and run_id = $2 for update)
       update background_job job set status = 'COMPLETED', ended_at = now(), run_id = null, leased_until = null, failure = null
       from ended where job.tenant_id = ended.tenant_id and job.id = ended.id returning ended.run_id as changed`,
      [name, runId],
    );
    return changed.size > 0;
  }

  /**
   * Records that a run failed: the job runs again after a pause, or is dead.
   *
   * @returns whether the run still had the lease of the job.
   */
  async fail(job: Job, { runId, failures }: TakenJob, reason: string): Promise<boolean> {
    const isLast = failures >= job.settings.retries;
    const changed = await this.#change(
      `with failed as (select tenant_id, id, run_id from background_job where name = $1 and status = 'RUNNING' and run_id = $2 for update)
       update background_job job set failures = failures + 1, failure = $3, run_id = null, leased_until = null,
         status = case when $4 then 'DEAD' else 'WAITING' end, ended_at = case when $4 then now() end,
         due_at = now() + $5 * interval '1 second'
       from failed where job.tenant_id = failed.tenant_id and job.id = failed.id returning failed.run_id as changed`,
      [job.name, runId, reason, isLast, retryDelay(job, failures)],
    );
    return changed.size > 0;
  }

  /** Returns jobs to the queue at once. Their runs do not count as failures. */
  async release({ name }: Job, runIds: readonly string[]): Promise<void> {
    await this.#change(
      `with released as (
         update background_job job set status = 'WAITING', due_at = now(), run_id = null, leased_until = null
         where name = $1 and status = 'RUNNING' and run_id = any ($2::uuid[]) returning 1)
       select pg_notify('${jobsDue}', $1) where exists (select from released)`,
      [name, runIds],
    );
  }

  /** Fails runs whose process has not renewed their lease: the jobs run again at once, or become dead letters then. */
  async failLapsed({ name }: Job): Promise<void> {
    await this.#change(
      `with lapsed as (select tenant_id, id from background_job where name = $1 and status = 'RUNNING' and leased_until < now()
         for update skip locked)
       update background_job job set failures = failures + 1, failure = 'The process that ran the job ended, or was interrupted for too long.',
         run_id = null, leased_until = null, due_at = now(), status = 'WAITING'
       from lapsed where job.tenant_id = lapsed.tenant_id and job.id = lapsed.id`,
      [name],
    );
  }

  /** Lets all leases expire. For the embedded database: its earlier process has ended. */
  async expireLeases(): Promise<void> {
    await this.#store.ownerStatements(
      `update background_job job set leased_until = '-infinity' where status = 'RUNNING'`,
    );
    await this.#store.ownerStatements('update clock_lease set run_id = null, leased_until = null');
  }

  /** Deletes jobs that ended long ago. */
  async removeOld(): Promise<void> {
    for (const [status, age] of Object.entries(retention)) {
      await this.#store.ownerStatements(
        'delete from background_job where status = $1 and ended_at < now() - $2::interval',
        [status, age],
      );
    }
  }

  /** Runs a statement that can be repeated, for about as long as a lease while the database is unavailable. */
  async #change(text: string, values: readonly unknown[]): Promise<ReadonlySet<string>> {
    const { rows } = await pRetry(() => this.#store.ownerStatements<{ changed: string }>(text, values), {
      retries: 4,
      minTimeout: 500,
      shouldRetry: ({ error }) => isTemporary(error),
    });
    return new Set(rows.map(({ changed }) => changed));
  }
}

/** Seconds until the next run after this many earlier failures. Doubles each time, with jitter, up to the maximum. */
function retryDelay({ settings }: Job, failures: number): number {
  const { retryDelaySeconds, maxRetryDelaySeconds } = settings;
  const delay = retryDelaySeconds * 2 ** Math.min(failures, 30);
  return Math.min(maxRetryDelaySeconds, delay) * (0.75 + Math.random() / 4);
}
