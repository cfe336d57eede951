import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { databaseClock } from '../database-clock.ts';
import type { Store } from '../store/store.ts';
import { createHistogram } from './histogram.ts';

const jobOutcomes = ['completed', 'retried', 'dead', 'returned', 'lost', 'unsettled'] as const;
const deliveryOutcomes = ['SUCCESS', 'FAILED', 'TIMEOUT', 'BLOCKED'] as const;
type JobOutcome = (typeof jobOutcomes)[number];
type DeliveryOutcome = (typeof deliveryOutcomes)[number];

export interface Metrics {
  readonly registry: Registry;
  /** Counts a response by operation and status, and records its duration. */
  responded(operation: string, status: number, seconds: number): void;
  /**
   * Responses that violated the contract; each one is a defect of the service. Those with rows that only exceed a bound
   * were sent, all others were withheld.
   */
  readonly invalidResponses: Counter<'operation' | 'outcome'>;
  /** Names the jobs and tasks of the clock that this process runs. */
  backgroundStarted(jobs: readonly string[], tasks: readonly string[]): void;
  /** Counts a job as running, and records the delay between its due time and its start. */
  jobStarted(job: string, lagSeconds: number): void;
  /** Counts the end of a job. */
  jobEnded(job: string, outcome: JobOutcome): void;
  /** Notes that the clock of this process ticks. */
  clockTicked(): void;
  /** Counts a run of a clock task for one tenant. */
  clockTaskRan(task: string, outcome: 'completed' | 'failed'): void;
  /** Counts an attempt to deliver an event, and records its duration. */
  deliveryAttempted(outcome: DeliveryOutcome, seconds: number): void;
  /** Records the time from the transaction of an event to the end of the first attempt to deliver it. */
  eventArrived(seconds: number): void;
  /** Records how long deliveries have been due without a process that sends them. */
  deliveriesWait(seconds: number): void;
}

/**
 * Series whose labels are known exist from the start, with 0: Prometheus does not see the increase of one that begins with 1.
 *
 * @param release that the process runs
 * @param operations the IDs of all operations
 */
export function createMetrics(release: string, operations: readonly string[]): Metrics {
  const registry = new Registry();
  const registers = [registry];
  const help = 'Release that the process runs; the value is always 1.';
  new Gauge({ name: 'service_release_info', help, labelNames: ['release'], registers }).set({ release }, 1);
  new Gauge({
    name: 'clock_ahead_seconds',
    help: 'By how much the clock of this machine is ahead of that of the database, in seconds.',
    registers,
    collect() {
      this.set(databaseClock.machineAhead() / 1000);
    },
  });
  return {
    registry,
    ...responseMetrics(registers, operations),
    ...jobMetrics(registers),
    ...deliveryMetrics(registers),
  };
}

/**
 * Measures this process: processor time, memory, garbage collection and the lag of the event loop. That never ends, so it is not a part of
 * each service, of which tests have many in a process.
 */
export function measureProcess(registry: Registry): void {
  collectDefaultMetrics({ register: registry });
}

/** Reports whether the process can serve, and whether its database waits to be adopted. */
export function measureState(
  store: Pick<Store, 'ready'>,
  lifetime: { readonly isDrill: boolean },
  registry: Registry,
): void {
  const registers = [registry];
  new Gauge({
    name: 'service_ready',
    help: '1 if the process can serve, as /readyz says.',
    registers,
    async collect() {
      this.set(
        await store.ready().then(
          () => 1,
          () => 0,
        ),
      );
    },
  });
  new Gauge({
    name: 'service_drill',
    help: '1 if the database was restored, or its standby promoted, and waits until it is adopted.',
    registers,
    collect() {
      this.set(lifetime.isDrill ? 1 : 0);
    },
  });
}

