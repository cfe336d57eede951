import { Ajv2020, type Options } from 'ajv/dist/2020.js';
import { expect, test } from 'vitest';
import { addClosedObjects } from './closed-objects.ts';

const properties = Object.fromEntries([...'abcdefghij'].map((name) => [name, { type: 'number', minimum: 1 }]));
const closed = { type: 'object', additionalProperties: false };
const schemas = [
  { ...closed, properties },
  { ...closed, properties: { a: { type: 'number' } }, required: ['b'] },
  closed,
  { ...closed, properties, patternProperties: { '^x': { type: 'string' } } },
  { type: 'object', properties, additionalProperties: true },
  { type: 'object', properties, additionalProperties: { type: 'string' } },
  { ...closed, properties: { a: { ...closed, properties } } },
  { properties: { a: { type: 'number' } }, allOf: [{ properties }], unevaluatedProperties: false },
];
const values = [
  {},
  { a: 1 },
  { a: 0, j: 0 },
  { y: 1, a: 0, z: 2 },
  { xy: 'x' },
  { xy: 1 },
  { a: { b: 1, k: 1 } },
  1,
  null,
];
// Own properties that share names with those of every object.
const special = ['__proto__', 'constructor', 'toString'].map((name) => JSON.parse(`{"a":1,"${name}":1}`));

test.each<Options>([{ allErrors: true }, { allErrors: false }, { allErrors: true, verbose: true, useDefaults: true }])(
  'additionalProperties has the errors of the general keyword, in the same order, with %j',
  (options) => {
    const general = new Ajv2020({ ...options, strict: false });
    const quick = new Ajv2020({ ...options, strict: false });
    addClosedObjects(quick);
    for (const schema of schemas) {
      const [expected, actual] = [general.compile(schema), quick.compile(schema)];
      const errorsOf = (validate: typeof actual, value: unknown) => (validate(value) ? [] : validate.errors);
      for (const value of [...values, ...special]) expect(errorsOf(actual, value)).toEqual(errorsOf(expected, value));
    }
  },
);
