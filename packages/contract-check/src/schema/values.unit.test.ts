import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { OpenApiDocument } from '../document/document.ts';
import { shapeOf } from '../document/shape.ts';
import type { JsonObject } from '../json.ts';
import { multiple, rangeOf } from './numbers.ts';
import { branchesOf } from './spots.ts';
import { lengthOf, stretch } from './texts.ts';
import { Validators } from './validators.ts';
import { Values } from './values.ts';

const extents = ['least', 'most', 'some'] as const;

async function load(schemas: Record<string, unknown>) {
  const file = join(await mkdtemp(join(tmpdir(), 'values-')), 'openapi.json');
  await writeFile(file, JSON.stringify({ openapi: '3.1.0', paths: {}, components: { schemas } }));
  const document = await OpenApiDocument.load(file);
  const validators = Validators.of(document);
  const schema = (name: string) => document.resolve({ $ref: `#/components/schemas/${name}` }) as JsonObject;
  return { document, validators, values: new Values(document, validators), schema };
}

const keywords: Record<string, JsonObject> = {
  integer: { type: 'integer', minimum: 3, maximum: 3 },
  exclusive: { type: 'number', exclusiveMinimum: 0, exclusiveMaximum: 1 },
  cents: { type: 'number', multipleOf: 0.01, minimum: 0.01, maximum: 99_999.99 },
  steps: { type: 'integer', allOf: [{ multipleOf: 4 }, { multipleOf: 6 }], minimum: 1 },
  negative: { type: 'integer', maximum: -5 },
  emoji: { type: 'string', minLength: 300, maxLength: 300 },
  pattern: { type: 'string', pattern: '^[A-Z]{3}-[0-9]{4}$' },
  contained: { type: 'string', pattern: 'q', minLength: 30 },
  tuple: { type: 'array', prefixItems: [{ type: 'string' }, { type: 'integer' }], items: false, minItems: 2 },
  unique: { type: 'array', uniqueItems: true, minItems: 3, items: { enum: ['a', 'b', 'c'] } },
  map: { type: 'object', minProperties: 3, maxProperties: 4, additionalProperties: { type: 'integer' } },
  keys: { type: 'object', propertyNames: { pattern: '^[a-z]{3}$' }, minProperties: 1 },
  patterned: {
    type: 'object',
    patternProperties: { '^x-': { type: 'boolean' } },
    additionalProperties: false,
    minProperties: 2,
  },
  dependent: { type: 'object', properties: { a: {}, b: {} }, dependentRequired: { a: ['b'] } },
  conditional: {
    type: 'object',
    required: ['kind'],
    properties: { kind: { enum: ['a', 'b'] } },
    if: { properties: { kind: { const: 'a' } } },
    // biome-ignore lint/suspicious/noThenProperty: the keyword of JSON Schema
    then: { required: ['forA'] },
    else: { required: ['forB'] },
  },
  nullable: { type: ['string', 'null'], minLength: 1 },
  exactlyOne: {
    type: 'object',
    properties: { a: { type: 'string' }, b: { type: 'string' } },
    oneOf: [{ required: ['a'] }, { required: ['b'] }],
  },
  excluded: { type: 'object', properties: { a: { type: 'string' }, b: { type: 'string' } }, not: { required: ['a'] } },
  list: {
    type: 'object',
    required: ['next'],
    properties: { next: { anyOf: [{ $ref: '#/components/schemas/list' }, { type: 'null' }] } },
  },
  empty: {},
  untyped: { minimum: 5 },
  prototype: { type: 'object', required: ['__proto__'], properties: { ['__proto__']: { type: 'string' } } },
  ...Object.fromEntries(
    [
      'uuid',
      'email',
      'uri',
      'uri-reference',
      'ipv4',
      'ipv6',
      'hostname',
      'date',
      'date-time',
      'time',
      'duration',
      'byte',
      'regex',
      'json-pointer',
      'decimal',
      'password',
      'made-up',
    ].map((format) => [`format-${format}`, { type: 'string', format }]),
  ),
};

test('every keyword is supported', async () => {
  const small = await load(keywords);
  for (const name of Object.keys(keywords)) {
    for (const extent of extents) {
      fc.assert(
        fc.property(fc.nat(), (seed) => {
          const sample = small.values.sample(small.schema(name), extent, seed);
          expect(sample, `${name} ${extent}`).toBeDefined();
          expect(small.validators.breaches(small.schema(name), sample?.value, 'request'), name).toEqual([]);
        }),
        { numRuns: 10 },
      );
    }
  }
});

