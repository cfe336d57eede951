import { describe, expect, test } from 'vitest';
import { allOperations } from '../contract/contract.ts';
import type { OperationId } from '../contract/handler.ts';
import { contractValidator } from '../contract/validator.ts';
import { findUnstorable } from './body.ts';
import { checkRequest } from './check-request.ts';
import { checkLargeRequest, largeBody } from './large-bodies.ts';

const validator = await contractValidator();

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

describe('a request with a large body', () => {
  test.each<[OperationId, string]>([
    ['upsertContacts', JSON.stringify({ contacts })],
    ['upsertRecords', JSON.stringify({ records }).replace(']}', `,${unstorable}]}`)],
    ['searchContacts', JSON.stringify({ where: filter })],
  ])('has the same result as in the main thread: %s', async (id, json) => {
    const here = await checkRequest(validator, operationOf(id), request(json));
    const there = await checkLargeRequest(operationOf(id), request(json));
    expect(there).toEqual(here);
    expect(findUnstorable(there.body)).toEqual(findUnstorable(here.body));
    expect(findUnstorable(there.body) === undefined).toBe(!json.includes('__proto__'));
  });

  test.each([
    ['values that violate the contract', JSON.stringify({ contacts: [...contacts, { firstName: 1, lastNam: 'x' }] })],
    ['no JSON', `${JSON.stringify({ contacts })}}`],
    ['a text with invalid characters', JSON.stringify({ contacts: [...contacts, { firstName: 'a\0' }] })],
  ])('is rejected with the same problem: %s', async (_what, json) => {
    const operation = operationOf('upsertContacts');
    const here = await checkRequest(validator, operation, request(json)).catch((error: unknown) => error);
    const there = await checkLargeRequest(operation, request(json)).catch((error: unknown) => error);
    expect(here).toMatchObject({ name: 'Problem', status: 400, message: expect.any(String) });
    expect(there).toEqual(here);
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
    const wrong = { ...operationOf('upsertContacts'), id: 'nothing' as OperationId };
    await expect(checkLargeRequest(wrong, request(JSON.stringify({ contacts })))).rejects.toThrow(
      'no operation nothing',
    );
    const json = JSON.stringify({ contacts });
    expect(await checkLargeRequest(operationOf('upsertContacts'), request(json))).toHaveProperty('body');
  });
});

test('a body with errors everywhere costs no more than one with a thousand errors', async () => {
  for (const item of [{ a: 1 }, [], 1]) {
    const body = { contacts: Array.from({ length: 20_000 }, () => item) };
    const parts = { path: {}, query: {}, headers: { tenant: 'firm' }, body };
    const { findings } = await validator.request(operationOf('upsertContacts'), parts);
    expect(findings.length).toBeGreaterThanOrEqual(1_000);
    expect(findings.length).toBeLessThan(2_000);
  }
  const names = Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [`name${index}`, 1]));
  const parts = { path: {}, query: {}, headers: { tenant: 'firm' }, body: names };
  const { findings } = await validator.request(operationOf('upsertContacts'), parts);
  expect(findings.length).toBeGreaterThanOrEqual(1_000);
  expect(findings.length).toBeLessThan(2_000);
});
