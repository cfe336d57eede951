import { Worker } from 'node:worker_threads';
import type { Operation } from '../contract/contract.ts';
import type { OperationId } from '../contract/handler.ts';
import { sourceFile } from '../source-file.ts';
import { type TransferredBody, unpackBody } from './body-transfer.ts';
import type { CheckedRequest, RawRequest } from './check-request.ts';
import { Problem, type ProblemCode, type ProblemDetail } from './problem.ts';

/**
 * Bodies of at least this many bytes are parsed and validated in a separate thread. A megabyte takes 50 ms and more,
 * which would block all other requests; below this size it takes a millisecond or two, as much as the transfer to the
 * thread.
 */
export const largeBody = 32 * 1024;

/** A request to check, sent to the worker thread. */
export interface Task {
  readonly id: number;
  readonly operationId: OperationId;
  readonly request: RawRequest;
}

/** Result of a check: the body with the defaults of the contract filled in, or the reason for the rejection. */
export type Report = { readonly id: number } & (
  | { readonly query: Record<string, unknown>; readonly body: TransferredBody }
  | { readonly code: ProblemCode; readonly detail: string; readonly errors: readonly ProblemDetail[] | undefined }
  | { readonly failure: unknown }
);

interface Waiting {
  resolve(checked: CheckedRequest): void;
  reject(error: unknown): void;
}

let worker: Worker | undefined;
let lastId = 0;
const waiting = new Map<number, Waiting>();

/**
 * Runs `checkRequest` in a worker thread that all services of this process share and the first large body starts.
 *
 * @throws like `checkRequest`.
 */
export function checkLargeRequest(operation: Operation, request: RawRequest): Promise<CheckedRequest> {
  const id = ++lastId;
  const checked = new Promise<CheckedRequest>((resolve, reject) => waiting.set(id, { resolve, reject }));
  worker ??= start();
  // A thread at work keeps the process alive; an idle one does not.
  worker.ref();
  const { path, query, headers, bytes } = request;
  worker.postMessage({
    id,
    operationId: operation.id,
    request: { path, query, headers: { ...headers }, bytes },
  } satisfies Task);
  return checked;
}

function start(): Worker {
  const started = new Worker(sourceFile('http/large-bodies-worker.ts'));
  started.on('message', (report: Report) => {
    const { resolve, reject } = waiting.get(report.id) ?? {};
    waiting.delete(report.id);
    if (waiting.size === 0) started.unref();
    if ('body' in report) resolve?.({ query: report.query, body: unpackBody(report.body) });
    else if ('code' in report)
      reject?.(new Problem(report.code, report.detail, { ...(report.errors && { errors: report.errors }) }));
    else reject?.(report.failure);
  });
  const stopped = (error: unknown) => {
    if (worker !== started) return;
    worker = undefined;
    for (const { reject } of waiting.values()) reject(error);
    waiting.clear();
  };
  started.on('error', stopped);
  started.on('exit', (code) => stopped(new Error(`The thread that checks large bodies ended with code ${code}.`)));
  return started;
}
