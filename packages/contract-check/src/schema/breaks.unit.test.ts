import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { OpenApiDocument } from '../document/document.ts';
import type { JsonObject } from '../json.ts';
import { Validators } from './validators.ts';
import { Values } from './values.ts';
import { breaksOf } from './variants.ts';

const text = { type: 'string' };

/** Keyword, schema, valid value, and some of the invalid values. */
const table: [keyword: string, schema: JsonObject, valid: unknown, broken: unknown[]][] = [
  ['type', { type: 'integer' }, 5, ['5', true, 5.5, null]],
  ['type', { type: 'number' }, 5, ['5', true, null]],
  ['type', text, 'a', [12, true, ['a'], null]],
  ['type', { type: 'boolean' }, true, ['true', 1, null]],
  ['type', { type: 'array', items: text }, ['a'], [{}, 'a', null]],
  ['type', { type: 'object' }, {}, [[{}], 'text', null]],
  ['required', { type: 'object', required: ['a', 'b'] }, { a: 1, b: 2 }, [{ b: 2 }, { a: 1 }]],
  ['enum', { enum: ['OPEN', 'DONE'] }, 'OPEN', ['open', 'NO_SUCH_VALUE', '']],
  ['enum', { type: 'integer', enum: [1, 5] }, 5, [6]],
  ['const', { const: 'cat' }, 'cat', ['CAT', 'NO_SUCH_VALUE']],
  ['const', { const: true }, true, [false]],
  ['format', { type: 'string', format: 'date' }, '2024-01-01', ['2024-02-30', '01/02/2024']],
  ['format', { type: 'string', format: 'email' }, 'a@example.com', ['no-at-sign.example.com']],
  ['format', { type: 'string', format: 'uuid' }, '0190b3a4-7c1e-7f3a-9b2d-1f2e3d4c5b6f', ['not-a-uuid']],
  ['format', { type: 'string', format: 'date-time' }, '2024-01-01T00:00:00Z', ['2024-02-30T00:00:00Z', '2024-01-01']],
  ['format', { type: 'integer', format: 'int32' }, 1, [2 ** 31]],
  ['minimum', { type: 'integer', minimum: 3 }, 5, [2]],
  ['maximum', { type: 'integer', maximum: 9 }, 5, [10]],
  ['exclusiveMinimum', { type: 'number', exclusiveMinimum: 3 }, 5, [3]],
  ['exclusiveMaximum', { type: 'number', exclusiveMaximum: 9 }, 5, [9]],
  ['minimum', { type: 'number', minimum: 0.01, multipleOf: 0.01 }, 5, [0]],
  ['multipleOf', { type: 'integer', multipleOf: 5 }, 10, [11]],
  ['multipleOf', { type: 'number', multipleOf: 0.01 }, 1.5, [1.505]],
  ['minLength', { type: 'string', minLength: 2 }, 'abc', ['a']],
  ['maxLength', { type: 'string', maxLength: 3 }, 'abc', ['abcc']],
  ['maxLength', { type: 'string', maxLength: 2 }, '😀😀', ['😀😀😀']],
  ['maxLength', { type: 'string', maxLength: 6, pattern: '^v-[a-z]+$' }, 'v-abc', ['v-abccc']],
  ['pattern', { type: 'string', pattern: '^[A-Z]{3}$' }, 'EUR', ['eur', 'EUR\n', '!!!']],
  ['minItems', { type: 'array', minItems: 2, items: text }, ['a', 'b'], [['a']]],
  ['maxItems', { type: 'array', maxItems: 2, items: text }, ['a', 'b'], [['a', 'b', 'b']]],
  ['uniqueItems', { type: 'array', uniqueItems: true, items: text }, ['a', 'b'], [['a', 'b', 'a']]],
  ['items', { type: 'array', prefixItems: [text], items: false }, ['a'], [['a', 'more']]],
  ['type', { type: 'array', prefixItems: [{ type: 'integer' }] }, [1], [['1']]],
  ['additionalProperties', { type: 'object', additionalProperties: false }, {}, [{ notInTheContract: 'unknown' }]],
  [
    'unevaluatedProperties',
    { allOf: [{ type: 'object' }], unevaluatedProperties: false },
    {},
    [{ notInTheContract: 'unknown' }],
  ],
  [
    'additionalProperties',
    {
      oneOf: [
        { properties: { kind: { const: 'a' }, own: text }, required: ['kind'], additionalProperties: false },
        { properties: { kind: { const: 'b' }, other: { const: 7 } }, required: ['kind'], additionalProperties: false },
      ],
    },
    { kind: 'a', own: 'x' },
    [{ kind: 'a', own: 'x', other: 7 }],
  ],
  ['minProperties', { type: 'object', minProperties: 1, properties: { a: text } }, { a: 'x' }, [{}]],
  [
    'maxProperties',
    { type: 'object', maxProperties: 1, properties: { a: { const: 1 }, b: { const: 2 } } },
    { a: 1 },
    [{ a: 1, b: 2 }],
  ],
  [
    'oneOf',
    { oneOf: [{ required: ['a'] }, { required: ['b'] }], properties: { a: { const: 1 }, b: { const: 2 } } },
    { a: 1 },
    [{}, { a: 1, b: 2 }],
  ],
  ['anyOf', { anyOf: [{ required: ['a'] }, { required: ['b'] }] }, { a: 1, b: 2 }, [{}]],
  ['not', { type: 'string', not: { enum: ['root'] } }, 'me', ['root']],
  ['dependentRequired', { dependentRequired: { a: ['b'] }, properties: { a: {}, b: {} } }, { a: 1, b: 2 }, [{ a: 1 }]],
  ['type', { type: 'object', additionalProperties: { type: 'integer' } }, { a: 1 }, [{ a: '1' }]],
  ['type', { type: 'object', patternProperties: { '^x-': { type: 'integer' } } }, { 'x-a': 1 }, [{ 'x-a': '1' }]],
  ['type', { type: 'object', properties: { 'a/b': { type: 'integer' } } }, {}, []],
  [
    'discriminator',
    {
      oneOf: [{ properties: { kind: { const: 'a' } }, required: ['kind'] }],
      discriminator: { propertyName: 'kind' },
    },
    { kind: 'a' },
    [{ kind: 'NoSuchKind' }],
  ],
];

