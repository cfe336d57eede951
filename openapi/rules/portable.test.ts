import { expect, test } from 'vitest';
import { inPortableForm } from './portable.ts';

test.each([
  [
    { type: 'string', const: 'BOAT' },
    { type: 'string', enum: ['BOAT'] },
  ],
  [
    { type: 'boolean', const: false },
    { type: 'boolean', enum: [false] },
  ],
  [
    { type: 'integer', const: 404 },
    { type: 'integer', enum: [404], format: 'int32' },
  ],
  [
    { type: 'integer', minimum: 0, maximum: 2 ** 31 - 1 },
    { type: 'integer', minimum: 0, maximum: 2 ** 31 - 1, format: 'int32' },
  ],
  [
    { type: ['integer', 'null'], minimum: 0, maximum: 2 ** 31 },
    { type: ['integer', 'null'], minimum: 0, maximum: 2 ** 31, format: 'int64' },
  ],
  [
    { type: ['integer', 'null'], enum: [1, null] },
    { type: ['integer', 'null'], enum: [1, null], format: 'int32' },
  ],
  [
    { type: 'integer', minimum: 1 },
    { type: 'integer', minimum: 1 },
  ],
  [{ type: 'string' }, { type: 'string' }],
])('the bundle writes %j as %j', (schema, form) => {
  expect(inPortableForm(schema)).toEqual(form);
});
