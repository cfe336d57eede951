import { DatabaseUnavailable } from '../platform/store/errors.ts';
import type { Job } from './job.ts';
import { JobLost } from './job.ts';
import type { JobTable, TakenJob } from './job-table.ts';

/** A job that this process has leased for one run. */
export interface JobClaim extends TakenJob {
  readonly name: string;
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
  started(claim: JobClaim, lagSeconds: number): void;
  ended(claim: JobClaim, outcome: Outcome, seconds: number, error: unknown): void;
  /** The queue is unavailable. Its work is done later. */
  failed(queue: string, error: unknown): void;
}

/** What a worker does with a job that it has taken. */
export interface JobActions {
  run(claim: JobClaim): Promise<void>;
  /** Makes the job a dead letter, if that needs more than its status. @returns whether it has. @throws JobLost */
  bury(claim: JobClaim, reason: string): Promise<boolean>;
}

interface Run {
  readonly claim: JobClaim;
  readonly abort: AbortController;
  ended: Promise<void>;
}

class Returned extends Error {
  override readonly name = 'Returned';

  constructor() {
    super('The process stops; another one runs the job again.');
  }
}

/** Runs the jobs with one name, a limited number at a time. */
export class Worker {
  readonly job: Job;
  readonly #table: JobTable;
  readonly #actions: JobActions;
  readonly #observer: RunObserver;
  /** By their ID. */
  readonly #runs = new Map<string, Run>();
  /** The ID of the tenant whose turn was last. */
  #last = 0;
  #taking: Promise<void> | undefined;
  /** Whether jobs may have become due since the last attempt to take one started. */
  #woken = false;
  #stopping = false;

  constructor(table: JobTable, job: Job, actions: JobActions, observer: RunObserver) {
    this.#table = table;
    this.job = job;
    this.#actions = actions;
    this.#observer = observer;
  }

  /** Takes due jobs while there is capacity. Can be called at any time. */
  wake(): void {
    this.#woken = true;
    if (this.#taking !== undefined || this.#stopping) return;
    this.#taking = this.#takeDue().finally(() => {
      this.#taking = undefined;
      // It may have been woken between its last attempt and this line.
      if (this.#woken && this.#capacity > 0) this.wake();
    });
  }

  get #capacity(): number {
    return this.job.settings.concurrency - this.#runs.size;
  }

  async #takeDue(): Promise<void> {
    while (this.#woken && this.#capacity > 0 && !this.#stopping) {
      this.#woken = false;
      const taken = await this.#take();
      if (taken === undefined) continue;
      this.#woken = true;
      if (this.#stopping) await this.#release([taken.runId]);
      else this.#start(taken);
    }
  }

  /** Takes one job of the next tenant with capacity left. */
  async #take(): Promise<TakenJob | undefined> {
    const { concurrencyPerTenant } = this.job.settings;
    const perTenant = Map.groupBy(this.#runs.values(), ({ claim }) => claim.tenantName);
    const full = [...perTenant].flatMap(([tenant, runs]) => (runs.length >= concurrencyPerTenant ? [tenant] : []));
    try {
      const taken = await this.#table.take(this.job, full, this.#last);
      this.#last = taken?.tenantId ?? this.#last;
      return taken;
    } catch (error) {
      this.#observer.failed(this.job.name, error);
      return undefined;
    }
  }

  #start(taken: TakenJob): void {
    const abort = new AbortController();
    const claim: JobClaim = { ...taken, name: this.job.name, signal: abort.signal, completed: false };
    const run: Run = { claim, abort, ended: Promise.resolve() };
    this.#runs.set(claim.runId, run);
    run.ended = this.#perform(run).finally(() => {
      this.#runs.delete(claim.runId);
      this.wake();
    });
  }

  async #perform({ claim, abort }: Run): Promise<void> {
    const { timeoutSeconds, retries } = this.job.settings;
    const begun = performance.now();
    this.#observer.started(claim, claim.lagSeconds);
    const timeout = setTimeout(
      () => abort.abort(new Error(`The job did not end within ${timeoutSeconds} seconds.`)),
      timeoutSeconds * 1000,
    );
    let failure: unknown;
    let outcome: Outcome;
    try {
      // Its processes ended in each run, and the last one could not make it a dead letter.
      if (claim.failures > retries)
        throw new Error('The process that ran the job ended, or was interrupted for too long.');
      // A run that ignores its signal must not keep its slot. It can no longer write.
      await Promise.race([this.#actions.run(claim), rejection(claim.signal)]);
      outcome = await this.#complete(claim);
    } catch (error) {
      failure = error;
      outcome = await this.#fail(claim, error);
    }
    clearTimeout(timeout);
    this.#observer.ended(claim, outcome, (performance.now() - begun) / 1000, failure);
  }

  async #complete(claim: JobClaim): Promise<Outcome> {
    if (claim.completed) return 'completed';
    try {
      return (await this.#table.complete(this.job, claim.runId)) ? 'completed' : 'lost';
    } catch {
      return 'unsettled';
    }
  }

  async #fail(claim: JobClaim, error: unknown): Promise<Outcome> {
    if (error instanceof JobLost) return 'lost';
    if (error instanceof Returned) return 'returned';
    try {
      // Shown to the operator. Other properties of the error may contain data.
      const message = error instanceof Error ? error.message : String(error);
      if (claim.failures >= this.job.settings.retries && (await this.#bury(claim, message))) return 'dead';
      if (!(await this.#table.fail(this.job, claim, message))) return 'lost';
      return claim.failures < this.job.settings.retries ? 'retried' : 'dead';
    } catch {
      return 'unsettled';
    }
  }

  async #bury(claim: JobClaim, reason: string): Promise<boolean> {
    try {
      return await this.#actions.bury(claim, reason);
    } catch (error) {
      if (error instanceof DatabaseUnavailable) throw error;
      // The job is a dead letter nevertheless, unless it is lost.
      this.#observer.failed(this.job.name, error);
      return false;
    }
  }

  /** Renews the leases of all runs, and aborts the runs that have lost their job. */
  async renewLeases(): Promise<void> {
    const runs = [...this.#runs.values()].filter(({ claim }) => !claim.completed);
    if (runs.length === 0) return;
    const renewed = await this.#table.renew(
      this.job,
      runs.map(({ claim }) => claim.runId),
    );
    for (const { claim, abort } of runs) {
      if (!renewed.has(claim.runId) && !claim.completed) abort.abort(new JobLost());
    }
  }

  /** Stops taking jobs, waits for runs until `deadline`, and returns unfinished jobs to the queue. */
  async stop(deadline: Promise<unknown>): Promise<void> {
    this.#stopping = true;
    await this.#taking;
    await Promise.race([Promise.all([...this.#runs.values()].map(({ ended }) => ended)), deadline]);
    const left = [...this.#runs.values()];
    // Returned before the run ends, so that its end does not count as a failure.
    await this.#release(left.map(({ claim }) => claim.runId));
    for (const { abort } of left) abort.abort(new Returned());
    await Promise.all(left.map(({ ended }) => ended));
  }

  async #release(runIds: readonly string[]): Promise<void> {
    if (runIds.length === 0) return;
    try {
      await this.#table.release(this.job, runIds);
    } catch (error) {
      // Their leases expire, which uses up a retry.
      this.#observer.failed(this.job.name, error);
    }
  }
}

function rejection(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}
