import { pino } from 'pino';
import { Registry } from 'prom-client';
import { describe, expect, test } from 'vitest';
import { patientChecks } from '../../test/patient-limits.ts';
import { largeBody } from '../contract/bulk.ts';
import { allOperations, type Operation } from '../contract/contract.ts';
import type { OperationId } from '../contract/handler.ts';
import { findUnstorable } from '../contract/unstorable.ts';
import { contractValidator } from '../contract/validator.ts';
import { OverBudget } from '../platform/worker-pool.ts';
import { packBody } from './body-transfer.ts';
import { checkRequest, type RawRequest } from './check-request.ts';
import { LargeBodyChecks } from './large-body.ts';

const validator = await contractValidator();
const checks = new LargeBodyChecks(new Registry(), pino({ level: 'silent' }), patientChecks);

function checkLargeRequest(operation: Operation, raw: RawRequest) {
  return checks.check(operation, raw, 'firm', 'user');
}

function operationOf(id: OperationId) {
  const operation = allOperations.find((one) => one.id === id);
  if (operation === undefined) throw new Error(`The contract has no operation ${id}.`);
  return operation;
}

function request(json: string) {
  expect(json.length).toBeGreaterThan(largeBody);
  const headers = { tenant: 'firm', authorization: 'Bearer x' };
  return { path: {}, query: {}, headers, bytes: Buffer.from(json) };
}

const contacts = Array.from({ length: 99 }, (_, index) => ({
  firstName: 'Ine\u0301s',
  lastName: `Calder ${index}`.padEnd(100, '.'),
  title: 't'.repeat(100),
  email: `${'a'.repeat(60)}@${'b'.repeat(60)}.example.com`,
}));
const records = contacts.map((attributes, index) => ({ type: 'Contact', systemRef: `C-${index}`, attributes }));
const unstorable =
  '{"type":"Boat","systemRef":"B","attributes":{"__proto__":{"a":1},"list":[1,{"much":12345678901234567890}]}}';
const filter = { displayName: { _in: contacts.flatMap(({ lastName }) => [lastName, lastName.padEnd(400)]) } };

function problemOf(operation: Operation, parts: RawRequest): unknown {
  try {
    return checkRequest(validator, operation, parts);
  } catch (error) {
    return error;
  }
}

describe('a request with a large body', () => {
  test.each<[OperationId, string]>([
    ['upsertContacts', JSON.stringify({ contacts })],
    ['upsertRecords', JSON.stringify({ records }).replace(']}', `,${unstorable}]}`)],
    ['searchContacts', JSON.stringify({ where: filter })],
  ])('has the same result as in the main thread: %s', async (id, json) => {
    const { bytes: _bytes, ...here } = checkRequest(validator, operationOf(id), request(json));
    const { bytes, ...there } = await checkLargeRequest(operationOf(id), request(json));
    expect(there).toEqual(here);
    expect(Buffer.from(bytes ?? []).toString()).toBe(json);
    expect(findUnstorable(there.body)).toEqual(findUnstorable(here.body));
    expect(findUnstorable(there.body) === undefined).toBe(!json.includes('__proto__'));
  });

  test.each([
    ['values that violate the contract', JSON.stringify({ contacts, contact: 1 })],
    ['no JSON', `${JSON.stringify({ contacts })}}`],
    ['a text with invalid characters', JSON.stringify({ contacts: [...contacts, { firstName: 'a\0' }] })],
  ])('is rejected with the same problem: %s', async (_what, json) => {
    const operation = operationOf('upsertContacts');
    const here = problemOf(operation, request(json));
    const there = await checkLargeRequest(operation, request(json)).catch((error: unknown) => error);
    expect(here).toMatchObject({ name: 'Rejection', status: 400, message: expect.any(String) });
    expect(there).toEqual(here);
  });

  test('is moved to the thread, and not copied', async () => {
    const { bytes, ...raw } = request(JSON.stringify({ contacts }));
    const own = new Uint8Array(bytes);
    await checkLargeRequest(operationOf('upsertContacts'), { ...raw, bytes: own });
    expect(own.buffer.detached).toBe(true);
  });

  test('does not block the main thread, however long it takes', async () => {
    const json = `{"contacts":[${Array.from({ length: 99_000 }, () => '[]').join(',')}]}`;
    let isPending = true;
    const checked = checkLargeRequest(operationOf('upsertContacts'), request(json)).finally(() => {
      isPending = false;
    });
    let turns = 0;
    const turn = () => {
      turns += 1;
      if (isPending) setImmediate(turn);
    };
    turn();
    await expect(checked).rejects.toMatchObject({ code: 'VALIDATION_ERROR' });
    expect(turns).toBeGreaterThan(100);
  });

  test('is checked again after the thread has failed', async () => {
    const wrong: Operation = { ...operationOf('upsertContacts'), id: 'nothing' as OperationId };
    await expect(checkLargeRequest(wrong, request(JSON.stringify({ contacts })))).rejects.toThrow(
      'no operation nothing',
    );
    const json = JSON.stringify({ contacts });
    expect(await checkLargeRequest(operationOf('upsertContacts'), request(json))).toHaveProperty('body');
  });
});

