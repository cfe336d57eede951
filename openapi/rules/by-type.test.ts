import { describe, expect, test } from 'vitest';
import { splitByType } from './by-type.ts';
import type { JsonObject } from './contract.ts';

const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });
const text = { type: 'string', maxLength: 9 };
const idProperties = { id: text };
const recordProperties = { ...idProperties, type: text, attributes: { type: 'object' } };
const rows = (...operations: string[]) => ({ operations, readRoles: [], writeRoles: [], recordsUrl: '/' });

/** Boats are created and updated as records, harbors only deleted; both are read. */
function bundle(): Record<string, JsonObject> {
  const common = {
    type: 'object',
    description: 'A record.',
    required: ['type', 'attributes'],
    additionalProperties: false,
  };
  const properties = { type: text, attributes: { ...ref('RecordAttributes'), description: 'Its fields.' } };
  return {
    Uuid: text,
    NullableUuid: { type: ['string', 'null'] },
    RecordAttributes: { type: 'object', maxProperties: 9, additionalProperties: true },
    RowReference: { type: 'object', properties: idProperties },
    CustomTypeName: text,
    CustomRecordRow: { type: 'object', description: 'A record of a custom type.', properties: recordProperties },
    Boat: {
      type: 'object',
      'x-record': rows('UPSERT', 'UPDATE'),
      required: ['id', 'name'],
      properties: { ...idProperties, name: text, length: text },
      additionalProperties: false,
    },
    BoatFields: {
      type: 'object',
      description: 'What a caller may write on a boat.',
      properties: {
        name: text,
        status: { ...text, 'x-on-create': { value: 'ASHORE' } },
        harborId: { ...ref('Uuid'), 'x-references': 'Harbor', description: 'Its harbor.' },
        ownerId: { ...ref('NullableUuid'), 'x-references': 'Owner' },
        crewIds: { type: 'array', 'x-references': 'Person', items: ref('Uuid') },
      },
      additionalProperties: false,
    },
    Harbor: { type: 'object', 'x-record': rows('DELETE'), required: ['id'], properties: idProperties },
    RecordUpsert: {
      ...common,
      'x-by-type': { types: ['x-record'], operation: 'UPSERT', suffix: 'Upsert', attributes: 'written', custom: true },
      properties,
    },
    RecordDelete: {
      ...common,
      'x-by-type': { types: ['x-record'], operation: 'DELETE', suffix: 'Delete', custom: true },
      properties: { type: text },
    },
    RecordRow: {
      ...common,
      'x-entity': true,
      'x-by-type': { types: ['x-record'], suffix: 'Row', attributes: 'read', custom: true },
      properties: { ...properties, attributes: { anyOf: [ref('RecordAttributes'), { type: 'null' }] } },
    },
  };
}

function split(change: (schemas: Record<string, JsonObject>) => void = () => undefined) {
  const schemas = bundle();
  change(schemas);
  const complaints: string[] = [];
  splitByType({ components: { schemas } }, (message) => complaints.push(message));
  return { schemas, complaints };
}

describe('splitByType', () => {
  const { schemas, complaints } = split();

  test('keeps a field of the row that is called type', () => {
    const typed = split((given) => Object.assign(given.Boat?.properties ?? {}, { type: text }));
    expect(typed.schemas.BoatAttributes).toMatchObject({ properties: { type: text } });
    expect(typed.schemas.BoatAttributes?.properties).not.toHaveProperty('id');
  });

  test('makes a union of the types that have the operation, and of custom ones', () => {
    expect(complaints).toEqual([]);
    expect(schemas.RecordUpsert).toMatchObject({ oneOf: [ref('StandardRecordUpsert'), ref('CustomRecordUpsert')] });
    expect(schemas.StandardRecordUpsert).toMatchObject({
      oneOf: [ref('BoatUpsert')],
      discriminator: { propertyName: 'type', mapping: { Boat: ref('BoatUpsert').$ref } },
    });
    expect(schemas.BoatUpsert).toMatchObject({
      description: 'A record. The type is `Boat`.',
      required: ['type', 'attributes'],
      properties: { type: { const: 'Boat' }, attributes: { ...ref('BoatFields'), description: 'Its fields.' } },
      additionalProperties: false,
    });
    expect(schemas.CustomRecordUpsert).toMatchObject({
      properties: { type: ref('CustomTypeName'), attributes: ref('RecordAttributes') },
    });
    expect(schemas.CustomTypeName).toEqual({ ...text, not: { enum: ['Boat', 'Harbor'] } });
    expect(schemas).not.toHaveProperty('HarborUpsert');
  });

  test('requires the source of a type that only imports write', () => {
    const { schemas: imports } = split((given) =>
      Object.assign(given.Boat ?? {}, { 'x-record': { ...rows('UPSERT'), importsOnly: true } }),
    );
    expect(imports.BoatUpsert).toMatchObject({ required: ['type', 'attributes', 'source'] });
  });

  test('says of a request what all its items have in common, and nothing of a response', () => {
    const { 'x-by-type': _, ...common } = bundle().RecordUpsert ?? {};
    expect(schemas.RecordUpsert).toHaveProperty('x-items-open', common);
    expect(schemas.RecordRow).not.toHaveProperty('x-items-open');
  });

  test('makes no member for each type where the types do not differ', () => {
    expect(schemas.RecordDelete).toMatchObject({ oneOf: [ref('StandardRecordDelete'), ref('CustomRecordDelete')] });
    expect(schemas.StandardRecordDelete).toMatchObject({ properties: { type: { enum: ['Harbor'] } } });
    expect(schemas).not.toHaveProperty('HarborDelete');
  });

  test('describes what is read of a row beside its base fields', () => {
    expect(schemas.BoatRow).toMatchObject({
      properties: { type: { const: 'Boat' }, attributes: { anyOf: [ref('BoatAttributes'), { type: 'null' }] } },
    });
    expect(schemas.BoatRow).not.toHaveProperty('x-entity');
    expect(schemas.BoatAttributes).toMatchObject({
      required: ['name'],
      properties: { name: text, length: text },
      additionalProperties: false,
    });
  });

  test('takes a member for custom types that is there already', () => {
    expect(schemas.RecordRow).toMatchObject({ oneOf: [ref('StandardRecordRow'), ref('CustomRecordRow')] });
    expect(schemas.CustomRecordRow).toEqual(bundle().CustomRecordRow);
  });

  test('lets a caller refer to one row by its ID or by another key, and says what a new row requires', () => {
    expect(schemas.BoatFields).toMatchObject({
      description: 'What a caller may write on a boat. A new record requires `name`, `harborId`, `crewIds`.',
      properties: {
        harborId: { anyOf: [ref('Uuid'), ref('RowReference')], 'x-references': 'Harbor', description: 'Its harbor.' },
        ownerId: { anyOf: [ref('NullableUuid'), ref('RowReference')] },
        crewIds: { type: 'array', items: ref('Uuid') },
      },
    });
    expect(schemas.BoatFields).not.toHaveProperty('required');
  });

  test('complains of a name that is taken', () => {
    const taken = split((all) => {
      all.BoatRow = { type: 'object' };
    });
    expect(taken.complaints).toEqual([expect.stringMatching(/^Rename BoatRow/)]);
  });
});
