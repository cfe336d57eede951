import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

export interface Metrics {
  readonly registry: Registry;
  /** Counts a response by operation and status, and records its duration. */
  responded(operation: string, status: number, seconds: number): void;
  /**
   * Responses that violated the contract; each one is a defect of the service. Those with rows that only exceed a bound
   * were sent, all others were withheld.
   */
  readonly invalidResponses: Counter<'operation' | 'status' | 'outcome'>;
  /** Counts a job as running, and records the delay between its due time and its start. */
  jobStarted(job: string, lagSeconds: number): void;
  /** Counts the end of a job. */
  jobEnded(job: string, outcome: string): void;
  /** Counts a run of a clock task for one tenant. */
  clockTaskRan(task: string, outcome: 'completed' | 'failed'): void;
  /** Counts an attempt to deliver an event, and records its duration. */
  deliveryAttempted(outcome: string, seconds: number): void;
  /** Records the time from the transaction of an event to the end of the first attempt to deliver it. */
  eventArrived(seconds: number): void;
  /** Records how long deliveries have been due without a process that sends them. */
  deliveriesWait(seconds: number): void;
}

/** @param release that the process runs */
export function createMetrics(release: string): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const registers = [registry];
  const help = 'Release that the process runs; the value is always 1.';
  new Gauge({ name: 'service_release_info', help, labelNames: ['release'], registers }).set({ release }, 1);
  return { registry, ...responseMetrics(registers), ...jobMetrics(registers), ...deliveryMetrics(registers) };
}

function responseMetrics(registers: Registry[]): Pick<Metrics, 'responded' | 'invalidResponses'> {
  const durations = new Histogram({
    name: 'http_server_request_duration_seconds',
    help: 'Response time, in seconds.',
    labelNames: ['operation', 'status'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
    registers,
  });
  const invalidResponses = new Counter({
    name: 'contract_violations_total',
    help: 'Responses that violated the contract, by whether they were sent or withheld.',
    labelNames: ['operation', 'status', 'outcome'],
    registers,
  });
  // Looking up the series of two labels costs more than counting; operations and statuses are few.
  const series = new Map<string, Map<number, ReturnType<typeof durations.labels>>>();
  return {
    responded(operation, status, seconds) {
      let ofOperation = series.get(operation);
      if (ofOperation === undefined) {
        ofOperation = new Map();
        series.set(operation, ofOperation);
      }
      let one = ofOperation.get(status);
      if (one === undefined) {
        one = durations.labels(operation, String(status));
        ofOperation.set(status, one);
      }
      one.observe(seconds);
    },
    invalidResponses,
  };
}

function jobMetrics(registers: Registry[]): Pick<Metrics, 'jobStarted' | 'jobEnded' | 'clockTaskRan'> {
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
  return {
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
  return {
    deliveryAttempted: (outcome, seconds) => attempts.observe({ outcome }, seconds),
    eventArrived: (seconds) => lag.observe(seconds),
    deliveriesWait: (seconds) => wait.set(seconds),
  };
}
