import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { OpenApiDocument } from '../document/document.ts';
import type { JsonObject } from '../json.ts';
import { lengthOf } from './texts.ts';
import { Validators } from './validators.ts';
import { Values } from './values.ts';
import { boundsOf } from './variants.ts';

const text = { type: 'string' };

/** Keyword, schema, valid value, and boundary values. */
const table: [keyword: string, schema: JsonObject, valid: unknown, bounds: unknown[]][] = [
  ['minimum', { type: 'integer', minimum: 3 }, 5, [3]],
  ['maximum', { type: 'number', maximum: 9.5 }, 5, [9.5]],
  ['exclusiveMinimum', { type: 'integer', exclusiveMinimum: 3 }, 5, [4]],
  ['exclusiveMaximum', { type: 'number', exclusiveMaximum: 3, multipleOf: 0.1 }, 1, [2.9]],
  ['multipleOf', { type: 'number', multipleOf: 0.01 }, 1, [1.01]],
  ['format', { type: 'integer', format: 'int32' }, 1, [2 ** 31 - 1, -(2 ** 31)]],
  ['format', { type: 'string', format: 'date' }, '2024-01-01', ['2024-02-29']],
  ['format', { type: 'string', format: 'date-time' }, '2024-01-01T00:00:00Z', ['2024-06-30T12:00:00+14:00']],
  ['type', { type: 'number' }, 1, [0, 0.5]],
  ['type', text, 'abc', ['']],
  ['type', { type: ['string', 'null'] }, 'abc', [null]],
  ['type', { type: ['string', 'integer'] }, 'abc', ['text', 1]],
  ['type', { type: 'boolean' }, true, [true, false]],
  ['type', { type: 'array', items: text }, ['a'], [[]]],
  ['minLength', { type: 'string', minLength: 2 }, 'abc', ['ab']],
  ['maxLength', { type: 'string', maxLength: 4 }, 'abc', ['abcc', '😀😀😀😀']],
  ['maxLength', { type: 'string', maxLength: 5, pattern: '^x-[a-z]+$' }, 'x-a', ['x-aaa']],
  ['minItems', { type: 'array', minItems: 1, items: text }, ['a', 'b'], [['a']]],
  ['maxItems', { type: 'array', maxItems: 3, items: text }, ['a'], [['a', 'a', 'a']]],
  ['minProperties', { type: 'object', minProperties: 1 }, { a: 1, b: 2 }, [{ a: 1 }]],
  ['maxProperties', { type: 'object', maxProperties: 1, properties: { a: { const: 1 } } }, {}, [{ a: 1 }]],
  ['enum', { enum: ['a', 'b', null] }, 'a', ['a', 'b', null]],
  ['const', { const: 'a' }, 'a', ['a']],
  ['required', { type: 'object', properties: { a: text }, required: ['b'] }, { a: 'x', b: 1 }, [{ b: 1 }]],
  ['additionalProperties', { type: 'object', additionalProperties: true }, {}, [{ anotherProperty: 'text' }]],
  ['oneOf', { oneOf: [{ const: 1 }, { const: 2 }] }, 1, [1, 2]],
  ['anyOf', { anyOf: [{ const: 'x' }, { type: 'null' }] }, 'x', ['x', null]],
];

async function load(schemas: Record<string, unknown>) {
  const file = join(await mkdtemp(join(tmpdir(), 'bounds-')), 'openapi.json');
  await writeFile(file, JSON.stringify({ openapi: '3.1.0', paths: {}, components: { schemas } }));
  const document = await OpenApiDocument.load(file);
  const validators = Validators.of(document);
  const schema = (name: string) => document.resolve({ $ref: `#/components/schemas/${name}` }) as JsonObject;
  return { document, validators, values: new Values(document, validators), schema };
}

const small = await load(Object.fromEntries(table.map(([, schema], index) => [`s${index}`, schema])));

test.each(table.map((row, index) => [index, ...row] as const))(
  '%i %s has bounds: %o',
  (index, keyword, _, valid, expected) => {
    const schema = small.schema(`s${index}`);
    const bounds = boundsOf(small.values, schema, valid);
    const found = bounds.filter((bound) => bound.keyword === keyword).map(({ value }) => value);
    for (const value of expected) expect(found).toContainEqual(value);
    for (const { value } of bounds) expect(small.validators.accepts(schema, value)).toBe(true);
  },
);

test('the length of a text is measured in code points', async () => {
  const { document, validators: referee, schema } = await load({ a: { type: 'string', maxLength: 50 } });
  const bounds = boundsOf(new Values(document, referee), schema('a'), 'x');
  const astral = bounds.find(({ value }) => String(value).startsWith('😀'));
  expect(lengthOf(String(astral?.value))).toBe(50);
  expect(String(astral?.value)).toHaveLength(100);
  expect(astral).toMatchObject({
    neighbour: '😀'.repeat(25),
    note: 'the value has 50 characters, as maxLength 50 allows',
  });
});

test('a longest email address is valid for mail servers', async () => {
  const email = { type: 'string', format: 'email', maxLength: 254 };
  const { document, validators: referee, schema } = await load({ email });
  const bounds = boundsOf(new Values(document, referee), schema('email'), 'a@example.com');
  const [longest] = bounds.filter(({ keyword }) => keyword === 'maxLength').map(({ value }) => String(value));
  expect(longest).toHaveLength(254);
  const [local = '', host = ''] = (longest ?? '').split('@');
  expect(local.length).toBeLessThanOrEqual(64);
  for (const label of host.split('.')) expect(label.length).toBeLessThanOrEqual(63);
});
