import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { OpenApiDocument } from '../document/document.ts';
import { operationsOf } from '../document/operation.ts';
import { responseOf } from '../http/client.ts';
import type { Candidate } from '../judge/judge.ts';
import { miscalculated } from './arithmetic.ts';

const described = (description: string, more: object = {}) => ({ description, ...more });
const line = {
  properties: {
    unitPrice: described('The price of one.'),
    quantity: described('How many.'),
    vatPercent: described('Of a hundred.'),
    lineTotal: described('`quantity` times unit price, rounded half up.'),
    gross: described('The unit price plus vatPercent.'),
  },
};
const order = {
  properties: {
    lines: { items: line },
    fees: { items: { properties: { amount: {}, waived: {} } } },
    subtotal: described('The sum of all lineTotals. Without fees.'),
    feeTotal: described('The sum of the amounts of all fees; one without an amount counts as nothing.'),
    total: described('Subtotal plus fee total less discount.'),
    discount: described('What is taken off.'),
    rounded: described('Subtotal times factor, rounded.', { 'x-contract-check': { calculated: false } }),
    factor: {},
    due: described('The sum of all lineTotals but those that are paid.'),
    points: described('Lines times ten.'),
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
  found = (...orders) =>
    miscalculated(document, {
      operation,
      request: { method: 'GET', url: 'http://localhost/orders', headers: {}, body: undefined },
      response: responseOf(200, { 'content-type': 'application/json' }, JSON.stringify(orders), 1),
    });
});
afterAll(() => rm(folder, { recursive: true }));

describe('a calculated number', () => {
  it.each([
    ['a product', { lines: [{ unitPrice: '4.50', quantity: 3, lineTotal: '4.50' }] }, '/*/lines/*/lineTotal', '13.5'],
    ['a sum over a list', { lines: [{ lineTotal: 1.1 }, { lineTotal: 2.2 }], subtotal: 1.1 }, '/*/subtotal', '3.3'],
    ['a sum over optional values', { fees: [{ amount: 2 }, { amount: null }], feeTotal: 4 }, '/*/feeTotal', '2'],
    ['a difference', { subtotal: '9.00', feeTotal: '1.00', discount: '2.00', total: '10.00' }, '/*/total', '8'],
    ['one cent too many', { subtotal: '9.00', feeTotal: '0', discount: '0', total: '9.01' }, '/*/total', '9'],
  ])('is wrong: %s', (_name, wrong, pointer, expected) => {
    expect(found({}, wrong)).toMatchObject([
      { check: 'calculated-wrong', operation: 'listOrders', cause: `calculated-wrong listOrders ${pointer}` },
    ]);
    expect(found(wrong)[0]?.expected).toContain(`${expected}: "`);
  });

  it.each([
    ['correct, rounded up', { lines: [{ unitPrice: '0.335', quantity: 3, lineTotal: '1.01' }] }],
    ['rounded down', { lines: [{ unitPrice: '0.335', quantity: 3, lineTotal: '1.00' }] }],
    ['binary fractions', { lines: [{ lineTotal: 0.1 }, { lineTotal: 0.2 }], subtotal: 0.1 + 0.2 }],
    ['a missing part', { subtotal: '9.00', discount: '2.00', total: '10.00' }],
    ['a missing list', { subtotal: '9.00' }],
    ['a row without its number', { lines: [{ lineTotal: 1 }, {}], subtotal: 9 }],
    ['a percentage', { lines: [{ unitPrice: 10, vatPercent: 20, gross: 12 }] }],
    ['a property with calculated: false', { subtotal: 2, factor: 2, rounded: 9 }],
    ['a condition', { lines: [{ lineTotal: 1 }, { lineTotal: 2 }], due: 1 }],
    ['an unknown property', { lines: [{}], points: 3 }],
    ['no number', { subtotal: '9.00', feeTotal: '0', discount: '0', total: 'on request' }],
  ])('is not reported: %s', (_name, right) => {
    expect(found(right)).toEqual([]);
  });
});
