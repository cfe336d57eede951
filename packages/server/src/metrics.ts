import { Counter, collectDefaultMetrics, Histogram, Registry } from 'prom-client';

export interface Metrics {
  readonly registry: Registry;
  /** Seconds per answer, by operation and status. */
  readonly answers: Histogram<'operation' | 'status'>;
  /** Answers that broke the contract; each is a defect of ours. */
  readonly wrongAnswers: Counter<'operation' | 'status'>;
}

export function createMetrics(): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  return {
    registry,
    answers: new Histogram({
      name: 'http_server_answer_seconds',
      help: 'Time to answer, in seconds.',
      labelNames: ['operation', 'status'],
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
      registers: [registry],
    }),
    wrongAnswers: new Counter({
      name: 'contract_wrong_answers_total',
      help: 'Answers that broke the contract.',
      labelNames: ['operation', 'status'],
      registers: [registry],
    }),
  };
}