describe('the check of a large body', () => {
  const json = JSON.stringify({ contacts });
  const operation = operationOf('upsertContacts');

  /** Checks whose workers are replaced: each check lasts until the test ends it. */
  function pendingChecks() {
    const running: { readonly user: unknown; end(error?: unknown): void }[] = [];
    const lines: unknown[] = [];
    const registry = new Registry();
    const log = pino({ base: null }, { write: (line) => lines.push(JSON.parse(line)) });
    const pending = new LargeBodyChecks(registry, log, {
      run: ({ request: { headers } }) =>
        new Promise((resolve, reject) => {
          const end = (error?: unknown) => {
            running.splice(running.indexOf(entry), 1);
            if (error === undefined) resolve({ query: {}, body: packBody({}), bytes: undefined });
            else reject(error);
          };
          const entry = { user: headers.user, end };
          running.push(entry);
        }),
    });
    const start = (tenant: string, user: string) => {
      const raw = request(json);
      return pending.check(operation, { ...raw, headers: { user: `${tenant}/${user}` } }, tenant, user);
    };
    return { running, lines, registry, start };
  }

  test.each([
    ['cpu', 413, 'PAYLOAD_TOO_LARGE', 'Split the request.'],
    ['elapsed', 503, 'SERVICE_UNAVAILABLE', 'Try again'],
  ] as const)(
    'is rejected if it exceeds its budget, with a log line and a metric: %s',
    async (limit, status, code, advice) => {
      const { running, lines, registry, start } = pendingChecks();
      const [stopped, next] = [start('busy', '1'), start('busy', '2')];
      await Promise.resolve();
      running[0]?.end(new OverBudget(limit));
      await expect(stopped).rejects.toMatchObject({ status, code, message: expect.stringContaining(advice) });
      expect(lines).toMatchObject([{ level: 40, operation: 'upsertContacts', tenant: 'busy', user: '1', limit }]);
      expect(await registry.metrics()).toContain(`large_body_checks_stopped_total{limit="${limit}"} 1`);
      running[0]?.end();
      expect(await next).toHaveProperty('body');
    },
  );
});

test.each([
  ['lists', `{"contacts":[${Array.from({ length: 8_000 }, () => '[]').join(',')}]}`],
  ['unknown properties', `{${Array.from({ length: 3_000 }, (_, index) => `"name${index}":1`).join(',')}}`],
])('validation stops at the first error of a body with many values: %s', (_what, json) => {
  const { path, query, headers } = request(json.padEnd(largeBody + 1));
  const parts = { path, query, headers, bytes: Buffer.from(json) };
  const problem = problemOf(operationOf('upsertContacts'), parts);
  expect(problem).toMatchObject({ code: 'VALIDATION_ERROR', errors: [expect.anything()] });
});

test('a body with fewer values is reported with at most 100 errors', () => {
  const bytes = Buffer.from(`{"engagements":[${Array.from({ length: 150 }, () => '[]').join(',')}]}`);
  const parts = { path: {}, query: {}, headers: { tenant: 'firm' }, bytes };
  const operation = operationOf('createEngagementBatch');
  const problem = problemOf(operation, parts);
  expect(problem).toMatchObject({ code: 'VALIDATION_ERROR', errors: { length: 100 } });
});