function responseMetrics(
  registers: Registry[],
  operations: readonly string[],
): Pick<Metrics, 'responded' | 'invalidResponses'> {
  const durations = createHistogram({
    name: 'http_server_request_duration_seconds',
    help: 'Response time, in seconds.',
    labelNames: ['operation', 'status'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
    registers,
  });
  const invalidResponses = new Counter({
    name: 'contract_violations_total',
    help: 'Responses that violated the contract, by whether they were sent or withheld.',
    labelNames: ['operation', 'outcome'],
    registers,
  });
  for (const operation of operations)
    for (const outcome of ['sent', 'withheld']) invalidResponses.inc({ operation, outcome }, 0);
  // Looking up the series of two labels costs more than counting; operations and statuses are few.
  const series = new Map<string, Map<number, ReturnType<typeof durations>>>();
  return {
    responded(operation, status, seconds) {
      const ofOperation = series.getOrInsertComputed(operation, () => new Map());
      ofOperation.getOrInsertComputed(status, () => durations(operation, String(status)))(seconds);
    },
    invalidResponses,
  };
}

function jobMetrics(
  registers: Registry[],
): Pick<Metrics, 'backgroundStarted' | 'jobStarted' | 'jobEnded' | 'clockTicked' | 'clockTaskRan'> {
  const running = new Gauge({
    name: 'background_jobs_running',
    help: 'Jobs that this process runs now.',
    labelNames: ['job'],
    registers,
  });
  const lag = new Histogram({
    name: 'background_job_lag_seconds',
    help: 'Time from when a job was due to when it started, in seconds.',
    labelNames: ['job'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 15, 60, 300, 1800],
    registers,
  });
  const runs = new Counter({
    name: 'background_jobs_total',
    help: 'Runs of jobs that ended in this process, by how they ended.',
    labelNames: ['job', 'outcome'],
    registers,
  });
  const clockTasks = new Counter({
    name: 'clock_tasks_total',
    help: 'Runs of tasks of the clock, one for each tenant.',
    labelNames: ['task', 'outcome'],
    registers,
  });
  const ticked = new Gauge({
    name: 'clock_last_tick_timestamp_seconds',
    help: 'When the clock of this process last ticked, in seconds since 1970; 0 before. One process at a time has the clock.',
    registers,
  });
  return {
    backgroundStarted(jobs, tasks) {
      for (const job of jobs) {
        running.inc({ job }, 0);
        lag.zero({ job });
        for (const outcome of jobOutcomes) runs.inc({ job, outcome }, 0);
      }
      for (const task of tasks) for (const outcome of ['completed', 'failed']) clockTasks.inc({ task, outcome }, 0);
    },
    clockTicked: () => ticked.set(databaseClock.now() / 1000),
    jobStarted(job, lagSeconds) {
      running.inc({ job });
      lag.observe({ job }, lagSeconds);
    },
    jobEnded(job, outcome) {
      running.dec({ job });
      runs.inc({ job, outcome });
    },
    clockTaskRan: (task, outcome) => clockTasks.inc({ task, outcome }),
  };
}

function deliveryMetrics(
  registers: Registry[],
): Pick<Metrics, 'deliveryAttempted' | 'eventArrived' | 'deliveriesWait'> {
  const attempts = new Histogram({
    name: 'webhook_delivery_attempt_seconds',
    help: 'Time that an attempt to deliver an event took, in seconds, by how it ended.',
    labelNames: ['outcome'],
    buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15],
    registers,
  });
  const lag = new Histogram({
    name: 'webhook_event_lag_seconds',
    help: 'Time from when an event was recorded to the end of the first attempt to deliver it, in seconds.',
    buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 15, 60, 300, 1800],
    registers,
  });
  const wait = new Gauge({
    name: 'webhook_deliveries_waiting_seconds',
    help: 'For how long the deliveries of a subscription have been due that no process has begun, in seconds.',
    registers,
  });
  for (const outcome of deliveryOutcomes) attempts.zero({ outcome });
  return {
    deliveryAttempted: (outcome, seconds) => attempts.observe({ outcome }, seconds),
    eventArrived: (seconds) => lag.observe(seconds),
    deliveriesWait: (seconds) => wait.set(seconds),
  };
}
