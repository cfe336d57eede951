import { expect, test } from 'vitest';
import { contractAjv } from './contract-ajv.ts';
import { distinct, nearest } from './wording.ts';

const ajv = contractAjv({ allErrors: true, useDefaults: false, verbose: true });

function detailsOf(schema: string, value: unknown): string[] {
  const validate = ajv.compile({ $ref: `#/components/schemas/${schema}` });
  validate(value);
  return distinct(validate.errors ?? []).map(({ error, detail }) => `${error.instancePath} ${detail}`);
}

test.each([
  [
    'PositiveMoney',
    '-1',
    'The value must have the form "1250.00" (amount of money above zero, with two decimal places).',
  ],
  ['Uuid', '', 'The value must have the form "0199a1c2-0c01-7c01-8a4f-5d2e9b60f101" (UUID version 7 in lower case).'],
  ['BusinessDate', '2026-02-29', 'The day or time does not exist.'],
  ['Instant', '2026-04-31T10:00:00Z', 'The day or time does not exist.'],
  ['Instant', '2016-12-31T23:59:60Z', 'The day or time does not exist.'],
  ['BusinessDate', '1 May', 'The value must have the form "2026-09-30" (business day, in the tenant\'s time zone).'],
  ['SystemRef', '', 'The text must not be blank.'],
  ['Priority', 'URGENT', 'The value must be one of LOW, NORMAL, HIGH.'],
  ['Priority', 'LOW,HIGH', 'The value must be one of LOW, NORMAL, HIGH.'],
  ['NullableMoney', 5, 'The value must be text or null, such as "1250.00".'],
])('an invalid %s has one error, in the words of its schema', (schema, value, sentence) => {
  expect(detailsOf(schema, value)).toEqual([` ${sentence}`]);
});

test('several values in one item of a list', () => {
  const validate = ajv.compile({ type: 'array', items: { enum: ['LOW', 'HIGH'] } });
  validate(['LOW,HIGH', 'LOW,MIDDLE']);
  expect(distinct(validate.errors ?? []).map(({ detail }) => detail)).toEqual([
    'The value has several values in one. Send each as an item of its own, in a query by repeating the parameter.',
    'The value must be one of LOW, HIGH.',
  ]);
});

test('an object that must have one of several properties has one error, whether it has none or several of them', () => {
  const both = { clientId: '0199a1c2-0c01-7c01-8a4f-5d2e9b60f101', clientRef: 'C-1' };
  const engagement = { fiscalYear: 2026, partnerId: both.clientId };
  for (const client of [both, {}])
    expect(detailsOf('EngagementCreateRequest', { ...engagement, ...client })).toEqual([
      ' Send exactly one of clientId and clientRef.',
    ]);
  expect(detailsOf('EngagementCreateRequest', [])).toEqual([' The value must be an object.']);
});

test('an object with several properties of which it may have one names those that were sent', () => {
  const [instant, id] = ['2026-05-01T10:00:00Z', '0199a1c2-0c01-7c01-8a4f-5d2e9b60f101'];
  expect(detailsOf('SandboxClockRequest', { advanceBy: 'P1D', advanceTo: instant })).toEqual([
    ' Send only one of advanceTo and advanceBy.',
  ]);
  expect(detailsOf('RowReference', { clientRef: 'C-1', id })).toEqual([' Send only one of id and clientRef.']);
});

test('what is rejected as a whole says what to send', () => {
  const entry = 'Send at least one entry in staffJobAssignments or staffTaskAssignments.';
  for (const schema of ['StaffAssignRequest', 'StaffRemoveRequest']) {
    expect(detailsOf(schema, {})).toEqual([` ${entry}`]);
    expect(detailsOf(schema, { staffJobAssignments: [], staffTaskAssignments: [] })).toEqual([` ${entry}`]);
  }
});

test('a value that matches several forms of which it may have one is invalid', () => {
  const validate = ajv.compile({ oneOf: [{ minimum: 1 }, { maximum: 5 }], description: 'A client.' });
  validate(3);
  expect(distinct(validate.errors ?? []).map(({ detail }) => detail)).toEqual([
    'The value must match exactly one of several forms. A client.',
  ]);
});

test('a name of a property that is not allowed is named', () => {
  const measures = { measures: { 'A b': { function: 'COUNT' } } };
  expect(detailsOf('InvoiceAggregateRequest', measures)).toEqual([
    '/measures The name "A b" must have the form ^[a-z][A-Za-z0-9]{0,30}$.',
  ]);
});

test('an unknown property names the one that was probably meant', () => {
  expect(detailsOf('ClientFields', { nme: 'Harbor' })).toContain(' Unknown property. Did you mean name?');
  expect(detailsOf('TextFilter', { _lik: '%' })).toContain(' Unknown property. Did you mean _like?');
});

test('an unknown property of a small object that resembles no other names all of them', () => {
  expect(detailsOf('Address', { region: 'OR' })).toEqual([
    expect.stringMatching(/^ Unknown property\. The object can have: line1, .*country\.$/),
  ]);
});

test('a name has no suggestion if too many letters differ, or if it is longer than any property', () => {
  expect(nearest('Email', ['phone', 'email'])).toBe('email');
  expect(nearest('colour', ['phone', 'email'])).toBeUndefined();
  expect(nearest('e'.repeat(100_000), ['phone', 'email'])).toBeUndefined();
});
