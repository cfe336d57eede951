import { Worker } from 'node:worker_threads';
import type { Operation } from '../contract/contract.ts';
import type { OperationId } from '../contract/handler.ts';
import { sourceFile } from '../source-file.ts';
import { type TransferredBody, unpackBody } from './body-transfer.ts';
import type { CheckedRequest, RawRequest } from './check-request.ts';
import { Problem, type ProblemCode, type ProblemDetail } from './problem.ts';

/**
 * From this size on, in bytes, a body is read and checked in a thread of its own. A megabyte takes 50 ms and more, in which
 * this thread would answer nobody; below this size it is a millisecond or two, and the way to the thread costs as much.
 */
export const largeBody = 32 * 1024;

/** A request on its way to the thread. */
export interface Task {
  readonly id: number;
  readonly operationId: OperationId;
  readonly request: RawRequest;
}

/** What comes back: the body with the defaults of the contract filled in, or why the request is rejected. */
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
 * `checkRequest` in another thread, which all services of this process share. It is started with the first large body.
 *
 * @throws as `checkRequest`.
 */
export function checkLargeRequest(operation: Operation, request: RawRequest): Promise<CheckedRequest> {
  const id = ++lastId;
  const checked = new Promise<CheckedRequest>((resolve, reject) => waiting.set(id, { resolve, reject }));
  worker ??= start();
  // What is at work is waited for; a thread without work does not keep the process.
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
