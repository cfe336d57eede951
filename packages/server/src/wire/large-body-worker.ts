/** A worker thread of `large-body.ts`: checks one request after the other. */

import { readlinkSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import { parentPort } from 'node:worker_threads';
import { allOperations } from '../contract/contract.ts';
import { Rejection } from '../contract/rejection.ts';
import { contractValidator } from '../contract/validator.ts';
import { packBody } from './body-transfer.ts';
import { checkRequest } from './check-request.ts';
import { type BodyReport, memoryOf, type Task } from './large-body.ts';

const operations = new Map(allOperations.map((operation) => [operation.id, operation]));

if (process.platform === 'linux') lowerPriority();

const validator = await contractValidator();
parentPort?.on('message', (task: Task) => {
  const report = check(task);
  parentPort?.postMessage(report, 'body' in report ? [report.body.json.buffer, ...memoryOf(report.bytes)] : []);
});
parentPort?.postMessage('ready');

/** Small requests come first on a machine with few processors. On Linux, a thread can have its own priority. */
function lowerPriority(): void {
  const [, threadId] = /task\/(\d+)$/.exec(readlinkSync('/proc/thread-self')) ?? [];
  if (threadId !== undefined) setPriority(Number(threadId), constants.priority.PRIORITY_LOW);
}

function check({ operationId, request }: Task): BodyReport {
  try {
    const operation = operations.get(operationId);
    if (operation === undefined) throw new Error(`The contract has no operation ${operationId}.`);
    const { query, body } = checkRequest(validator, operation, request);
    return { query, body: packBody(body), bytes: request.bytes };
  } catch (error) {
    if (error instanceof Rejection) return { code: error.problemCode, detail: error.message, errors: error.errors };
    return { failure: error };
  }
}