async function load(schemas: Record<string, unknown>) {
  const file = join(await mkdtemp(join(tmpdir(), 'breaks-')), 'openapi.json');
  await writeFile(file, JSON.stringify({ openapi: '3.1.0', paths: {}, components: { schemas } }));
  const document = await OpenApiDocument.load(file);
  const schema = (name: string) => document.resolve({ $ref: `#/components/schemas/${name}` }) as JsonObject;
  const validators = Validators.of(document);
  return { document, validators, values: new Values(document, validators), schema };
}

const small = await load(Object.fromEntries(table.map(([, schema], index) => [`s${index}`, schema])));

test.each(table.map((row, index) => [index, ...row] as const))(
  '%i %s is broken: %o',
  (index, keyword, _, valid, broken) => {
    const schema = small.schema(`s${index}`);
    const { validators } = small;
    expect(validators.breaches(schema, valid, 'request')).toEqual([]);
    const breaks = breaksOf(small.values, schema, valid).filter((one) => one.keyword === keyword);
    expect(breaks.length).toBeGreaterThan(0);
    for (const one of breaks) expect(validators.accepts(schema, one.value)).toBe(false);
    const values = breaks.map(({ value }) => value);
    for (const value of broken) expect(values).toContainEqual(value);
  },
);

test('absent parts and all branches are violated, too', async () => {
  const {
    document,
    validators: referee,
    schema,
  } = await load({
    a: {
      type: 'object',
      properties: {
        size: { type: 'integer', minimum: 1 },
        who: {
          anyOf: [
            { type: 'object', required: ['id'], properties: { id: { type: 'integer', maximum: 5 } } },
            { type: 'null' },
          ],
        },
        tags: { type: 'array', items: { type: 'string', maxLength: 3 } },
        optional: { type: ['string', 'null'], maxLength: 2 },
      },
    },
  });
  const breaks = breaksOf(new Values(document, referee), schema('a'), { who: null, optional: null });
  const found = breaks.map(({ keyword, pointer }) => `${keyword} ${pointer}`);
  expect(found).toEqual(
    expect.arrayContaining([
      'minimum /size',
      'required /who/id',
      'maximum /who/id',
      'maxLength /tags/0',
      'maxLength /tags/1',
      'maxLength /optional',
    ]),
  );
});

test('a recursive schema is violated at few places', async () => {
  const {
    document,
    validators: referee,
    schema,
  } = await load({
    tree: {
      type: 'object',
      properties: {
        name: { type: 'string', maxLength: 5 },
        children: { type: 'array', items: { $ref: '#/components/schemas/tree' } },
      },
    },
  });
  const breaks = breaksOf(new Values(document, referee), schema('tree'), {});
  const lengths = breaks.filter(({ keyword }) => keyword === 'maxLength');
  expect(lengths.length).toBeGreaterThan(0);
  expect(lengths.length).toBeLessThanOrEqual(2);
});

test('readOnly properties are neither omitted nor violated in a request', async () => {
  const {
    document,
    validators: referee,
    schema,
  } = await load({
    a: { type: 'object', properties: { id: { type: 'integer', readOnly: true }, name: text } },
  });
  const pointers = breaksOf(new Values(document, referee), schema('a'), { name: 'x' }).map(({ pointer }) => pointer);
  expect(pointers).not.toContain('/id');
  expect(pointers).toContain('/name');
});

test('values that are too long to send are left out', async () => {
  const { document, validators: referee, schema } = await load({ a: { type: 'string', maxLength: 5_000_000 } });
  expect(breaksOf(new Values(document, referee), schema('a'), 'x').some(({ keyword }) => keyword === 'maxLength')).toBe(
    false,
  );
});

test('a note is one readable clause', async () => {
  const {
    document,
    validators: referee,
    schema,
  } = await load({
    a: {
      type: 'object',
      properties: {
        items: { type: 'array', items: { type: 'object', properties: { name: { type: 'string', maxLength: 200 } } } },
      },
    },
  });
  const notes = breaksOf(new Values(document, referee), schema('a'), { items: [{ name: 'x' }] }).map(
    ({ note }) => note,
  );
  expect(notes).toContain('items[0].name has 201 characters, which violates maxLength 200');
  expect(notes).toContain('items[0].name is null, which violates type "string"');
});
