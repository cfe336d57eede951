import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { OpenApiDocument } from '../document/document.ts';
import { operationsOf } from '../document/operation.ts';
import type { Candidate } from '../finding/finding.ts';
import { responseOf } from '../http/client.ts';
import { successIn } from '../judge/judge.ts';
import { inconsistent } from './arithmetic.ts';

const calculated = (calculated: object | false) => ({ 'x-contract-check': { calculated } });
const line = { properties: { lineTotal: calculated({ times: ['quantity', 'unitPrice'] }) } };
const order = {
  properties: {
    lines: { items: line },
    subtotal: calculated({ sum: 'lineTotal', of: 'lines' }),
    feeTotal: calculated({ sum: 'amount', of: 'fees' }),
    total: calculated({ plus: ['subtotal', 'feeTotal'], minus: ['discount'] }),
    rounded: calculated(false),
    points: { description: 'Lines times ten.' },
  },
};
const contract = {
  openapi: '3.1.0',
  info: { title: 'Orders', version: '1' },
  paths: {
    '/orders': {
      get: {
        operationId: 'listOrders',
        responses: {
          '200': { description: 'All.', content: { 'application/json': { schema: { items: order } } } },
        },
      },
    },
  },
};

let folder: string;
let found: (...orders: readonly object[]) => Candidate[];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'arithmetic-'));
  const file = join(folder, 'openapi.json');
  await writeFile(file, JSON.stringify(contract));
  const document = await OpenApiDocument.load(file);
  const [operation] = operationsOf(document);
  found = (...orders) => {
    const success = successIn({
      operation,
      request: { method: 'GET', url: 'http://localhost/orders', headers: {}, body: undefined },
      response: responseOf(200, { 'content-type': 'application/json' }, JSON.stringify(orders), 1),
    });
    return success === undefined ? [] : inconsistent(document, success);
  };
});
afterAll(() => rm(folder, { recursive: true }));

describe('a calculated number', () => {
  it.each([
    ['a product', { lines: [{ unitPrice: '4.50', quantity: 3, lineTotal: '4.50' }] }, '/*/lines/*/lineTotal', '13.5'],
    ['a sum over a list', { lines: [{ lineTotal: 1.1 }, { lineTotal: 2.2 }], subtotal: 1.1 }, '/*/subtotal', '3.3'],
    ['a difference', { subtotal: '9.00', feeTotal: '1.00', discount: '2.00', total: '10.00' }, '/*/total', '8'],
    ['one cent too many', { subtotal: '9.00', feeTotal: '0', discount: '0', total: '9.01' }, '/*/total', '9'],
  ])('is wrong: %s', (_name, wrong, pointer, expected) => {
    expect(found({}, wrong)).toMatchObject([
      { check: 'calculated-wrong', operation: 'listOrders', cause: `calculated-wrong listOrders ${pointer}` },
    ]);
    expect(found(wrong)[0]?.expected).toContain(`${expected}: {`);
  });

  it.each([
    ['correct, rounded up', { lines: [{ unitPrice: '0.335', quantity: 3, lineTotal: '1.01' }] }],
    ['rounded down', { lines: [{ unitPrice: '0.335', quantity: 3, lineTotal: '1.00' }] }],
    ['binary fractions', { lines: [{ lineTotal: 0.1 }, { lineTotal: 0.2 }], subtotal: 0.1 + 0.2 }],
    ['a missing part', { subtotal: '9.00', discount: '2.00', total: '10.00' }],
    ['a missing list', { subtotal: '9.00' }],
    ['a row without its number', { lines: [{ lineTotal: 1 }, {}], subtotal: 9 }],
    ['a property with calculated: false', { subtotal: 2, factor: 2, rounded: 9 }],
    ['a description', { lines: [{}], points: 3 }],
    ['no number', { subtotal: '9.00', feeTotal: '0', discount: '0', total: 'on request' }],
  ])('is not reported: %s', (_name, right) => {
    expect(found(right)).toEqual([]);
  });
});
