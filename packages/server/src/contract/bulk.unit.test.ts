import { expect, test } from 'vitest';
import { isBulk } from './bulk.ts';
import { contract } from './contract.ts';

const { bulk } = contract['x-write-limits'];
const items = (count: number) => Array.from({ length: count }, () => ({ name: 'x' }));

test.each([
  ['no body', undefined, false],
  ['null', null, false],
  ['a text', 'x'.repeat(100), false],
  ['an object of many properties', Object.fromEntries(items(100).map((item, index) => [`p${index}`, item])), false],
  ['a list of one item less', { records: items(bulk - 1) }, false],
  ['a list', { records: items(bulk) }, true],
  ['a list in a list', { contacts: [{ clients: items(bulk - 1) }] }, true],
  ['several lists', { added: items(bulk - 1), removed: items(1) }, true],
  ['lists of values', { ids: Array.from({ length: bulk }, () => 'x') }, true],
])('isBulk › counts the items of all lists: %s', (_what, body, expected) => {
  expect(isBulk(body)).toBe(expected);
});
