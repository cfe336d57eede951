/** Measures the validation of requests and responses alone; see README.md. `--rounds` sets how often. */

import { allOperations } from '@financial-automation/server/contract/contract';
import type { OperationId } from '@financial-automation/server/contract/handler';
import { contractValidator } from '@financial-automation/server/contract/validator';
import { exampleOf, exampleResponseOf } from '@financial-automation/server/test/bad-requests';
import { readOptions } from '../../scripts/options.ts';
import { median } from './median.ts';

const { values } = readOptions({
  options: { rounds: { type: 'string', default: '15' }, validation: { type: 'boolean' } },
});
const rounds = Number(values.rounds);
const rows = 50;

const memory = () => {
  globalThis.gc?.();
  return process.memoryUsage().heapUsed / 1e6;
};
const before = { heap: memory(), time: performance.now() };
const validator = await contractValidator();
console.log(`start: ${(performance.now() - before.time).toFixed(0)} ms`);

const compiling = performance.now();
for (const operation of allOperations) {
  const headers = { tenant: 'firm' };
  validator.request(operation, { path: {}, query: {}, headers, body: exampleOf(operation) });
  validator.response(operation, operation.statuses[0] ?? 200, 'application/json', {});
  validator.response(operation, 400, 'application/problem+json', {});
}
console.log(`first request and response of all operations: ${(performance.now() - compiling).toFixed(0)} ms`);
console.log(
  `heap: ${(memory() - before.heap).toFixed(0)} MB${globalThis.gc ? '' : ' (node --expose-gc measures it exactly)'}`,
);

for (const id of ['searchClients', 'searchContacts', 'searchInvoices'] as const) {
  const operation = operationOf(id);
  const page = exampleResponseOf(operation);
  const data = Array.from({ length: rows }, () => structuredClone(page.data[0]));
  const body = { ...page, data };
  const findings = validator.response(operation, 200, 'application/json', body);
  if (findings.length > 0) throw new Error(`The example of ${id} is invalid: ${JSON.stringify(findings)}`);
  report(
    `response of ${id} with ${rows} rows`,
    () => validator.response(operation, 200, 'application/json', body),
    200,
  );
}
for (const id of ['getClient', 'searchClients', 'upsertContacts', 'listFiles'] as const) {
  const operation = operationOf(id);
  const path: Record<string, string> = id === 'getClient' ? { id: '0199a1c2-0a05-7c01-8a4f-5d2e9b60f101' } : {};
  const headers = { tenant: 'firm', authorization: 'Bearer x', accept: '*/*', 'content-type': 'application/json' };
  const body = operation.bodyLimit === null ? undefined : exampleOf(operation);
  const query = id === 'listFiles' ? { page: '2', pageSize: '10' } : {};
  report(`request of ${id}`, () => validator.request(operation, { path, query: { ...query }, headers, body }), 2_000);
}

function report(what: string, run: () => unknown, times: number): void {
  for (let time = 0; time < times; time++) run();
  const samples: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const started = process.cpuUsage();
    for (let time = 0; time < times; time++) run();
    const { user, system } = process.cpuUsage(started);
    samples.push((user + system) / times);
  }
  console.log(`${what}: ${median(samples).toFixed(1)} µs`);
}

function operationOf(id: OperationId) {
  const operation = allOperations.find((one) => one.id === id);
  if (operation === undefined) throw new Error(`The contract has no operation ${id}.`);
  return operation;
}
