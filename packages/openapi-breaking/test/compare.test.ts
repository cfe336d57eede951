import { beforeAll, describe, expect, test } from 'vitest';
import { type Comparison, compare } from '../src/compare.ts';
import { keysOf, pointerTo } from '../src/document.ts';
import { bundleOf, type Edits, numberOf } from './sample.ts';

const path = pointerTo('paths', '/§/staff/{id}');
const get = `${path}/get`;
const put = `${path}/put`;
const webhook = '#/webhooks/staffUpdated§/post';
const parameters = '#/components/parameters';
const schemas = '#/components/schemas';
const own = `${schemas}/Staff§/allOf/2/properties`;
const sent = `${schemas}/StaffUpdate§/allOf/1/properties`;

const without = (gone: unknown) => (values: unknown[]) => values.filter((value) => value !== gone);
const and = (added: unknown) => (values: unknown[]) => [...values, added];
const renamed = (from: string, to: string) => (named: Record<string, unknown>) =>
  Object.fromEntries(Object.entries(named).map(([name, value]) => [name === from ? to : name, value]));

interface Row {
  readonly change: string;
  readonly edits: Edits;
  /** The expected rules; none for a compatible change. */
  readonly rules: readonly string[];
}

const row = (change: string, edits: Edits, ...rules: string[]): Row => ({ change, edits, rules });

