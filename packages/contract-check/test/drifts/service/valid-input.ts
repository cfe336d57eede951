import { isObject } from '../../../src/json.ts';
import { isText } from '../combinators.ts';
import { jsonOf, within } from '../message.ts';
import type { RequestInput } from '../wire.ts';
import { expecting, instead, tighten } from './combinators.ts';
import { problem } from './samples.ts';
import type { World } from './world.ts';

const is = (expected: unknown) => (value: unknown) =>
  value === expected || (isText(value) && value === String(expected));
const isNull = (value: unknown) => value === null;
const isEmpty = (value: unknown) => typeof value === 'object' && value !== null && Object.keys(value).length === 0;
const ofLength = (length: number) => (value: unknown) =>
  (isText(value) || Array.isArray(value)) && value.length === length;
const missing = (value: unknown) => value === undefined;
const isPresent = (value: unknown) => value !== undefined;
const times = <Value>(count: number, value: Value) => Array.from({ length: count }, () => value);
const onboard =
  (more: object) =>
  (world: World): RequestInput => ({
    body: { name: world.unique(), address: { city: 'Salem' }, ...more },
  });
const contact =
  (more: object) =>
  (world: World): RequestInput => ({ body: { contacts: [{ lastName: world.unique(), ...more }] } });
const definition =
  (more: object) =>
  (world: World): RequestInput => ({
    body: { name: world.unique(), fields: [{ name: 'note', type: 'STRING' }], ...more },
  });
const field = (more: object) => definition({ fields: [{ name: 'note', type: 'STRING', ...more }] });
const where = (condition: unknown): RequestInput => ({ body: { where: condition } });
/** Whether any value in the body matches. */
const anywhere = (test: (value: unknown) => boolean) => (value: unknown) => [...within(value)].some(test);
const operator = (name: string, test: (value: unknown) => boolean) =>
  anywhere((value) => isObject(value) && name in value && test(value[name]));

