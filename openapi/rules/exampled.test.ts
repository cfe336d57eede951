import { expect, test } from 'vitest';
import type { JsonObject } from './contract.ts';
import { addExamples } from './exampled.ts';

const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });

/** A bundle with an operation that takes a `BoatCreateRequest` and returns a `Boat`. Each call of it has properties of its own. */
function bundleOf(request: JsonObject, response: JsonObject, properties: JsonObject) {
  const media = (schema: string, name: string) => ({
    content: {
      'application/json': { schema: ref(schema), examples: { one: { $ref: `#/components/examples/${name}` } } },
    },
  });
  const complaints: string[] = [];
  const schemas: Record<string, { properties: Record<string, JsonObject> }> = {
    BoatCreateRequest: { properties: structuredClone(properties) as Record<string, JsonObject> },
    Boat: { properties: structuredClone(properties) as Record<string, JsonObject> },
    Hull: { properties: { length: { type: 'string' } } },
    Color: Object.assign({ properties: {} }, { type: 'string', enum: ['RED'] }),
  };
  addExamples(
    {
      paths: {
        '/boats': {
          post: { requestBody: media('BoatCreateRequest', 'request'), responses: { 201: media('Boat', 'boat') } },
        },
      },
      components: { schemas, examples: { request: { value: request }, boat: { value: response } } },
    },
    (schema, property) => complaints.push(`${schema}.${property}`),
  );
  return { complaints, examplesOf: (schema: string, name: string) => schemas[schema]?.properties[name]?.examples };
}

const name = { type: 'string' };

test('a written property has the value of the example of the request', () => {
  const { examplesOf, complaints } = bundleOf({ name: 'Ida' }, { name: 'Eva' }, { name });
  expect(examplesOf('BoatCreateRequest', 'name')).toEqual(['Ida']);
  expect(complaints).toEqual([]);
});

test('a property that is not written has the value of the row in a response, and one that is only read has none', () => {
  const { examplesOf } = bundleOf({ name: null }, { name: 'Eva' }, { name });
  expect(examplesOf('BoatCreateRequest', 'name')).toEqual(['Eva']);
  expect(examplesOf('Boat', 'name')).toBeUndefined();
});

test('parts of the value have their own examples', () => {
  const { examplesOf } = bundleOf(
    { hulls: [{ length: '12.50' }] },
    {},
    { hulls: { type: 'array', items: ref('Hull') } },
  );
  expect(examplesOf('Hull', 'length')).toEqual(['12.50']);
});

test('the own example of a property is kept', () => {
  const { examplesOf } = bundleOf({ name: 'Ida' }, {}, { name: { ...name, examples: ['Ada'] } });
  expect(examplesOf('BoatCreateRequest', 'name')).toEqual(['Ada']);
});

test('a property without a value in any example is reported, unless its values are listed', () => {
  const { complaints } = bundleOf({}, {}, { name, isNew: { type: 'boolean' }, color: ref('Color') });
  expect(complaints).toEqual(['BoatCreateRequest.name']);
});