const breaking = [
  row('a removed operation', { [get]: undefined }, 'operation-removed'),
  row('another operationId', { [`${get}/operationId`]: 'readStaff§' }, 'operation-id-changed'),
  row('a removed status', { [`${put}/responses/412`]: undefined }, 'response-removed'),
  row('another status of success', { [`${put}/responses`]: renamed('200', '201') }, 'response-removed'),
  row(
    'a removed header of a response',
    { [`${put}/responses/200/headers/ETag`]: undefined },
    'response-header-removed',
  ),
  row(
    'a header of a response that can be missing',
    { [`${put}/responses/200/headers/ETag/required`]: false },
    'response-header-became-optional',
  ),
  row(
    'another media type of a response',
    { [`${put}/responses/200/content`]: renamed('application/json', 'text/csv') },
    'media-type-removed',
  ),
  row(
    'another media type of a request',
    { [`${put}/requestBody/content`]: renamed('application/json', 'text/csv') },
    'media-type-removed',
  ),
  row('a body that is required', { [`${put}/requestBody/required`]: true }, 'request-body-became-required'),
  row(
    'a required header',
    { [`${put}/parameters`]: and({ $ref: `${parameters}/Reason§` }) },
    'parameter-became-required',
  ),
  row(
    'a required header of all operations of a path',
    { [`${path}/parameters`]: and({ $ref: `${parameters}/Reason§` }) },
    'parameter-became-required',
  ),
  row('a parameter that is required', { [`${parameters}/PageSize§/required`]: true }, 'parameter-became-required'),
  row('a removed parameter', { [`${get}/parameters/1`]: undefined }, 'parameter-removed'),
  row('a parameter in another form', { [`${parameters}/Sources§/explode`]: false }, 'parameter-serialization-changed'),
  row('a lower maximum', { [`${parameters}/PageSize§/schema/maximum`]: 500 }, 'schema-constraint-changed'),
  row('another pattern', { [`${parameters}/IfMatch§/schema/pattern`]: '^[a-z]+$' }, 'schema-constraint-changed'),
  row('fewer items', { [`${parameters}/Sources§/schema/maxItems`]: 2 }, 'schema-constraint-changed'),
  row('another default', { [`${parameters}/PageSize§/schema/default`]: 20 }, 'default-changed'),
  row('another default in a body', { [`${sent}/size/default`]: 2 }, 'default-changed'),
  row('a removed default', { [`${sent}/size/default`]: undefined }, 'default-changed'),
  row('security where there was none', { [`${put}/security`]: [{ bearerAuth: [] }] }, 'security-requirement-changed'),
  row('fewer roles', { [`${put}/x-roles`]: ['STAFF_W'] }, 'roles-narrowed'),
  row('a further role', { [`${put}/x-additional-roles`]: ['STAFF_W'] }, 'roles-narrowed'),
  row('repetition withdrawn', { [`${put}/x-idempotent`]: false }, 'repetition-withdrawn'),
  row('a lower rate limit', { '#/x-rate-limit-policies/write§/limit': 60 }, 'rate-limit-lowered'),
  row('another policy', { [`${put}/x-rate-limit`]: 'token§' }, 'rate-limit-lowered'),
  row('a lower limit of bodies', { '#/x-body-limits/write§': 1024 }, 'body-limit-lowered'),
  row('a lost record operation', { [`${schemas}/Staff§/x-record/operations`]: ['UPSERT'] }, 'record-narrowed'),
  row('values that must be unique', { [`${sent}/email/x-unique`]: true }, 'became-unique'),
  row('a removed property of a response', { [`${own}/card`]: undefined }, 'property-removed'),
  row(
    'a removed property that a response always had',
    { [`${own}/hours`]: undefined, [`${schemas}/Staff§/required`]: without('hours') },
    'property-removed',
    'required-properties-removed',
  ),
  row('a property that may be missing', { [`${schemas}/Base§/required`]: [] }, 'required-properties-removed'),
  row(
    'a property that can be missing, declared next to the parts',
    { [`${schemas}/Staff§/required`]: without('hours') },
    'required-properties-removed',
  ),
  row('a longer text in a response', { [`${own}/name/maxLength`]: 300 }, 'schema-constraint-changed'),
  row('another type in a response', { [`${own}/hours/type`]: 'string' }, 'schema-type-changed'),
  row('fractions in a response', { [`${own}/hours/type`]: 'number' }, 'schema-type-changed'),
  row('null in a response', { [`${own}/name/type`]: ['string', 'null'] }, 'schema-type-changed'),
  row('another format', { [`${schemas}/Base§/properties/id/format`]: 'uri' }, 'schema-constraint-changed'),
  row('another branch in a response', { [`${own}/card/anyOf`]: and({ type: 'integer' }) }, 'schema-type-changed'),
  row(
    'another schema behind a reference',
    { [`${get}/responses/200/content/application~1json/schema/$ref`]: `${schemas}/Base§` },
    'property-removed',
    'required-properties-removed',
  ),
  row(
    'another schema behind a later reference',
    { [`${put}/responses/200/content/application~1json/schema/$ref`]: `${schemas}/Base§` },
    'property-removed',
    'required-properties-removed',
  ),
  row(
    'a new value of an enum in a response',
    { [`${schemas}/Fields§/properties/status/enum`]: and('AWAY') },
    'enum-values-added',
  ),
  row(
    'a lost value of an enum in a request',
    { [`${schemas}/Fields§/properties/status/enum`]: ['ACTIVE'] },
    'enum-values-removed',
  ),
  row(
    'a lost value of an enum in a list',
    { [`${parameters}/Sources§/schema/items/enum`]: ['PORTAL'] },
    'enum-values-removed',
  ),
  row('a property that must be sent', { [`${schemas}/StaffUpdate§/required`]: ['email'] }, 'required-properties-added'),
  row(
    'a new property that must be sent',
    { [`${schemas}/StaffUpdate§/required`]: ['phone'], [`${sent}/phone`]: { type: 'string' } },
    'required-properties-added',
  ),
  row('a property that is rejected', { [`${sent}/email`]: undefined }, 'property-removed'),
  row('a shorter text in a request', { [`${sent}/email/maxLength`]: 100 }, 'schema-constraint-changed'),
  row('another type in a request', { [`${sent}/size/type`]: 'string' }, 'schema-type-changed'),
  row('null rejected in a request', { [`${schemas}/Fields§/properties/note/type`]: 'string' }, 'schema-type-changed'),
  row('a branch rejected in a request', { [`${sent}/card/oneOf/1`]: undefined }, 'schema-type-changed'),
  row('an object that is closed', { [`${sent}/extra/additionalProperties`]: false }, 'schema-constraint-changed'),
  row('more properties asked for', { [`${schemas}/StaffUpdate§/minProperties`]: 2 }, 'schema-constraint-changed'),
  row(
    'properties that depend',
    { [`${schemas}/StaffUpdate§/dependentRequired`]: { email: ['size'] } },
    'schema-constraint-changed',
  ),
  row('a property that an event lost', { [`${schemas}/Event§/properties/at`]: undefined }, 'property-removed'),
  row(
    'a property that an event may lack',
    { [`${schemas}/Event§/required`]: ['operation'] },
    'required-properties-removed',
  ),
  row(
    'another constant in an event',
    { [`${schemas}/Event§/properties/operation/const`]: 'CHANGE' },
    'enum-values-added',
  ),
  row('a header that an event lost', { [`${webhook}/parameters/0`]: undefined }, 'webhook-header-removed'),
  row(
    'a response that a receiver can no longer return',
    { [`${webhook}/responses/410`]: undefined },
    'response-removed',
  ),
];

