import { expect, test } from 'vitest';
import { isNightly } from '../../test/nightly.ts';
import { allOperations, contract, type Operation, type Schema } from './contract.ts';
import { contractAjv } from './contract-ajv.ts';
import { resolved } from './fields.ts';
import { referred } from './parameters.ts';
import { findingsOfToday } from './row-findings.ts';
import { asOfToday } from './stored-values.ts';
import { contractValidator } from './validator.ts';

type Json = Record<string, unknown>;

/** A row as an earlier release stored it: without the fields that were added since, and with one that has been removed. */
function ofEarlierRelease(schema: Schema, value: unknown): unknown {
  const { items, properties, required = [], anyOf } = resolved(schema);
  if (Array.isArray(value) && items !== undefined) return value.map((item) => ofEarlierRelease(items, item));
  const object = anyOf?.map(resolved).find((one) => one.properties !== undefined);
  if (object !== undefined) return ofEarlierRelease(object, value);
  if (typeof value !== 'object' || value === null || properties === undefined) return value;
  const isAdded = (name: string) => {
    const property = resolved(properties[name] ?? {});
    const types = [property, ...(property.anyOf ?? [])].flatMap((one) => resolved(one).type ?? []);
    return required.includes(name) && (property['x-on-create']?.value !== undefined || types.includes('null'));
  };
  const kept = Object.entries(value).filter(([name]) => !isAdded(name));
  const stored = kept.map(([name, held]) => [name, ofEarlierRelease(properties[name] ?? {}, held)]);
  return { ...Object.fromEntries(stored), removedSince: 'A' };
}

const events = Object.entries(contract.webhooks).flatMap(([name, { post }]) => {
  const { schema, examples } = post.requestBody.content['application/json'];
  return Object.values(examples).map((example) => [name, schema, referred(example).value as { data: Json }] as const);
});

/** By day one event of each kind of row: those of one kind have the same row. */
const ofRows = new Map(events.map((event) => [JSON.stringify(resolved(event[1]).properties?.data), event]));
const tried = isNightly ? events : [...ofRows.values()];

const ajv = contractAjv({ allErrors: true, useDefaults: false, verbose: false });

test.each(tried)(
  'the row of %s is read as of today, whatever was added or removed since it was stored',
  (_, schema, event) => {
    const { data } = resolved(schema).properties ?? {};
    const stored = ofEarlierRelease(data ?? {}, event.data) as Json;
    const validate = ajv.compile(schema);
    expect(validate({ ...event, data: stored })).toBe(false);
    const read = asOfToday(data ?? {}, stored);
    validate({ ...event, data: read });
    expect(validate.errors ?? []).toEqual([]);
    // What is of today already is not written again.
    expect(asOfToday(data ?? {}, event.data)).toBe(event.data);
  },
);

test('objects that can be null, lists and maps within a row are read as of today', () => {
  const line = {
    type: 'object',
    additionalProperties: false,
    required: ['note'],
    properties: { note: { type: ['string', 'null'] } },
  };
  const schema = {
    type: 'object',
    required: ['one', 'two', 'total'],
    properties: {
      two: { anyOf: [line, { type: 'null' }] },
      one: { anyOf: [line, { type: 'null' }] },
      list: { type: 'array', items: { anyOf: [{ type: 'string' }, line] } },
      map: { type: 'object', additionalProperties: line },
      total: { type: 'object', required: ['count'], properties: { count: { type: 'integer', default: 0 } } },
    },
  };
  expect(asOfToday(schema, { one: { gone: 1 }, list: ['x', {}], map: { a: {}, b: { note: 'y' } } })).toEqual({
    one: { note: null },
    two: null,
    list: ['x', { note: null }],
    map: { a: { note: null }, b: { note: 'y' } },
    total: { count: 0 },
  });
  const ofToday = { one: null, two: null, total: { count: 1 } };
  expect(asOfToday(schema, ofToday)).toBe(ofToday);
});

/** What a release that narrows a field can no longer describe: null, an enum, a bound, a pattern, a type, or a required field without a default. */
const formerValues = [null, 'FORMER', 'x'.repeat(200_000), -1.5, 1e300, [], undefined];
const byId = (id: string) => allOperations.find((one) => one.id === id) as Operation;

test.each(tried)(
  'the row of %s is listed as it was stored, if a release has narrowed a field',
  async (_, __, event) => {
    const validator = await contractValidator();
    const operation = byId('listEvents');
    let narrowed = 0;
    for (const name of Object.keys(event.data)) {
      for (const former of formerValues) {
        const { [name]: _today, ...others } = event.data;
        const data = former === undefined ? others : { ...others, [name]: former };
        const body = { data: [{ ...event, data }], hasMore: false, nextCursor: 'x' };
        const findings = validator.response(operation, 200, 'application/json', body);
        expect(findingsOfToday(findings, operation, false)).toEqual([]);
        narrowed += findings.length;
      }
    }
    expect(narrowed).toBeGreaterThan(0);
  },
);

test('findingsOfToday › keeps what no release has stored, and unknown members', async () => {
  const validator = await contractValidator();
  const [[, , event] = ['', {}, { data: {} }]] = events;
  const listed = (change: object) => {
    const body = { data: [{ ...event, ...change }], hasMore: false, nextCursor: 'x' };
    const findings = validator.response(byId('listEvents'), 200, 'application/json', body);
    return findingsOfToday(findings, byId('listEvents'), false).length;
  };
  expect([listed({}), listed({ sequence: 'x' }), listed({ data: { ...event.data, secret: 1 } })]).toEqual([0, 1, 1]);
  const findings = validator.response(byId('getClient'), 200, 'application/json', { id: 7, secret: 1 });
  expect(findingsOfToday(findings, byId('getClient'), false)).toEqual(findings);
  expect(findingsOfToday(findings, byId('getClient'), true).map(({ path }) => path)).toEqual(['/response/secret']);
});
