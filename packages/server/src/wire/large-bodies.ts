import type { Logger } from 'pino';
import { Counter, type Registry } from 'prom-client';
import { type ShareLimits, Shares } from '../admission/shares.ts';
import type { Operation } from '../contract/contract.ts';
import type { OperationId } from '../contract/handler.ts';
import type { ProblemCode, ProblemDetail } from '../contract/problem.ts';
import { Rejection } from '../contract/rejection.ts';
import { sourceFile } from '../platform/source-file.ts';
import { OverBudget, WorkerPool } from '../platform/worker-pool.ts';
import { type TransferredBody, unpackBody } from './body-transfer.ts';
import type { CheckedRequest, RawRequest } from './check-request.ts';

/**
 * Bodies of at least this many bytes are parsed and validated in a separate thread. A megabyte takes 50 ms and more,
 * which would block all other requests; below this size it takes a millisecond or two, as much as the transfer to the
 * thread.
 */
export const largeBody = 32 * 1024;

/** A request to check, sent to a worker thread. */
export interface Task {
  readonly operationId: OperationId;
  readonly request: RawRequest;
}

/** Result of a check: the body with the defaults of the contract filled in, or the reason for the rejection. */
export type Report =
  | { readonly query: Record<string, unknown>; readonly body: TransferredBody; readonly bytes: RawRequest['bytes'] }
  | { readonly code: ProblemCode; readonly detail: string; readonly errors: readonly ProblemDetail[] | undefined }
  | { readonly failure: unknown };

export type CheckPool = Pick<WorkerPool<Task, Report>, 'run'>;

/** One tenant can keep one worker busy; the other one remains for all others. */
const workers = 2;

/**
 * Threads for the checks of this process. The costliest bodies within the limits of the contract take less than 200 ms of processor
 * time. The threads have a low priority, so that a busy machine takes longer.
 *
 * @param elapsed time that a check may take, in milliseconds
 */
export function createCheckPool(elapsed = 15_000): CheckPool {
  return new WorkerPool(sourceFile('wire/large-bodies-worker.ts'), { workers, cpu: 2_000, elapsed });
}

const pool = createCheckPool();

const turnLimits: ShareLimits = {
  total: workers,
  perTenant: 1,
  perUser: 1,
  wait: 10_000,
  waiting: 100,
  subject: 'requests with large bodies',
};

/**
 * Checks large bodies in worker threads that all services of this process share and the first large body starts. Tenants
 * take turns, and a check that exceeds its time budget is ended.
 */
export class LargeBodyChecks {
  readonly #log: Logger;
  readonly #pool: CheckPool;
  readonly #turns: Shares;
  readonly #stopped: Counter<'limit'>;

  constructor(registry: Registry, log: Logger, checkPool = pool) {
    this.#log = log;
    this.#pool = checkPool;
    const registers = [registry];
    const rejections = new Counter({
      name: 'large_body_checks_rejected_total',
      help: 'Requests with large bodies that were rejected because others were being checked for too long.',
      labelNames: ['limit'],
      registers,
    });
    this.#turns = new Shares(turnLimits, { started() {}, rejected: (limit) => rejections.inc({ limit }) });
    this.#stopped = new Counter({
      name: 'large_body_checks_stopped_total',
      help: 'Checks of large bodies that were stopped because they exceeded their limit of processor time or of elapsed time.',
      labelNames: ['limit'],
      registers,
    });
  }

  /**
   * Runs `checkRequest` in a worker thread, when it is the turn of the tenant. The bytes of the request are moved there and, if it is
   * valid, back: copies would make V8 collect garbage twice as often.
   *
   * @throws like `checkRequest`; also Rejection `PAYLOAD_TOO_LARGE` if the check exceeds its budget, and
   * `CONCURRENCY_LIMITED` or `SERVICE_UNAVAILABLE` if its turn does not come.
   */
  async check(operation: Operation, request: RawRequest, tenant: string, user: string): Promise<CheckedRequest> {
    using places = new DisposableStack();
    places.defer(await this.#turns.enter(tenant, user));
    const { path, query, headers, bytes } = request;
    const task = { operationId: operation.id, request: { path, query, headers: { ...headers }, bytes } };
    const size = bytes?.length;
    let report: Report;
    try {
      report = await this.#pool.run(task, memoryOf(bytes));
    } catch (error) {
      if (!(error instanceof OverBudget)) throw error;
      const { limit } = error;
      this.#stopped.inc({ limit });
      this.#log.warn(
        { operation: operation.id, tenant, user, limit, bytes: size },
        'The check of a large body exceeded its time limit and was stopped.',
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
  const headers = { 'Retry-After': '1' };
  return new Rejection('SERVICE_UNAVAILABLE', 'The service is too busy to check the body. Try again in 1 second.', {
    headers,
  });
}
