import { expect, test } from 'vitest';
import { listSchemas } from './referenced.ts';
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

test('listSchemas lists the schemas that nothing refers to', () => {
  const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });
  const document = {
    paths: { '/boats': ref('Boat') },
    components: { schemas: { Boat: { properties: { hull: ref('Hull') } }, Hull: {}, Event: {} } },
    'x-schemas': undefined as unknown,
  };
  listSchemas(document);
  expect(document['x-schemas']).toEqual({ Event: ref('Event') });
});
