import { setTimeout as pause } from 'node:timers/promises';
import { databaseClock } from '../platform/database-clock.ts';
import { Clock, type ClockTask } from './clock.ts';
import { leaseClock } from './clock-lease.ts';
import { recoverFromWrongClock } from './future-times.ts';
import type { BackgroundService, Job } from './job.ts';
import { JobTable } from './job-table.ts';
import { buryJob, runJob } from './run-job.ts';
import { Watch } from './watch.ts';
import { type JobClaim, type Outcome, type RunObserver, Worker } from './worker.ts';

/** The jobs and clock tasks that run in the background. */
export interface BackgroundWork {
  readonly jobs: readonly Job[];
  readonly clockTasks: readonly ClockTask[];
}

export interface Background {
  /** Stops accepting work, and returns unfinished jobs to the queue after this time. */
  stop(graceMilliseconds: number): Promise<void>;
}

/** How often leases are renewed, in milliseconds: more than twice within the shortest one. */
const renewEvery = 4_000;

/** How often what waits for a time that a wrong clock has set is looked for, in milliseconds. */
const recoverEvery = 3_600_000;

/**
 * Runs jobs and the clock in this process. Processes on the same database share the work.
 *
 * @param now the time for clock tasks.
 * @throws Error if two jobs have the same name
 */
export async function startBackground(
  service: BackgroundService,
  { jobs, clockTasks }: BackgroundWork,
  now: () => Temporal.Instant = () => databaseClock.instant(),
): Promise<Background> {
  const { store, log } = service;
  const names = jobs.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new Error(`Two jobs have the name ${twice}.`);
  if (jobs.length === 0 && clockTasks.length === 0) return { stop: async () => {} };
  const table = new JobTable(store);
  const observer = observe(service, () => watch.lookSoon());
  const workers = jobs.map((job) => {
    const actions = {
      run: (claim: JobClaim) => runJob(service, job, claim),
      bury: (claim: JobClaim, reason: string) => buryJob(service, job, claim, reason),
    };
    return new Worker(table, job, actions, observer);
  });
  service.metrics.backgroundStarted(
    names,
    clockTasks.map(({ name }) => name),
  );
  const clock = new Clock(service, clockTasks, now);
  const stopping = new AbortController();
  let ticking: Promise<void> | undefined;
  const tick = (minute: number) => {
    // A tick ends before the next minute. One that does not is followed by the next one after it.
    ticking ??= leaseClock(store, minute, stopping.signal, (lease) => {
      service.metrics.clockTicked();
      return clock.tick(lease);
    })
      .catch((error: unknown) => log.warn({ err: error }, 'Clock tick failed; retrying in a minute.'))
      .finally(() => {
        ticking = undefined;
      });
  };
  // The embedded database has no other process: what it lists as running was interrupted when the last process ended.
  if (store.engine === 'pglite') await table.expireLeases();
  const recover = () =>
    recoverFromWrongClock(store).catch((error: unknown) =>
      log.warn({ err: error }, 'Looking for times set by a wrong clock failed.'),
    );
  await recover();
  const recovering = setInterval(recover, recoverEvery).unref();
  const watch: Watch = new Watch(table, log, workers, clockTasks.length === 0 ? undefined : tick);
  await watch.start();
  const renewals = setInterval(() => {
    for (const worker of workers) {
      worker.renewLeases().catch((error) => observer.failed(worker.job.name, error));
    }
  }, renewEvery);
  return {
    async stop(graceMilliseconds) {
      clearInterval(recovering);
      await watch.stop();
      const deadline = pause(graceMilliseconds, undefined, { ref: false });
      const clockStopped = Promise.race([ticking, deadline]).then(() => {
        stopping.abort(new Error('The process stops. The next tick continues.'));
        return ticking;
      });
      await Promise.all([clockStopped, ...workers.map((worker) => worker.stop(deadline))]);
      clearInterval(renewals);
    },
  };
}

/** @param onRetry is called when a job will run again. */
function observe({ log, metrics }: BackgroundService, onRetry: () => void): RunObserver {
  return {
    started: ({ name }, lagSeconds) => metrics.jobStarted(name, lagSeconds),
    ended(claim, outcome, seconds, error) {
      metrics.jobEnded(claim.name, outcome);
      if (outcome === 'retried') onRetry();
      const line = { job: claim.name, jobId: claim.id, attempt: claim.attempt, outcome, seconds };
      if (outcome === 'completed') log.info(line, 'Job ended.');
      else log[levels[outcome]]({ ...line, err: error }, messages[outcome]);
    },
    failed: (queue, error) => log.warn({ job: queue, err: error }, 'Job queue unavailable.'),
  };
}

type Interruption = Exclude<Outcome, 'completed'>;

const levels = {
  retried: 'warn',
  dead: 'error',
  returned: 'info',
  lost: 'warn',
  unsettled: 'warn',
} as const satisfies {
  [outcome in Interruption]: string;
};

const messages: { readonly [outcome in Interruption]: string } = {
  retried: 'A job failed, and will run again.',
  dead: 'A job failed for the last time.',
  returned: 'A job was returned to the queue because the process stops.',
  lost: 'Another process has the lease of the job.',
  unsettled: 'A job ended while the database was unavailable. It runs again.',
};
