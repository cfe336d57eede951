import { Counter, collectDefaultMetrics, Histogram, Registry } from 'prom-client';

export interface Metrics {
  readonly registry: Registry;
  /** Counts an answer, by operation and status, and how long it took. */
  answered(operation: string, status: number, seconds: number): void;
  /** Answers that broke the contract; each is a defect of ours. */
  readonly wrongAnswers: Counter<'operation' | 'status'>;
}

export function createMetrics(): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const answers = new Histogram({
    name: 'http_server_answer_seconds',
    help: 'Time to answer, in seconds.',
    labelNames: ['operation', 'status'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
    registers: [registry],
  });
  // Finding the series of two labels costs more than counting in it; operations and statuses are few.
  const series = new Map<string, ReturnType<typeof answers.labels>>();
  return {
    registry,
    answered(operation, status, seconds) {
      const name = `${operation} ${status}`;
      let one = series.get(name);
      if (one === undefined) {
        one = answers.labels(operation, String(status));
        series.set(name, one);
      }
      one.observe(seconds);
    },
    wrongAnswers: new Counter({
      name: 'contract_wrong_answers_total',
      help: 'Answers that broke the contract.',
      labelNames: ['operation', 'status'],
      registers: [registry],
    }),
  };
}