test('a schema that accepts nothing has no value', async () => {
  const small = await load({
    endless: { type: 'object', required: ['next'], properties: { next: { $ref: '#/components/schemas/endless' } } },
    contradiction: { type: 'integer', minimum: 5, maximum: 4 },
  });
  expect(small.values.sample(small.schema('endless'), 'most', 1)).toBeUndefined();
  expect(small.values.sample(small.schema('contradiction'), 'most', 1)).toBeUndefined();
});

const branching = {
  Pet: {
    oneOf: [{ $ref: '#/components/schemas/Cat' }, { $ref: '#/components/schemas/Dog' }],
    discriminator: { propertyName: 'type', mapping: { cat: '#/components/schemas/Cat' } },
  },
  Cat: {
    type: 'object',
    required: ['type', 'lives'],
    properties: { type: { const: 'cat' }, lives: { type: 'integer' } },
  },
  Dog: {
    type: 'object',
    required: ['type'],
    properties: {
      type: { type: 'string', const: 'Dog' },
      tag: { anyOf: [{ type: 'string' }, { type: 'integer' }, { type: 'null' }] },
    },
  },
  Owner: { type: 'object', properties: { pets: { type: 'array', items: { $ref: '#/components/schemas/Pet' } } } },
};

test('every branch has a value, at any depth', async () => {
  const small = await load(branching);
  const found = branchesOf(small.values, small.schema('Owner'), 1);
  expect(found.map(({ keyword, branch }) => `${keyword} ${branch}`).sort()).toEqual([
    'anyOf 0',
    'anyOf 1',
    'anyOf 2',
    'oneOf 0',
    'oneOf 1',
  ]);
  for (const { value } of found) expect(small.validators.accepts(small.schema('Owner'), value)).toBe(true);
  expect(found.find(({ keyword, branch }) => keyword === 'oneOf' && branch === 0)).toMatchObject({
    pointer: '/pets/0',
  });
});

test('a branch that contains its own choice is visited once', async () => {
  const small = await load({
    Condition: {
      oneOf: [
        {
          type: 'object',
          required: ['and'],
          additionalProperties: false,
          properties: { and: { type: 'array', minItems: 2, items: { $ref: '#/components/schemas/Condition' } } },
        },
        { type: 'object', required: ['eq'], additionalProperties: false, properties: { eq: { type: 'string' } } },
      ],
    },
  });
  const found = branchesOf(small.values, small.schema('Condition'), 1);
  expect(found.filter(({ pointer }) => pointer === '').map(({ branch }) => branch)).toEqual([1, 0]);
});

test('requests have no readOnly properties', async () => {
  const small = await load({
    both: {
      type: 'object',
      properties: { id: { type: 'string', readOnly: true }, secret: { type: 'string', writeOnly: true } },
    },
  });
  expect(Object.keys(Object(small.values.sample(small.schema('both'), 'most', 1)?.value))).toEqual(['secret']);
});

test('multiples are exact', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: -1_000_000, max: 1_000_000 }),
      fc.constantFrom(0.01, 0.1, 0.001, 0.25),
      (times, step) => {
        const [whole = '', decimals = ''] = multiple(step, times).toString().split('.');
        expect(decimals.length).toBeLessThanOrEqual(3);
        expect(Number(whole)).toBe(Math.trunc(multiple(step, times)));
      },
    ),
  );
});

test('the bounds of a range are multiples', async () => {
  const { document, schema } = await load({
    a: { type: 'number', multipleOf: 0.05, exclusiveMinimum: 0.1, maximum: 0.99 },
  });
  expect(rangeOf(shapeOf(document, schema('a')), false)).toEqual({ low: 0.15, high: 0.95, step: 0.05 });
});

test('a text is extended to a length if its pattern allows it', async () => {
  const { document, schema } = await load({
    word: { pattern: '^v-[a-z]+$' },
    four: { pattern: '^[0-9]{4}$' },
  });
  const word = shapeOf(document, schema('word'));
  expect(stretch('v-abc', 200, word)).toMatch(/^v-[a-z]{198}$/);
  expect(stretch('v-abc', 3, word)).toMatch(/^v-[a-z]$/);
  expect(stretch('1234', 5, shapeOf(document, schema('four')))).toBeUndefined();
  expect(lengthOf('a😀')).toBe(2);
});

test('fresh texts leave what violates the schema, and replace the rest', async () => {
  const { values, schema } = await load({
    trip: { type: 'object', properties: { name: { type: 'string' }, day: { type: 'string', format: 'date' } } },
  });
  const fresh = values.fresh(schema('trip'), { name: 'Amber Fjord', day: '2024-02-30' }, 1);
  expect(fresh).toEqual({ name: expect.not.stringMatching('Amber Fjord'), day: '2024-02-30' });
});
