import type { JobWithMetadata, PgBoss } from 'pg-boss';
import { JobLost } from './job.ts';
import type { Queue } from './queue.ts';

/** A job that this process holds for one run. */
export interface Claim {
  readonly name: string;
  readonly id: string;
  /** The number of earlier runs, which identifies this run among all runs of the job. */
  readonly attempt: number;
  readonly data: unknown;
  readonly signal: AbortSignal;
  /** Whether the run has completed the job in its own transaction. */
  completed: boolean;
}

/**
 * Result of a run.
 *
 * - `completed`
 * - `retried`: failed, and will run again
 * - `dead`: failed for the last time
 * - `returned`: interrupted because the process stops; another process runs the job
 * - `lost`: another process has taken over the job
 * - `unsettled`: the database was unavailable at the end, so the job runs again
 */
export type Outcome = 'completed' | 'retried' | 'dead' | 'returned' | 'lost' | 'unsettled';

/** Receives a notification for every run. */
export interface RunObserver {
  started(claim: Claim, lagSeconds: number): void;
  ended(claim: Claim, outcome: Outcome, seconds: number, error: unknown): void;
  /** The queue is unavailable. Its work is done later. */
  failed(queue: string, error: unknown): void;
}

interface Run {
  readonly job: JobWithMetadata<unknown>;
  readonly claim: Claim;
  readonly abort: AbortController;
  ended: Promise<void>;
}

class Returned extends Error {
  override readonly name = 'Returned';

  constructor() {
    super('The process stops; another one runs the job again.');
  }
}

/** Runs the jobs of one queue, a limited number at a time. */
export class Worker {
  readonly queue: Queue;
  readonly #boss: PgBoss;
  readonly #run: (claim: Claim) => Promise<void>;
  readonly #observer: RunObserver;
  readonly #runs = new Map<string, Run>();
  #fetching: Promise<void> | undefined;
  /** Whether jobs may have become due since the last fetch started. */
  #woken = false;
  #stopping = false;

  constructor(boss: PgBoss, queue: Queue, run: (claim: Claim) => Promise<void>, observer: RunObserver) {
    this.#boss = boss;
    this.queue = queue;
    this.#run = run;
    this.#observer = observer;
  }

  /** Fetches due jobs while there is room. Can be called at any time. */
  wake(): void {
    this.#woken = true;
    if (this.#fetching !== undefined || this.#stopping) return;
    this.#fetching = this.#fetch().finally(() => {
      this.#fetching = undefined;
      // It may have been woken between its last fetch and this line.
      if (this.#woken && this.#room > 0) this.wake();
    });
  }

