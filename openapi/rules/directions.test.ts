import { expect, test } from 'vitest';
import { separate } from './directions.ts';

const name = { type: 'string', minLength: 1, maxLength: 9 };
const closed = (properties: object) => ({ type: 'object', properties, additionalProperties: false });
const reference = (to: string) => ({ $ref: `#/components/schemas/${to}` });
const content = (to: string) => ({ content: { 'application/json': { schema: reference(to) } } });

function separated() {
  const complaints: string[] = [];
  const document = {
    paths: {
      '/boats': { post: { requestBody: content('BoatFields'), responses: { '200': content('Boat') } } },
    },
    components: {
      schemas: {
        Ref: name,
        Color: { type: 'string', enum: ['RED'], minLength: 1 },
        Place: closed({ city: { ...name, type: ['string', 'null'] }, code: { ...name, pattern: '^[A-Z]+$' } }),
        Spot: { ...closed({ name, code: name }), not: { required: ['name', 'code'] }, 'x-own-check': ['not'] },
        Places: { type: 'array', items: reference('Place') },
        BoatFields: closed({
          name,
          color: reference('Color'),
          key: reference('Ref'),
          places: reference('Places'),
          spot: reference('Spot'),
        }),
        Boat: closed({
          name,
          color: reference('Color'),
          key: reference('Ref'),
          places: reference('Places'),
          spot: reference('Spot'),
        }),
      },
    },
  };
  separate(document, (message) => complaints.push(message));
  return { schemas: document.components.schemas as Record<string, unknown>, complaints };
}

test('a text of a request that must not be empty must not be blank', () => {
  const { schemas } = separated();
  expect(schemas).toMatchObject({
    BoatFields: {
      properties: {
        name: { pattern: '\\S' },
        key: { ...reference('Ref'), type: 'string', pattern: '\\S' },
        color: reference('Color'),
      },
    },
    PlaceInput: { properties: { city: { pattern: '\\S' }, code: { pattern: '^[A-Z]+$' } } },
  });
  expect(schemas.Boat).toEqual({
    type: 'object',
    properties: {
      name,
      color: reference('Color'),
      key: reference('Ref'),
      places: reference('Places'),
      spot: reference('Spot'),
    },
  });
  expect(schemas.Ref).toEqual(name);
});

test('objects of requests are closed, those of responses are open', () => {
  const { schemas } = separated();
  expect(schemas).toMatchObject({
    BoatFields: { additionalProperties: false },
    PlaceInput: { additionalProperties: false },
  });
  for (const name of ['Boat', 'Place']) expect(schemas[name]).not.toHaveProperty('additionalProperties');
});

test('an object that is written and read has a schema for each, and so has what leads to it', () => {
  const { schemas, complaints } = separated();
  expect(schemas.BoatFields).toMatchObject({ properties: { places: reference('PlacesInput') } });
  expect(schemas.PlacesInput).toMatchObject({ items: reference('PlaceInput') });
  expect(schemas.Places).toEqual({ type: 'array', items: reference('Place') });
  expect(Object.keys(schemas)).not.toContain('ColorInput');
  expect(complaints).toEqual([]);
});

test('what a caller must not send together is not said of what is stored', () => {
  const { schemas } = separated();
  expect(schemas.SpotInput).toMatchObject({ not: { required: ['name', 'code'] }, 'x-own-check': ['not'] });
  expect(schemas.Spot).toEqual({ type: 'object', properties: { name, code: name } });
});
