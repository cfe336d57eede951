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

export function createMetrics(): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const durations = new Histogram({
    name: 'http_server_answer_seconds',
    help: 'Response time, in seconds.',
    labelNames: ['operation', 'status'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
    registers: [registry],
  });
  const jobsRunning = new Gauge({
    name: 'background_jobs_running',
    help: 'Jobs that this process runs now.',
    labelNames: ['job'],
    registers: [registry],
  });
  const jobLag = new Histogram({
    name: 'background_job_lag_seconds',
    help: 'Time from when a job was due to when it started, in seconds.',
    labelNames: ['job'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 15, 60, 300, 1800],
    registers: [registry],
  });
  const jobs = new Counter({
    name: 'background_jobs_total',
    help: 'Runs of jobs that ended in this process, by how they ended.',
    labelNames: ['job', 'outcome'],
    registers: [registry],
  });
  const clockTasks = new Counter({
    name: 'clock_tasks_total',
    help: 'Runs of tasks of the clock, one for each tenant.',
    labelNames: ['task', 'outcome'],
    registers: [registry],
  });
  const deliveries = new Histogram({
    name: 'webhook_delivery_attempt_seconds',
    help: 'Time that an attempt to deliver an event took, in seconds, by how it ended.',
    labelNames: ['outcome'],
    buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15],
    registers: [registry],
  });
  const deliveryLag = new Histogram({
    name: 'webhook_event_lag_seconds',
    help: 'Time from when an event was recorded to the end of the first attempt to deliver it, in seconds.',
    buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 15, 60, 300, 1800],
    registers: [registry],
  });
  const deliveryWait = new Gauge({
    name: 'webhook_deliveries_waiting_seconds',
    help: 'For how long the deliveries of a subscription have been due that no process has begun, in seconds.',
    registers: [registry],
  });
  // Looking up the series of two labels costs more than counting; operations and statuses are few.
  const series = new Map<string, ReturnType<typeof durations.labels>>();
  return {
    registry,
    responded(operation, status, seconds) {
      const name = `${operation} ${status}`;
      let one = series.get(name);
      if (one === undefined) {
        one = durations.labels(operation, String(status));
        series.set(name, one);
      }
      one.observe(seconds);
    },
    jobStarted(job, lagSeconds) {
      jobsRunning.inc({ job });
      jobLag.observe({ job }, lagSeconds);
    },
    jobEnded(job, outcome) {
      jobsRunning.dec({ job });
      jobs.inc({ job, outcome });
    },
    clockTaskRan: (task, outcome) => clockTasks.inc({ task, outcome }),
    deliveryAttempted: (outcome, seconds) => deliveries.observe({ outcome }, seconds),
    eventArrived: (seconds) => deliveryLag.observe(seconds),
    deliveriesWait: (seconds) => deliveryWait.set(seconds),
    invalidResponses: new Counter({
      name: 'contract_wrong_answers_total',
      help: 'Responses that violated the contract, by whether they were sent or withheld.',
      labelNames: ['operation', 'status', 'outcome'],
      registers: [registry],
    }),
  };
}