  get #room(): number {
    return this.queue.settings.concurrency - this.#runs.size;
  }

  async #fetch(): Promise<void> {
    while (this.#woken && this.#room > 0 && !this.#stopping) {
      this.#woken = false;
      const [job] = await this.#take();
      if (job === undefined) continue;
      this.#woken = true;
      if (this.#stopping) await this.#returnJobs([job]);
      else this.#start(job);
    }
  }

  /** Fetches one job of a tenant that has room. */
  async #take(): Promise<JobWithMetadata<unknown>[]> {
    const { name, settings } = this.queue;
    const perTenant = Map.groupBy(this.#runs.values(), ({ job }) => job.groupId);
    const full = [...perTenant].flatMap(([tenant, runs]) =>
      typeof tenant === 'string' && runs.length >= settings.concurrencyPerTenant ? [tenant] : [],
    );
    try {
      return await this.#boss.fetch<unknown>(name, { includeMetadata: true, ignoreGroups: full });
    } catch (error) {
      this.#observer.failed(name, error);
      return [];
    }
  }

  #start(job: JobWithMetadata<unknown>): void {
    const abort = new AbortController();
    const claim = {
      name: job.name,
      id: job.id,
      attempt: job.retryCount,
      data: job.data,
      signal: abort.signal,
      completed: false,
    };
    const run: Run = { job, claim, abort, ended: Promise.resolve() };
    // This process sent no heartbeat for too long, and has now fetched the job that it had lost.
    this.#runs.get(job.id)?.abort.abort(new JobLost());
    this.#runs.set(job.id, run);
    run.ended = this.#perform(run).finally(() => {
      if (this.#runs.get(job.id) === run) this.#runs.delete(job.id);
      this.wake();
    });
  }

  async #perform({ job, claim, abort }: Run): Promise<void> {
    const { timeoutSeconds } = this.queue.settings;
    const begun = performance.now();
    // The library declares a Date; connections of the store return text.
    const dueAt = new Date(job.startAfter).getTime();
    this.#observer.started(claim, Math.max(0, (Date.now() - dueAt) / 1000));
    const timeout = setTimeout(
      () => abort.abort(new Error(`The job did not end within ${timeoutSeconds} seconds.`)),
      timeoutSeconds * 1000,
    );
    let failure: unknown;
    let outcome: Outcome;
    try {
      // A run that ignores its signal must not keep its place. It can no longer write.
      await Promise.race([this.#run(claim), rejection(claim.signal)]);
      outcome = await this.#complete(job, claim);
    } catch (error) {
      failure = error;
      outcome = await this.#fail(job, error);
    }
    clearTimeout(timeout);
    this.#observer.ended(claim, outcome, (performance.now() - begun) / 1000, failure);
  }

  async #complete(job: JobWithMetadata<unknown>, claim: Claim): Promise<Outcome> {
    if (claim.completed) return 'completed';
    try {
      const settled = settledBy(await this.#boss.complete(job.name, job));
      return settled.has(job.id) ? 'completed' : 'lost';
    } catch {
      return 'unsettled';
    }
  }

  async #fail(job: JobWithMetadata<unknown>, error: unknown): Promise<Outcome> {
    if (error instanceof JobLost) return 'lost';
    if (error instanceof Returned) return 'returned';
    try {
      // Shown to the operator. Other properties of the error may contain data.
      const message = error instanceof Error ? error.message : String(error);
      const settled = settledBy(await this.#boss.fail(job.name, job, { message }));
      if (!settled.has(job.id)) return 'lost';
      return job.retryCount < job.retryLimit ? 'retried' : 'dead';
    } catch {
      return 'unsettled';
    }
  }

  /** Renews the leases of all runs, and aborts the runs that have lost their job. */
  async renewLeases(): Promise<void> {
    const runs = [...this.#runs.values()].filter(({ claim }) => !claim.completed);
    if (runs.length === 0) return;
    const jobs = runs.map(({ job }) => job);
    const held = settledBy(await this.#boss.touch(this.queue.name, jobs));
    for (const { claim, abort } of runs) {
      if (!held.has(claim.id) && !claim.completed) abort.abort(new JobLost());
    }
  }

  /** Stops fetching jobs, waits for runs until `deadline`, and returns unfinished jobs to the queue. */
  async stop(deadline: Promise<unknown>): Promise<void> {
    this.#stopping = true;
    await this.#fetching;
    await Promise.race([Promise.all([...this.#runs.values()].map(({ ended }) => ended)), deadline]);
    const left = [...this.#runs.values()];
    // Returned before the run ends, so that its end does not count as a failure.
    await this.#returnJobs(left.map(({ job }) => job));
    for (const { abort } of left) abort.abort(new Returned());
    await Promise.all(left.map(({ ended }) => ended));
  }

  /** Returns jobs to the queue at once, without using up a retry. */
  async #returnJobs(jobs: readonly JobWithMetadata<unknown>[]): Promise<void> {
    if (jobs.length === 0) return;
    const { name } = this.queue;
    const attempts = jobs.map(({ id, retryCount }) => `${id}:${retryCount}`);
    try {
      // The attempt number detects late writes of this run, so it increases, and the retry limit with it.
      await this.#boss.getDb().executeSql(
        `with returned as (
           update pgboss.job set state = 'retry', retry_limit = retry_limit + 1, start_after = now()
           where name = $1 and state = 'active' and (id::text || ':' || retry_count) = any ($2::text[])
           returning 1)
         select pg_notify('background_job', $1) where exists (select from returned)`,
        [name, attempts],
      );
    } catch (error) {
      // Their leases expire, which uses up a retry.
      this.#observer.failed(name, error);
    }
  }
}

/** The IDs of the jobs that a call has changed. The library returns them but does not declare them. */
function settledBy(response: object): ReadonlySet<unknown> {
  const ids: unknown = Reflect.get(response, 'settled');
  if (!Array.isArray(ids)) throw new Error('The queue library did not return the jobs that it changed.');
  return new Set(ids);
}

function rejection(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}