export const acceptance = expecting(
  ['valid input'],
  [
    tighten('getClientTypes', 'maximum', 'a page of 1000 rows is rejected', 'query.pageSize', is(1000), {
      query: { pageSize: '1000' },
    }),
    tighten('getTaxRegions', 'minimum', 'a page of one row is rejected', 'query.pageSize', is(1), {
      query: { pageSize: '1' },
    }),
    tighten(
      'listContactsByClient',
      'maximum',
      'the greatest number of rows to skip is rejected',
      'query.page',
      is(1e8),
      { query: { page: '100000000' } },
    ),
    tighten('getTaxRegions', 'boolean', 'false is rejected where true is accepted', 'query.includeTotal', is(false), {
      query: { includeTotal: 'false' },
    }),
    tighten(
      'listCustomRecordTypes',
      'boolean',
      'true is rejected where false is accepted',
      'query.includeInactive',
      is(true),
      { query: { includeInactive: 'true' } },
    ),
    tighten('getContact', 'header', 'a trace is rejected', 'header.traceparent', isPresent, {
      headers: { traceparent: `00-${'4'.repeat(32)}-${'7'.repeat(16)}-01` },
    }),
    tighten('listOrgs', 'header', 'the id of a client is rejected', 'header.x-client-id', isPresent, {
      headers: { 'x-client-id': 'hartwell-crm' },
    }),
    tighten(
      'listRecordTypes',
      'minLength',
      'the id of a client needs two characters',
      'header.x-client-id',
      ofLength(1),
      { headers: { 'x-client-id': 'x' } },
    ),
    tighten(
      'listServiceLines',
      'maxLength',
      'the id of a client may not have 100 characters',
      'header.x-client-id',
      ofLength(100),
      { headers: { 'x-client-id': 'x'.repeat(100) } },
    ),
    tighten(
      'onboardClient',
      'maxLength',
      'an idempotency key of 255 characters is rejected',
      'header.idempotency-key',
      ofLength(255),
      (world: World) => ({ headers: { 'idempotency-key': world.unique().padEnd(255, 'k') } }),
    ),
    tighten('updateCustomRecordType', 'branch', 'any version will do, and is rejected', 'header.if-match', is('*'), {
      headers: { 'if-match': '*' },
    }),

    tighten('listClients', 'maximum', 'a page of 1000 rows is rejected', 'body/pageSize', is(1000), {
      body: { pageSize: 1000 },
    }),
    tighten('listIndustries', 'minimum', 'a page of one row is rejected', 'body/pageSize', is(1), {
      body: { pageSize: 1 },
    }),
    tighten('listDepartments', 'default', 'a default is rejected where it is sent', 'body/pageSize', is(50), {
      body: { pageSize: 50 },
    }),
    tighten('listContacts', 'optional', 'a page must be given', 'body/page', missing, { body: {} }),
    tighten('listContactInfos', 'empty', 'an empty object is rejected', 'body', isEmpty, { body: {} }),
    tighten('lookupRecords', 'maximum', 'a page of 100 rows is rejected', 'body/pageSize', is(100), {
      body: { pageSize: 100 },
    }),
    tighten('lookupRecords', 'maximum', 'the last page number is rejected', 'body/page', is(1e6), {
      body: { page: 1e6 },
    }),
    tighten('searchClients', 'enum', 'a direction is not known', 'body', anywhere(is('desc_nulls_last')), {
      body: { orderBy: [{ name: 'desc_nulls_last' }] },
    }),
    tighten(
      'searchClients',
      'enum',
      'a status is not known',
      'body/where',
      anywhere(is('ARCHIVED')),
      where({ status: { _eq: 'ARCHIVED' } }),
    ),
    tighten(
      'searchClients',
      'branch',
      'an operator is not known',
      'body/where',
      operator('_nilike', isPresent),
      where({ name: { _nilike: 'x' } }),
    ),
    tighten(
      'searchClients',
      'branch',
      'conditions on a relation are rejected',
      'body/where/contactClients',
      isPresent,
      where({ contactClients: { roles: { _contains: 'BILLING' } } }),
    ),
    tighten(
      'searchClients',
      'empty',
      'an empty list of values is rejected',
      'body/where',
      operator('_in', isEmpty),
      where({ name: { _in: [] } }),
    ),
    tighten('searchClients', 'maxItems', 'five keys are too many', 'body/orderBy', ofLength(5), {
      body: { orderBy: times(5, { name: 'asc' }) },
    }),
    tighten('searchClients', 'property', 'nothing can be sorted by its state', 'body/orderBy/*/active', isPresent, {
      body: { orderBy: [{ active: 'asc' }] },
    }),
    tighten(
      'searchContacts',
      'enum',
      'a role is not known',
      'body/where',
      operator('_contains', is('SIGNER')),
      where({ contactClients: { roles: { _contains: 'SIGNER' } } }),
    ),
    tighten(
      'searchContacts',
      'maxLength',
      'a text of 500 characters is rejected',
      'body/where',
      anywhere(ofLength(500)),
      where({ lastName: { _eq: 'x'.repeat(500) } }),
    ),
    tighten(
      'searchContacts',
      'boolean',
      '_is_null: false is rejected',
      'body/where',
      operator('_is_null', is(false)),
      where({ email: { _is_null: false } }),
    ),
    tighten(
      'searchContacts',
      'branch',
      'conditions cannot be negated',
      'body/where/_not',
      isPresent,
      where({ _not: { lastName: { _eq: 'x' } } }),
    ),

    tighten(
      'onboardClient',
      'maxLength',
      'a name of 200 characters is rejected',
      'body/name',
      ofLength(200),
      onboard({ name: 'x'.repeat(200) }),
    ),
    tighten(
      'onboardClient',
      'minLength',
      'a name of one character is rejected',
      'body/name',
      ofLength(1),
      onboard({ name: 'x' }),
    ),
    tighten(
      'onboardClient',
      'null',
      'no e-mail address must not be null',
      'body/email',
      isNull,
      onboard({ email: null }),
    ),
    tighten(
      'onboardClient',
      'branch',
      'no legal form must not be null',
      'body/entityType',
      isNull,
      onboard({ entityType: null }),
    ),
    tighten(
      'onboardClient',
      'enum',
      'a legal form is not known',
      'body/entityType',
      is('GOVERNMENT'),
      onboard({ entityType: 'GOVERNMENT' }),
    ),
    tighten(
      'onboardClient',
      'empty',
      'an address without parts is rejected',
      'body/address',
      isEmpty,
      onboard({ address: {} }),
    ),
    tighten('onboardClient', 'optional', 'a telephone number must be given', 'body/phone', missing, onboard({})),
    tighten(
      'onboardClient',
      'minimum',
      'payment at once is rejected',
      'body/paymentTermsDays',
      is(0),
      onboard({ paymentTermsDays: 0 }),
    ),
    tighten(
      'onboardClient',
      'maximum',
      'payment after 120 days is rejected',
      'body/paymentTermsDays',
      is(120),
      onboard({ paymentTermsDays: 120 }),
    ),
    tighten(
      'onboardClient',
      'property',
      'a billing address is rejected',
      'body/billingAddress',
      isPresent,
      onboard({ billingAddress: { city: 'Salem' } }),
    ),
    tighten('upsertContacts', 'maxItems', 'a hundred contacts are too many', 'body/contacts', ofLength(100), {
      body: { contacts: times(100, { pmsRef: 'P-nobody' }) },
    }),
    tighten(
      'upsertContacts',
      'enum',
      'a channel is not known',
      'body/contacts/*/preferredChannel',
      is('PORTAL'),
      contact({ preferredChannel: 'PORTAL' }),
    ),
    tighten(
      'upsertContacts',
      'null',
      'no title must not be null',
      'body/contacts/*/title',
      isNull,
      contact({ title: null }),
    ),
    tighten(
      'upsertContacts',
      'empty',
      'no clients may not be an empty list',
      'body/contacts/*/clients',
      isEmpty,
      contact({ clients: [] }),
    ),
    tighten(
      'upsertRecords',
      'minLength',
      'the name of a type needs three characters',
      'body/records/*/type',
      ofLength(2),
      { body: { records: [{ type: 'Xy', attributes: {} }] } },
    ),
    tighten('upsertRecords', 'empty', 'no attributes are rejected', 'body/records/*/attributes', isEmpty, {
      body: { records: [{ type: 'Opportunity', attributes: {} }] },
    }),
    tighten(
      'updateRecords',
      'maxLength',
      'a key of 255 characters is rejected',
      'body/records/*/systemRef',
      ofLength(255),
      { body: { records: [{ type: 'Opportunity', systemRef: 'x'.repeat(255), attributes: {} }] } },
    ),
    tighten(
      'deleteRecords',
      'minLength',
      'a key of one character is rejected',
      'body/records/*/systemRef',
      ofLength(1),
      { body: { records: [{ type: 'Opportunity', systemRef: 'x' }] } },
    ),
    tighten(
      'createCustomRecordType',
      'enum',
      'a type of field is not known',
      'body/fields/*/type',
      is('JSON'),
      field({ type: 'JSON' }),
    ),
    tighten(
      'createCustomRecordType',
      'null',
      'the name that people read must not be null',
      'body/displayName',
      isNull,
      definition({ displayName: null }),
    ),
    tighten(
      'createCustomRecordType',
      'minLength',
      'the name of a field needs two characters',
      'body/fields/*/name',
      ofLength(1),
      field({ name: 'n' }),
    ),
    tighten(
      'createCustomRecordType',
      'maximum',
      'a place of 1000000 is rejected',
      'body/fields/*/rank',
      is(1e6),
      field({ rank: 1e6 }),
    ),
    tighten('updateCustomRecordType', 'null', 'a description cannot be cleared', 'body/description', isNull, {
      body: { description: null },
    }),
    tighten(
      'updateCustomRecordType',
      'optional',
      'a change without a description is rejected',
      'body/description',
      missing,
      { body: { displayName: 'Chance' } },
    ),

    tighten('listOffices', 'maximum', 'the greatest number of rows to skip is rejected', 'body/page', is(1e8), {
      body: { page: 1e8 },
    }),
    instead(
      'listTaxRegions',
      'property',
      'a total cannot be requested',
      (incoming) => JSON.stringify(jsonOf(incoming))?.includes('includeTotal') === true,
      () => problem(400),
      { body: { includeTotal: true } },
    ),
  ],
);
