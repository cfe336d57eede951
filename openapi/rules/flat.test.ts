import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { isObject, type JsonObject } from './contract.ts';
import { flatten } from './flat.ts';

const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });
const text = { type: 'string', maxLength: 9 };

/** A bundle whose only operation returns the schema `Boat`, flattened; with what could not be. */
function flattened(schemas: JsonObject, declared: string[] = []) {
  const document: JsonObject = { paths: { '/boats': { get: { schema: ref('Boat') } } }, components: { schemas } };
  const complaints: string[] = [];
  flatten(document, declared, (_, message) => complaints.push(message));
  const { components } = document;
  const result = isObject(components) && isObject(components.schemas) ? components.schemas : {};
  return { schemas: result, complaints };
}

describe('flatten', () => {
  test('merges the parts of an object into one with its own properties', () => {
    const { schemas, complaints } = flattened({
      Base: { type: 'object', description: 'A row.', 'x-entity': true, required: ['id'], properties: { id: text } },
      Named: {
        type: 'object',
        description: 'Named.',
        properties: { name: text },
        minProperties: 1,
        not: { required: ['x'] },
      },
      Boat: {
        type: 'object',
        description: 'A boat.',
        'x-record': { operations: ['UPSERT'] },
        required: ['name'],
        minProperties: 2,
        allOf: [ref('Base'), ref('Named'), { type: 'object', properties: { mast: text } }],
        unevaluatedProperties: false,
        $defs: { Named: ref('Named') },
      },
    });
    expect(complaints).toEqual([]);
    expect(schemas).toEqual({
      Boat: {
        type: 'object',
        description: 'A boat.',
        'x-entity': true,
        'x-record': { operations: ['UPSERT'] },
        required: ['id', 'name'],
        properties: { id: text, name: text, mast: text },
        minProperties: 2,
        not: { required: ['x'] },
        additionalProperties: false,
      },
    });
  });

  test('ends at a schema whose allOf contains itself', () => {
    const young = { type: 'array', items: { allOf: [ref('Boat'), { type: 'object', properties: { mast: text } }] } };
    const { complaints } = flattened({ Boat: { type: 'object', properties: { young } } });
    expect(complaints).toEqual([expect.stringContaining('It contains itself.')]);
  });

  test('follows parts of parts, and merges where a schema is inline', () => {
    const { schemas } = flattened({
      Base: { type: 'object', properties: { id: text } },
      Named: { type: 'object', allOf: [ref('Base')], properties: { name: text } },
      Boat: {
        type: 'object',
        properties: { owner: { type: 'object', allOf: [ref('Named')], unevaluatedProperties: false } },
      },
    });
    expect(schemas).toEqual({
      Boat: {
        type: 'object',
        properties: { owner: { type: 'object', properties: { id: text, name: text }, additionalProperties: false } },
      },
    });
  });

  test('leaves out what is a fact of a part alone', () => {
    const { schemas } = flattened({
      Ship: { type: 'object', 'x-record': { operations: [] }, 'x-entity': true, properties: { id: text } },
      Boat: { type: 'object', allOf: [ref('Ship')] },
    });
    expect(schemas.Boat).toEqual({ type: 'object', 'x-entity': true, properties: { id: text } });
  });

  test('keeps a part that something else refers to, or that the contract lists itself', () => {
    const parts = {
      Base: { type: 'object', properties: { id: text } },
      Named: { type: 'object', properties: { boat: ref('Base') } },
    };
    const { schemas } = flattened({ ...parts, Boat: { type: 'object', allOf: [ref('Named')] } });
    expect(Object.keys(schemas)).toEqual(['Base', 'Boat']);
    const listed = flattened({ ...parts, Boat: { type: 'object', allOf: [ref('Base')] } }, ['Base']);
    expect(Object.keys(listed.schemas)).toEqual(['Base', 'Named', 'Boat']);
  });

  test('keeps what a caller may write on a row, and closes it', () => {
    const { schemas } = flattened({
      BoatFields: { type: 'object', properties: { name: text } },
      OtherFields: { type: 'object', properties: { other: text } },
      Boat: { type: 'object', 'x-entity': true, allOf: [ref('BoatFields'), ref('OtherFields')] },
    });
    expect(Object.keys(schemas)).toEqual(['BoatFields', 'Boat']);
    expect(schemas.BoatFields).toEqual({ type: 'object', properties: { name: text }, additionalProperties: false });
  });
});

