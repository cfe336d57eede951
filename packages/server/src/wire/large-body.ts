import type { Logger } from 'pino';
import { Counter, type Registry } from 'prom-client';
import type { Operation } from '../contract/contract.ts';
import type { OperationId } from '../contract/handler.ts';
import type { ProblemCode, ProblemDetail } from '../contract/problem.ts';
import { Rejection } from '../contract/rejection.ts';
import { sourceFile } from '../platform/source-file.ts';
import { limitNames, OverBudget, WorkerPool } from '../platform/worker-pool.ts';
import { type TransferredBody, unpackBody } from './body-transfer.ts';
import type { CheckedRequest, RawRequest } from './check-request.ts';

/** A request to check, sent to a worker thread. */
export interface Task {
  readonly operationId: OperationId;
  readonly request: RawRequest;
}

/** Result of a check: the body with the defaults of the contract filled in, or the reason for the rejection. */
export type BodyReport =
  | { readonly query: Record<string, unknown>; readonly body: TransferredBody; readonly bytes: RawRequest['bytes'] }
  | { readonly code: ProblemCode; readonly detail: string; readonly errors: readonly ProblemDetail[] | undefined }
  | { readonly failure: unknown };

export type CheckPool = Pick<WorkerPool<Task, BodyReport>, 'run'>;

/** Next to others, a tenant has one large body at a time: one worker remains for them. */
const workers = 2;

/**
 * Threads for the checks of this process. The costliest bodies within the limits of the contract take less than 200 ms of processor
 * time. The threads have a low priority, so that a busy machine takes longer.
 *
 * @param elapsed time that a check may take, in milliseconds
 */
export function createCheckPool(elapsed = 15_000): CheckPool {
  return new WorkerPool(sourceFile('wire/large-body-worker.ts'), { workers, cpu: 2_000, elapsed });
}

const pool = createCheckPool();

/**
 * Checks large bodies in worker threads that all services of this process share and the first large body starts. A check that
 * exceeds its time budget is ended.
 */
export class LargeBodyChecks {
  readonly #log: Logger;
  readonly #pool: CheckPool;
  readonly #stopped: Counter<'limit'>;

  constructor(registry: Registry, log: Logger, checkPool = pool) {
    this.#log = log;
    this.#pool = checkPool;
    const registers = [registry];
    this.#stopped = new Counter({
      name: 'large_body_checks_stopped_total',
      help: 'Checks of large bodies that were stopped because they exceeded their limit of processor time or of elapsed time.',
      labelNames: ['limit'],
      registers,
    });
    for (const limit of Object.keys(limitNames)) this.#stopped.inc({ limit }, 0);
  }

  /**
   * Runs `checkRequest` in a worker thread. The bytes of the request are moved there and, if it is
   * valid, back: copies would make V8 collect garbage twice as often.
   *
   * @throws like `checkRequest`; also Rejection `PAYLOAD_TOO_LARGE` or `SERVICE_UNAVAILABLE` if the check exceeds its budget
   */
  async check(operation: Operation, request: RawRequest, tenant: string, user: string): Promise<CheckedRequest> {
    const { path, query, headers, bytes } = request;
    const task = { operationId: operation.id, request: { path, query, headers: { ...headers }, bytes } };
    const size = bytes?.length;
    let report: BodyReport;
    try {
      report = await this.#pool.run(task, memoryOf(bytes));
    } catch (error) {
      if (!(error instanceof OverBudget)) throw error;
      const { limit } = error;
      this.#stopped.inc({ limit });
      this.#log.warn(
        { operation: operation.id, tenant, user, limit, bytes: size },
        'Check of a large body stopped at its time limit.',
      );
      throw budgetRejection(limit, 'The body takes');
    }
    if ('body' in report) return { query: report.query, body: unpackBody(report.body), bytes: report.bytes };
    if ('code' in report)
      throw new Rejection(report.code, report.detail, { ...(report.errors && { errors: report.errors }) });
    throw report.failure;
  }
}

/** The memory of bytes, unless others share it. */
export function memoryOf(bytes: Uint8Array | undefined): ArrayBuffer[] {
  const memory = bytes?.buffer;
  return memory instanceof ArrayBuffer && memory.byteLength === bytes?.byteLength ? [memory] : [];
}

/** @param subject what takes too long, with the verb. */
export function budgetRejection(limit: OverBudget['limit'], subject: string): Rejection {
  if (limit === 'cpu') return new Rejection('PAYLOAD_TOO_LARGE', `${subject} too long to check. Split the request.`);
  return new Rejection('SERVICE_UNAVAILABLE', 'The service is too busy to check the body. Try again in 1 second.');
}