const harmless = [
  row('another status of failure', { [`${put}/responses/409`]: { description: 'In conflict.' } }),
  row('a new header of a response', { [`${put}/responses/200/headers/Link`]: { schema: { type: 'string' } } }),
  row('an optional parameter', { [`${put}/parameters`]: and({ $ref: `${parameters}/PageSize§` }) }),
  row('a higher maximum', { [`${parameters}/PageSize§/schema/maximum`]: 2000 }),
  row('a new value of an enum in a request', { [`${parameters}/Sources§/schema/items/enum`]: and('MAIL') }),
  row('a new property of a response', {
    [`${own}/nick`]: { type: 'string' },
    [`${schemas}/Staff§/required`]: and('nick'),
  }),
  row('a shorter text in a response', { [`${own}/name/maxLength`]: 100 }),
  row('a new property that may be sent', { [`${sent}/phone`]: { type: 'string' } }),
  row('a longer text in a request', { [`${sent}/email/maxLength`]: 300 }),
  row('a deprecation', { [`${put}/deprecated`]: true }),
  row('a new value of a constant enum', { [`${sent}/card/oneOf`]: and({ type: 'integer' }) }),
  row('more roles', { [`${put}/x-roles`]: and('API_ADMIN') }),
  row('any role', { [`${put}/x-roles`]: ['ANY'] }),
  row('repetition as it is', { [`${put}/x-idempotent`]: true }),
  row('a higher rate limit', { '#/x-rate-limit-policies/write§/limit': 6000 }),
];

const words = [
  row('another description', { [`${schemas}/Staff§/description`]: 'Somebody.' }),
  row('another summary', { [`${put}/summary`]: 'Change it' }),
  row('another example', { '#/components/examples/staff§/summary': 'Somebody' }),
  row('an unused component', { [`${schemas}/Unused§`]: { type: 'string' } }),
  row('a schema written out', {
    [`${schemas}/Staff§/allOf/0`]: {
      type: 'object',
      required: ['id'],
      properties: { id: { type: 'string', format: 'uuid' } },
    },
  }),
];

/** Redocly interprets a removed path and a similar new one as a renamed path, so these are compared separately. */
const alone = [
  row(
    'a removed path and a removed webhook',
    { [path]: undefined, '#/webhooks/staffUpdated§': undefined },
    'path-removed',
    'path-removed',
  ),
  row(
    'a renamed path and a renamed webhook',
    {
      '#/paths': renamed('/§/staff/{id}', '/§/people/{id}'),
      '#/webhooks': renamed('staffUpdated§', 'staffChanged§'),
    },
    'path-removed',
    'webhook-renamed',
  ),
  row('a new path and a new webhook', {
    [pointerTo('paths', '/§/new')]: {},
    '#/webhooks/staffMoved§': { post: { operationId: 'staffMoved§', responses: {} } },
  }),
  row('a path parameter by another name', {
    '#/paths': renamed('/§/staff/{id}', '/§/staff/{staffId}'),
    [`${parameters}/Id§/name`]: 'staffId',
  }),
];

const rows = [...breaking, ...harmless, ...words];
let comparison: Comparison;

beforeAll(async () => {
  comparison = await compare(bundleOf(rows.map(() => ({}))), bundleOf(rows.map(({ edits }) => edits)));
});

const rulesIn = (changed: Row) => {
  const number = numberOf(rows.indexOf(changed));
  return [...new Set(comparison.breaks.filter(({ at }) => at.includes(number)).map(({ rule }) => rule))].sort();
};

const othersIn = (changed: Row) => comparison.others.filter((at) => at.includes(numberOf(rows.indexOf(changed))));

describe('a break', () => {
  test.each(breaking)('$change', (changed) => {
    expect(rulesIn(changed)).toEqual([...changed.rules].sort());
  });
});

describe('compatible, but requires a changelog entry', () => {
  test.each(harmless)('$change', (changed) => {
    expect(rulesIn(changed)).toEqual([]);
    expect(othersIn(changed)).not.toEqual([]);
  });
});

describe('irrelevant to callers', () => {
  test.each(words)('$change', (changed) => {
    expect(rulesIn(changed)).toEqual([]);
    expect(othersIn(changed)).toEqual([]);
  });
});

test.each(alone)('compared separately: $change', async ({ edits, rules }) => {
  const { breaks } = await compare(bundleOf([{}]), bundleOf([edits]));
  expect(breaks.map(({ rule }) => rule)).toEqual(rules);
});

test('changes of properties of all operations are found', async () => {
  const root: Edits = {
    '#/servers/0': undefined,
    '#/x-search-limits/depth': 4,
    '#/x-search-limits/weights/relation': 11,
    '#/x-search-limits/weights/pattern': 1,
    '#/x-write-limits/bulk': 5,
    '#/x-row-limits/file': 5,
    '#/x-tenant-limits/boats': 5,
    '#/components/securitySchemes/bearerAuth/scheme': 'basic',
  };
  const { breaks } = await compare(bundleOf([{}]), bundleOf([{}], root));
  expect(breaks.map(({ rule, at }) => `${rule} ${keysOf(at)[0]}`).sort()).toEqual([
    'row-limit-lowered x-row-limits',
    'search-limit-lowered x-search-limits',
    'search-weight-raised x-search-limits',
    'security-scheme-changed components',
    'server-removed servers',
    'tenant-limit-lowered x-tenant-limits',
    'write-limit-lowered x-write-limits',
  ]);
});

test('the same contract has no differences', async () => {
  expect(await compare(bundleOf([{}]), bundleOf([{}]))).toEqual({ breaks: [], others: [] });
});