describe('a property that a later part narrows', () => {
  const kind = { type: 'string', description: 'Kind.', enum: ['SAIL', 'MOTOR'], maxLength: 9 };
  const boat = (known: JsonObject, property: JsonObject, more: JsonObject = {}) =>
    flattened({
      ...more,
      Boat: {
        type: 'object',
        allOf: [
          { type: 'object', properties: { it: known } },
          { type: 'object', properties: { it: property } },
        ],
      },
    });
  const cases: [what: string, known: JsonObject, property: JsonObject, merged: JsonObject][] = [
    [
      'to other words',
      { ...ref('Kind'), description: 'A.' },
      { description: 'B.' },
      { ...ref('Kind'), description: 'B.' },
    ],
    [
      'to the same, described',
      ref('Kind'),
      { ...ref('Kind'), description: 'B.' },
      { ...ref('Kind'), description: 'B.' },
    ],
    ['to a constant', ref('Kind'), { const: 'SAIL' }, { type: 'string', description: 'Kind.', const: 'SAIL' }],
    ['to some values', ref('Kind'), { enum: ['SAIL'] }, { ...kind, enum: ['SAIL'] }],
    [
      'to null',
      { ...ref('Kind'), description: 'A.', 'x-unique': true },
      { type: 'null' },
      { type: 'null', description: 'A.', 'x-unique': true },
    ],
    ['to a schema with more to it', ref('Kind'), ref('Sail'), ref('Sail')],
    ['to a schema composed of it', ref('Kind'), ref('Sloop'), ref('Sloop')],
    ['from any object', { type: 'object', description: 'A.' }, ref('Other'), { description: 'A.', ...ref('Other') }],
  ];
  test.for(cases)('%s', ([, known, property, merged]) => {
    const { schemas, complaints } = boat(known, property, {
      Kind: kind,
      Sail: { ...kind, not: { const: 'MOTOR' } },
      Sloop: { allOf: [ref('Kind'), { 'x-unique': true }] },
      Other: { type: 'object' },
    });
    expect(complaints).toEqual([]);
    expect(schemas.Boat).toEqual({ type: 'object', properties: { it: merged } });
  });

  const refused: [what: string, known: JsonObject, property: JsonObject][] = [
    ['another schema', ref('Kind'), ref('Other')],
    ['another value', ref('Kind'), { enum: ['STEAM'] }],
    ['another pattern', { ...kind, pattern: '^S' }, { pattern: 'L$' }],
  ];
  test.for(refused)('is not %s', ([, known, property]) => {
    const { complaints } = boat(known, property, { Kind: kind, Other: { type: 'string' } });
    expect(complaints).toEqual([expect.stringMatching(/Boat cannot be flattened. Two parts describe it/)]);
  });
});

test('two parts with the same condition are refused, not merged by halves', () => {
  const part = (name: string) => ({ type: 'object', properties: { [name]: text }, if: { required: [name] } });
  const { complaints } = flattened({ Boat: { type: 'object', allOf: [part('a'), part('b')] } });
  expect(complaints).toEqual([expect.stringMatching(/Two parts have `if`/)]);
});

test('the bundle of the contract is flat', async () => {
  const bundle = await readFile(new URL('../../packages/spec/generated/openapi.json', import.meta.url), 'utf8');
  const { examples: _, ...components } = JSON.parse(bundle).components;
  const text = JSON.stringify({ ...JSON.parse(bundle), components });
  expect(text.match(/"(allOf|unevaluatedProperties|\$defs)":|"(readOnly|writeOnly)":true/g)).toBe(null);
});
