import { describe, expect, test } from 'vitest';
import { nameColumns } from './aggregates.ts';
import { type JsonObject, nameIn, objectOf } from './contract.ts';

const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });
const column = { type: 'string', maxLength: 64, description: 'Column.' };
const decimal = { type: 'string', format: 'decimal' };

/** Boats have a name, a day of launch, a last survey, a length, a crew, a flag, and a price that few may see. */
function bundle(): Record<string, JsonObject> {
  return {
    AggregateGroupBy: {
      type: 'object',
      required: ['column'],
      properties: { column, by: { type: 'string' }, boundaries: { type: 'array' }, daysBefore: { type: 'string' } },
      additionalProperties: false,
    },
    AggregateFunction: { type: 'string', enum: ['COUNT', 'SUM', 'AVERAGE', 'MIN', 'MAX'], description: 'Function.' },
    AggregateMeasure: {
      type: 'object',
      required: ['function'],
      properties: { function: ref('AggregateFunction'), column },
      additionalProperties: false,
    },
    AggregateOrderBy: { type: 'object', properties: { measure: { type: 'string' }, column } },
    AggregateRelatedColumn: column,
    Boat: {
      properties: {
        version: { type: 'integer' },
        name: { type: 'string' },
        launchDate: { type: 'string', format: 'date' },
        length: decimal,
        crew: { type: 'integer' },
        price: { ...decimal, 'x-read-roles': ['PRICE_R'] },
      },
    },
    BoatWhere: {
      properties: {
        name: ref('TextFilter'),
        ashore: ref('BooleanFilter'),
        launchDate: ref('DateFilter'),
        surveyedAt: ref('InstantFilter'),
        length: ref('DecimalFilter'),
        crew: ref('IntegerFilter'),
        price: ref('DecimalFilter'),
        ownerIds: ref('UuidListFilter'),
        harbor: ref('HarborRelationWhere'),
        _and: { type: 'array' },
      },
    },
    BoatAggregateRequest: {
      'x-aggregate': 'Boat',
      properties: {
        groupBy: { type: 'array', items: ref('AggregateGroupBy') },
        measures: { type: 'object', additionalProperties: ref('AggregateMeasure') },
        orderBy: { type: 'array', items: ref('AggregateOrderBy') },
      },
    },
  };
}

function named(schemas: Record<string, JsonObject>) {
  const complaints: string[] = [];
  nameColumns({ components: { schemas } }, (message) => complaints.push(message));
  const columnsOf = (name: string) => {
    const { column } = objectOf(objectOf(schemas[name]).properties);
    return objectOf(schemas[nameIn(`${objectOf(column).$ref}`)]).enum;
  };
  return { schemas, complaints, columnsOf };
}

describe('the bundle', () => {
  const { schemas, complaints, columnsOf } = named(bundle());

  test('groups each column by what its type allows, and not by lists and relations', () => {
    expect(complaints).toEqual([]);
    const groups = ['Day', 'Instant', 'Number', 'Value'].map((kind) => [
      columnsOf(`BoatGroupBy${kind}`),
      Object.keys(objectOf(objectOf(schemas[`BoatGroupBy${kind}`]).properties)),
    ]);
    expect(groups).toEqual([
      [['launchDate'], ['column', 'by', 'boundaries', 'daysBefore']],
      [['surveyedAt'], ['column', 'by']],
      [
        ['length', 'crew', 'price'],
        ['column', 'boundaries'],
      ],
      [['name', 'ashore'], ['column']],
    ]);
    expect(schemas.BoatGroupBy?.discriminator).toMatchObject({
      propertyName: 'column',
      mapping: { launchDate: ref('BoatGroupByDay').$ref, price: ref('BoatGroupByNumber').$ref },
    });
  });

  test('sums numbers, and finds the smallest and the greatest of numbers, days and instants', () => {
    expect(columnsOf('BoatSumMeasure')).toEqual(['length', 'crew', 'price']);
    expect(columnsOf('BoatRangeMeasure')).toEqual(['launchDate', 'surveyedAt', 'length', 'crew', 'price']);
    expect(Object.keys(objectOf(objectOf(schemas.CountMeasure).properties))).toEqual(['function']);
    expect(JSON.stringify(schemas.BoatNumberColumn)).toContain('`price` requires the `PRICE_R` role.');
  });

  test('leads from the request to the columns of its rows, and to no open ones', () => {
    const text = JSON.stringify(schemas);
    for (const part of ['BoatGroupBy', 'BoatMeasure', 'BoatAggregateOrderBy']) expect(text).toContain(`/${part}"`);
    for (const open of ['AggregateGroupBy', 'AggregateMeasure', 'AggregateFunction', 'AggregateOrderBy'])
      expect([open, schemas[open], text.includes(`/${open}"`)]).toEqual([open, undefined, false]);
  });
});

test('a name that the bundle gives to a part is reported', () => {
  expect(named({ ...bundle(), BoatMeasure: {} }).complaints).toEqual([expect.stringMatching(/^Rename BoatMeasure/)]);
});
