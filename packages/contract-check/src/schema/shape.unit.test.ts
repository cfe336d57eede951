import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { OpenApiDocument } from '../document/document.ts';
import { memberSchemas, settle, shapeOf } from '../document/shape.ts';
import type { JsonObject } from '../json.ts';

const file = join(await mkdtemp(join(tmpdir(), 'shape-')), 'openapi.json');
const schemas = {
  Name: { type: 'string', minLength: 1, maxLength: 50 },
  Short: {
    $ref: '#/components/schemas/Name',
    maxLength: 10,
    description: 'A reference and the properties next to it.',
  },
  Base: { type: 'object', required: ['id'], properties: { id: { type: 'integer' }, name: { type: 'string' } } },
  Whole: {
    allOf: [
      { $ref: '#/components/schemas/Base' },
      { properties: { name: { maxLength: 5 }, kind: { enum: ['a', 'b'] } } },
    ],
    required: ['name'],
    unevaluatedProperties: false,
  },
  Tree: { type: 'object', properties: { children: { type: 'array', items: { $ref: '#/components/schemas/Tree' } } } },
  Circle: { allOf: [{ $ref: '#/components/schemas/Circle' }], type: 'string' },
  Pet: {
    oneOf: [{ $ref: '#/components/schemas/Cat' }, { $ref: '#/components/schemas/Dog' }],
    discriminator: { propertyName: 'type', mapping: { cat: '#/components/schemas/Cat' } },
  },
  Cat: { type: 'object', properties: { type: { type: 'string' } } },
  Dog: { type: 'object', properties: { type: { type: 'string' } } },
  Both: { allOf: [{ enum: ['a', 'b'] }, { enum: ['b', 'c'] }] },
  Open: { type: 'object', patternProperties: { '^x-': { type: 'string' } }, additionalProperties: { type: 'integer' } },
};
await writeFile(file, JSON.stringify({ openapi: '3.1.0', paths: {}, components: { schemas } }));
const document = await OpenApiDocument.load(file);
const components = document.object(document.object(document.root.components).schemas);
const schema = (name: keyof typeof schemas) => components[name] as JsonObject;
const shape = (name: keyof typeof schemas) => shapeOf(document, schema(name));

test('properties next to a reference are merged, and the narrower bound applies', () => {
  expect(shape('Short')).toMatchObject({ minLength: 1, maxLength: 10 });
  expect([...shape('Short').types]).toEqual(['string']);
});

test('the parts of an allOf are one shape', () => {
  const { required, properties, closed } = shape('Whole');
  expect([...required].sort()).toEqual(['id', 'name']);
  expect([...properties.keys()].sort()).toEqual(['id', 'kind', 'name']);
  expect(shapeOf(document, ...(properties.get('name') ?? []))).toMatchObject({ maxLength: 5 });
  expect(closed).toBe(true);
  expect(shape('Both').enum).toEqual(['b']);
});

test('a recursive schema has a shape', () => {
  expect(shape('Tree').properties.size).toBe(1);
  expect([...shape('Circle').types]).toEqual(['string']);
});

test('a selected branch is merged, and its discriminator is known', () => {
  const settled = settle(document, [schema('Pet')], (choice) => choice.branches[1]);
  expect(settled.sources).toContain(schema('Dog'));
  const [discriminator] = settled.discriminators;
  expect(discriminator?.values.map(([value]) => value)).toEqual(['cat', 'cat', 'Dog', 'Dog']);
});

test('an undeclared property is described by its pattern or by additionalProperties', () => {
  expect(memberSchemas(shape('Open'), 'x-a')).toEqual([{ type: 'string' }]);
  expect(memberSchemas(shape('Open'), 'other')).toEqual([{ type: 'integer' }]);
  expect(memberSchemas(shape('Whole'), 'other')).toBeUndefined();
});

test('the same schemas have the same shape', () => {
  expect(shape('Whole')).toBe(shape('Whole'));
});
