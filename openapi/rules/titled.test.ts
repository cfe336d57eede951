import { expect, test } from 'vitest';
import { splitSchemas } from './published.ts';
import { titleOf } from './titled.ts';

test.each([
  ['Client', 'Client'],
  ['ClientSearchRequest', 'Client search request'],
  ['WipEntryWhere', 'WIP entry filter'],
  ['ClientRelationWhere', 'Client related row filter'],
  ['ClientStatusFilter', 'Client status condition'],
  ['ClientOrderBy', 'Client sort keys'],
  ['DeliveryUrl', 'Delivery URL'],
  ['Uuid', 'UUID'],
  ['Filter', 'Filter'],
])('titleOf(%s) is "%s"', (name, title) => {
  expect(titleOf(name)).toBe(title);
});

test('splitSchemas keeps schemas out of the published contract that it does not refer to, with those that only they refer to', () => {
  const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });
  const boat = { properties: { hull: ref('Hull') } };
  const schemas = {
    Boat: boat,
    Hull: {},
    BoatFields: { properties: { mast: ref('Mast'), hull: ref('Hull') } },
    Mast: {},
  };
  const { published, others } = splitSchemas({
    paths: { '/boats': ref('Boat') },
    components: { schemas, headers: {} },
  });
  expect(published).toEqual({
    paths: { '/boats': ref('Boat') },
    components: { schemas: { Boat: boat, Hull: {} }, headers: {} },
  });
  expect(Object.keys(others)).toEqual(['BoatFields', 'Mast']);
});
