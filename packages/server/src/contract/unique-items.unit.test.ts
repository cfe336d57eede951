import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { allOperations } from './contract.ts';
import { addUniqueItems } from './unique-items.ts';
import { Unstorable } from './unstorable.ts';
import { createContractValidator } from './validator.ts';

const ajv = new Ajv2020({ strict: false });
addUniqueItems(ajv);
const isUnique = ajv.compile({ uniqueItems: true });
const isUniqueByAjv = new Ajv2020({ strict: false }).compile({ uniqueItems: true });

test('uniqueItems › finds the same lists invalid as Ajv does', () => {
  const item = fc.jsonValue({ maxDepth: 2 });
  // Equal items are rare among random ones.
  const items = fc
    .array(item, { maxLength: 4 })
    .chain((some) => fc.shuffledSubarray([...some, ...structuredClone(some)]))
    // Ajv calls these properties, and throws if one is no function.
    .filter((list) => !/"(toString|valueOf)":/.test(JSON.stringify(list)));
  fc.assert(
    fc.property(items, (list) => {
      expect(isUnique(list)).toBe(isUniqueByAjv(list));
    }),
    { numRuns: 500 },
  );
});

test.each([
  [
    [
      { a: 1, b: [2] },
      { b: [2], a: 1 },
    ],
    false,
  ],
  [[1, '1', true, 'true', null, 'null', [], {}, ['a,b'], ['a', 'b']], true],
  [[0, -0], false],
  [
    [
      ['a', 'b'],
      ['b', 'a'],
    ],
    true,
  ],
  [[{ toString: 1 }, { valueOf: 1 }, { toString: 1 }], false],
  ['no list', true],
])('uniqueItems › %j: %s', (list, expected) => {
  expect(isUnique(list)).toBe(expected);
});

test('uniqueItems › accepts values that cannot be stored, which are rejected elsewhere', () => {
  expect(isUnique([new Unstorable('long'), new Unstorable('other')])).toBe(true);
});

test('uniqueItems: false allows duplicate items', () => {
  expect(ajv.validate({ uniqueItems: false }, [1, 1])).toBe(true);
});

test('uniqueItems › reports the items that are equal', () => {
  expect(isUnique([1, 2, { a: 1 }, { a: 1 }])).toBe(false);
  expect(isUnique.errors).toMatchObject([{ instancePath: '', keyword: 'uniqueItems', params: { i: 2, j: 3 } }]);
});

test('createEngagement › looks at each item once to find duplicates', async () => {
  const validator = await createContractValidator();
  const operation = allOperations.find(({ id }) => id === 'createEngagement');
  if (operation === undefined) throw new Error('The contract has no operation createEngagement.');
  let reads = 0;
  const jobIds = Array.from({ length: 50 }, (_, index) => {
    const item = { index };
    return new Proxy(item, {
      ownKeys(target) {
        reads += 1;
        return Reflect.ownKeys(target);
      },
    });
  });
  const parts = { path: {}, query: {}, headers: { tenant: 'firm' }, body: { jobIds } };
  validator.request(operation, parts);
  // And once to count the values of the body.
  expect(reads).toBe(2 * jobIds.length);
});
