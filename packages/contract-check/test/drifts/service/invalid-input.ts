import { isObject } from '../../../src/json.ts';
import { gone, isText, to } from '../combinators.ts';
import { type IncomingRequest, jsonOf, withHeader, withJson } from '../message.ts';
import type { RequestInput } from '../wire.ts';
import { expecting, instead, loosen, request } from './combinators.ts';
import type { World } from './world.ts';

const isPresent = (value: unknown) => value !== undefined;
const above = (limit: number) => (value: unknown) => isPresent(value) && Number(value) > limit;
const below = (limit: number) => (value: unknown) => isPresent(value) && Number(value) < limit;
const longer = (limit: number) => (value: unknown) => isText(value) && value.length > limit;
const breaks = (pattern: RegExp) => (value: unknown) => isText(value) && !pattern.test(value);
const noneOf = (all: readonly string[]) => (value: unknown) => isText(value) && !all.includes(value);
const empty = (value: unknown) => typeof value === 'object' && value !== null && Object.keys(value).length === 0;
const more = (limit: number) => (value: unknown) => Array.isArray(value) && value.length > limit;
const twice = (value: unknown) => Array.isArray(value) && new Set(value).size < value.length;
const cut = (limit: number) => (value: unknown) => (value as string | unknown[]).slice(0, limit);
const distinct = (value: unknown) => [...new Set(value as unknown[])];
const missing = (value: unknown) => value === undefined;
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const typeName = /^[A-Z][A-Za-z0-9]{1,62}$/;
const capitalized = (value: unknown) =>
  `${String(value).charAt(0).toUpperCase()}${String(value).slice(1).toLowerCase()}`;
const directions = ['asc', 'desc', 'asc_nulls_first', 'asc_nulls_last', 'desc_nulls_first', 'desc_nulls_last'];
const columns = [
  ...[
    'id',
    'systemRef',
    'active',
    'createdAt',
    'updatedAt',
    'name',
    'legalName',
    'clientRef',
    'pmsRef',
    'status',
    'entityType',
  ],
  ...[
    'clientTypeId',
    'taxRegionId',
    'clientGroupId',
    'clientBusinessEntityId',
    'industryId',
    'officeId',
    'departmentId',
  ],
  ...['serviceLineId', 'orgId', 'partnerId', 'managerId', 'billerId', 'email', 'currency', 'outstandingBalance'],
  ...[
    'overdueBalance',
    'unbilledWip',
    'onboardedAt',
    'fiscalYearEndMonth',
    'contactClients',
    'partner',
    'manager',
    'jobs',
  ],
  ...['_and', '_or', '_not'],
];
const times = <Value>(count: number, create: (index: number) => Value) =>
  Array.from({ length: count }, (_, index) => create(index));

/** A new client with additional properties. */
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
const where = (condition: unknown): RequestInput => ({ body: { where: condition } });
/** Removes the unknown properties of an object. */
const known = (names: readonly string[]) => ({
  isWrong: (value: unknown) => isObject(value) && Object.keys(value).some((name) => !names.includes(name)),
  mend: (value: unknown) =>
    Object.fromEntries(Object.entries(value as object).filter(([name]) => names.includes(name))),
});
const pageNames = known(['page', 'pageSize', 'cursor', 'includeTotal']);
const addressNames = known(['line1', 'line2', 'city', 'state', 'postalCode', 'country']);
const itemNames = known(['type', 'systemRef']);

const parameters = [
  loosen('getClientTypes', 'maximum', 'a page of more than 1000 rows is cut', 'query.pageSize', above(1000), to(1000), {
    query: { pageSize: '1001' },
  }),
  loosen('getTaxRegions', 'minimum', 'a page of no rows has one', 'query.pageSize', below(1), to(1), {
    query: { pageSize: '0' },
  }),
  loosen('listContactsByClient', 'minimum', 'a negative number of rows to skip is 0', 'query.page', below(0), to(0), {
    query: { page: '-1' },
  }),
  loosen('getTaxRegions', 'maximum', 'any number of rows can be skipped', 'query.page', above(1e8), to(1e8), {
    query: { page: '100000001' },
  }),
  loosen(
    'getClientTypes',
    'type',
    'a page size that is no number is left out',
    'query.pageSize',
    breaks(/^-?\d+$/),
    gone,
    { query: { pageSize: 'ten' } },
  ),
  loosen(
    'getTaxRegions',
    'type',
    'any text requests a total',
    'query.includeTotal',
    noneOf(['true', 'false']),
    to('true'),
    { query: { includeTotal: 'yes' } },
  ),
  loosen(
    'listCustomRecordTypes',
    'type',
    'any text requests inactive types',
    'query.includeInactive',
    noneOf(['true', 'false']),
    to('true'),
    { query: { includeInactive: '1' } },
  ),
  loosen(
    'getClientTypes',
    'pattern',
    'a cursor with odd characters is left out',
    'query.cursor',
    breaks(/^[A-Za-z0-9_.-]+$/),
    gone,
    { query: { cursor: 'a b!' } },
  ),
  request(
    'listContactsByClient',
    'unknown parameter',
    'unknown parameters are ignored',
    (incoming) => knownQuery(incoming, ['page', 'pageSize', 'cursor', 'includeTotal']),
    { query: { nonsense: '1' } },
  ),
  request('getClient', 'unknown parameter', 'unknown parameters are ignored', (incoming) => knownQuery(incoming, []), {
    query: { nonsense: '1' },
  }),
  request(
    'listOrgs',
    'required',
    'the tenant may be left out',
    (incoming, world) => (missing(incoming.headers.tenant) ? as(incoming, world.owner) : incoming),
    { headers: { tenant: undefined } },
  ),
  request(
    'listDepartments',
    'pattern',
    'any text passes for the name of a tenant',
    (incoming, { owner }) =>
      breaks(/^[a-z][a-z0-9_]{1,62}$/)(incoming.headers.tenant)
        ? { ...incoming, headers: { ...incoming.headers, tenant: owner.tenant ?? '' } }
        : incoming,
    { headers: { tenant: 'Not A Tenant' } },
  ),
  loosen(
    'listIndustries',
    'maxLength',
    'the id of a client is as long as it likes',
    'header.x-client-id',
    longer(100),
    gone,
    { headers: { 'x-client-id': 'x'.repeat(101) } },
  ),
  loosen(
    'listServiceLines',
    'pattern',
    'the id of a client has any characters',
    'header.x-client-id',
    breaks(/^[\x21-\x7e]+$/),
    gone,
    { headers: { 'x-client-id': 'a b' } },
  ),
  loosen(
    'updateCustomRecordType',
    'pattern',
    'a malformed precondition is ignored',
    'header.if-match',
    breaks(/^(\*|"\d{1,10}"(\s*,\s*"\d{1,10}")*)$/),
    gone,
    { headers: { 'if-match': 'abc' }, body: { description: 'Work' } },
  ),
  loosen(
    'onboardClient',
    'maxLength',
    'an idempotency key is as long as it likes',
    'header.idempotency-key',
    longer(255),
    gone,
    { headers: { 'idempotency-key': 'k'.repeat(256) } },
  ),
  loosen(
    'createCustomRecordType',
    'pattern',
    'an idempotency key has spaces',
    'header.idempotency-key',
    breaks(/^[\x21-\x7e]+$/),
    gone,
    { headers: { 'idempotency-key': 'a key' } },
  ),
  request(
    'getClient',
    'format',
    'an id that is no UUID leads to some client',
    (incoming, { ids }) => repairPath(incoming, uuid, ids.client),
    { path: { id: 'nonsense' } },
  ),
  request(
    'getContact',
    'pattern',
    'an id of another version leads to some contact',
    (incoming, { ids }) => repairPath(incoming, uuid, ids.contact),
    { path: { id: '9b2d6a1e-5f3c-4c1b-8a4f-5d2e9b60f101' } },
  ),
  request(
    'listContactsByClient',
    'format',
    'an id that is no UUID leads to some client',
    (incoming, { ids }) => repairPath(incoming, uuid, ids.client),
    { path: { clientId: '17' } },
  ),
  request(
    'getRecordSchema',
    'pattern',
    'an invalid name returns some type',
    (incoming, { type }) => repairPath(incoming, typeName, type),
    { path: { type: 'opportunity' } },
  ),
  request(
    'lookupRecords',
    'maxLength',
    'a name that is too long leads to some type',
    (incoming, { type }) => repairPath(incoming, typeName, type),
    { path: { type: 'X'.repeat(64) } },
  ),
];

const bodies = [
  request(
    'createToken',
    'pattern',
    'a key with spaces is accepted',
    (incoming, { key }) =>
      jsonText(incoming, 'apiKey', /\s|[^\w.-]/) ? withJson(incoming, { apiKey: key }) : incoming,
    { body: { apiKey: 'no key' } },
  ),
  loosen('listClients', 'maximum', 'a page of more than 1000 rows is cut', 'body/pageSize', above(1000), to(1000), {
    body: { pageSize: 1001 },
  }),
  loosen(
    'listContacts',
    'type',
    'a page size may be a text',
    'body/pageSize',
    (value) => isText(value) && Number.isInteger(Number(value)),
    Number,
    { body: { pageSize: '5' } },
  ),
  loosen(
    'listContactInfos',
    'type',
    'a page size that is no number is left out',
    'body/pageSize',
    (value) => isPresent(value) && typeof value !== 'number',
    gone,
    { body: { pageSize: [] } },
  ),
  loosen('listOffices', 'minimum', 'a negative number of rows to skip is 0', 'body/page', below(0), to(0), {
    body: { page: -1 },
  }),
  loosen('listIndustries', 'type', 'includeTotal can be a string', 'body/includeTotal', isText, to(true), {
    body: { includeTotal: 'true' },
  }),
  loosen(
    'listTaxRegions',
    'type',
    'a fraction of a row is left out',
    'body/page',
    (value) => typeof value === 'number' && !Number.isInteger(value),
    (value) => Math.floor(Number(value)),
    { body: { page: 0.5 } },
  ),
  loosen('listOrgs', 'unknown property', 'unknown properties are ignored', 'body', pageNames.isWrong, pageNames.mend, {
    body: { nonsense: 1 },
  }),
  loosen('listClientGroups', 'maxLength', 'a cursor that is too long is left out', 'body/cursor', longer(4096), gone, {
    body: { cursor: 'x'.repeat(4097) },
  }),
  loosen(
    'listServiceLines',
    'not',
    'of cursor and page the cursor is ignored',
    'body',
    (value) => isObject(value) && isPresent(value.cursor) && Number(value.page) > 0,
    (value) => ({ ...(value as object), cursor: undefined }),
    { body: { cursor: 'abc.def', page: 1 } },
  ),
  loosen('listDepartments', 'null', 'no page size is null', 'body/pageSize', (value) => value === null, gone, {
    body: { pageSize: null },
  }),
  loosen(
    'searchClients',
    'unknown property',
    'unknown columns are ignored',
    'body/where',
    (value) => isObject(value) && Object.keys(value).some((name) => !columns.includes(name)),
    to({}),
    where({ nickname: { _eq: 'x' } }),
  ),
  loosen(
    'searchClients',
    'minProperties',
    'a condition without an operator is ignored',
    'body/where/*',
    (value) => empty(value) && !Array.isArray(value),
    gone,
    where({ name: {} }),
  ),
  loosen(
    'searchClients',
    'maxProperties',
    'of two keys in one the first one sorts',
    'body/orderBy/*',
    (value) => isObject(value) && Object.keys(value).length > 1,
    (value) => Object.fromEntries(Object.entries(value as object).slice(0, 1)),
    { body: { orderBy: [{ name: 'asc', id: 'desc' }] } },
  ),
  loosen('searchClients', 'maxItems', 'keys after the fifth are ignored', 'body/orderBy', more(5), cut(5), {
    body: { orderBy: times(6, () => ({ name: 'asc' })) },
  }),
  loosen(
    'searchClients',
    'enum',
    'an unknown direction is ascending',
    'body/orderBy/*/*',
    noneOf(directions),
    to('asc'),
    { body: { orderBy: [{ name: 'ascending' }] } },
  ),
  loosen(
    'searchClients',
    'enum',
    'an unknown status matches nothing',
    'body/where/status/_eq',
    noneOf(['PROSPECT', 'ACTIVE', 'INACTIVE', 'ARCHIVED']),
    to('ARCHIVED'),
    where({ status: { _eq: 'GONE' } }),
  ),
  loosen(
    'searchClients',
    'format',
    'an invalid id matches nothing',
    'body/where/id/_eq',
    breaks(uuid),
    to('0199a1c2-0c01-7c01-8a4f-5d2e9b60f1ff'),
    where({ id: { _eq: '17' } }),
  ),
  loosen(
    'searchContacts',
    'type',
    'one value is accepted instead of a list',
    'body/where/*/_in',
    isText,
    (value) => [value],
    where({ lastName: { _in: 'Calder' } }),
  ),
  loosen(
    'searchContacts',
    'maxLength',
    'a text of any length is looked for',
    'body/where/*/_eq',
    longer(500),
    cut(500),
    where({ lastName: { _eq: 'x'.repeat(501) } }),
  ),
  loosen('searchContacts', 'minProperties', 'a key without a column is ignored', 'body/orderBy/*', empty, gone, {
    body: { orderBy: [{}] },
  }),
  loosen(
    'searchContacts',
    'type',
    'a condition that is null is ignored',
    'body/where',
    (value) => value === null,
    gone,
    {
      body: { where: null },
    },
  ),
  loosen(
    'onboardClient',
    'required',
    'a client without a name is "New client"',
    'body/name',
    missing,
    to('New client'),
    { body: { address: {} } },
  ),
  loosen('onboardClient', 'required', 'a client needs no address', 'body/address', missing, to({}), (world: World) => ({
    body: { name: world.unique() },
  })),
  loosen(
    'onboardClient',
    'minLength',
    'an empty name is "New client"',
    'body/name',
    (value) => value === '',
    to('New client'),
    onboard({ name: '' }),
  ),
  loosen(
    'onboardClient',
    'maxLength',
    'a name that is too long is cut',
    'body/name',
    longer(200),
    cut(200),
    onboard({ name: 'x'.repeat(201) }),
  ),
  loosen(
    'onboardClient',
    'null',
    'a name that is null is "New client"',
    'body/name',
    (value) => value === null,
    to('New client'),
    onboard({ name: null }),
  ),
  loosen(
    'onboardClient',
    'format',
    'an invalid email address is left out',
    'body/email',
    breaks(/^[^@\s]+@[^@\s]+\.[^@\s]+$/),
    gone,
    onboard({ email: 'not an address' }),
  ),
  loosen(
    'onboardClient',
    'pattern',
    'a telephone number of any form is accepted',
    'body/phone',
    breaks(/^\+[1-9]\d{1,14}$/),
    gone,
    onboard({ phone: '503 555 0143' }),
  ),
  loosen(
    'onboardClient',
    'format',
    'an invalid day is ignored',
    'body/incorporationDate',
    (value) => isText(value) && Number.isNaN(Date.parse(value)),
    gone,
    onboard({ incorporationDate: '2020-13-45' }),
  ),
  loosen(
    'onboardClient',
    'maximum',
    'month 13 is December',
    'body/fiscalYearEndMonth',
    above(12),
    to(12),
    onboard({ fiscalYearEndMonth: 13 }),
  ),
  loosen(
    'onboardClient',
    'minimum',
    'day 0 is day 1',
    'body/fiscalYearEndDay',
    (value) => typeof value === 'number' && value < 1,
    to(1),
    onboard({ fiscalYearEndDay: 0 }),
  ),
  loosen(
    'onboardClient',
    'enum',
    'an unknown legal form is OTHER',
    'body/entityType',
    noneOf([
      'INDIVIDUAL',
      'SOLE_PROPRIETOR',
      'PARTNERSHIP',
      'LLC',
      'C_CORP',
      'S_CORP',
      'TRUST',
      'ESTATE',
      'NONPROFIT',
      'GOVERNMENT',
      'OTHER',
    ]),
    to('OTHER'),
    onboard({ entityType: 'CLUB' }),
  ),
  loosen(
    'onboardClient',
    'unknown property',
    'unknown parts of an address are ignored',
    'body/address',
    addressNames.isWrong,
    addressNames.mend,
    onboard({ address: { planet: 'Earth' } }),
  ),
  loosen(
    'onboardClient',
    'minProperties',
    'a contact without a field is ignored',
    'body/preferredContact',
    empty,
    gone,
    onboard({ preferredContact: {} }),
  ),
  loosen(
    'onboardClient',
    'type',
    'the payment terms may be a text',
    'body/paymentTermsDays',
    isText,
    to(30),
    onboard({ paymentTermsDays: '30' }),
  ),
  instead(
    'upsertContacts',
    'minItems',
    'no contacts are accepted',
    ({ body }) => body?.toString().replaceAll(/\s/g, '') === '{"contacts":[]}',
    () => ({
      status: 200,
      headers: { 'content-type': 'application/json', 'x-request-id': '0199a1c2-0c01-7c01-8a4f-5d2e9b60f1ff' },
      text: '{"succeeded":[],"failed":[]}',
    }),
    { body: { contacts: [] } },
  ),
  loosen(
    'upsertContacts',
    'maxItems',
    'contacts after the hundredth are ignored',
    'body/contacts',
    more(100),
    cut(100),
    { body: { contacts: times(101, () => ({ pmsRef: 'P-nobody' })) } },
  ),
  loosen(
    'upsertContacts',
    'uniqueItems',
    'a role may be given twice',
    'body/contacts/*/clients/*/roles',
    twice,
    distinct,
    (world: World) => contact({ clients: [{ clientRef: world.refs.client, roles: ['OTHER', 'OTHER'] }] })(world),
  ),
  loosen(
    'upsertContacts',
    'type',
    'a truth value may be a text',
    'body/contacts/*/portalEnabled',
    isText,
    to(true),
    contact({ portalEnabled: 'yes' }),
  ),
  loosen(
    'upsertContacts',
    'enum',
    'an unknown channel is ignored',
    'body/contacts/*/preferredChannel',
    noneOf(['EMAIL', 'PHONE', 'SMS', 'PORTAL']),
    to(null),
    contact({ preferredChannel: 'FAX' }),
  ),
  loosen(
    'upsertContacts',
    'type',
    'one contact is accepted instead of a list',
    'body/contacts',
    isObject,
    (value) => [value],
    (world: World) => ({ body: { contacts: { lastName: world.unique() } } }),
  ),
  loosen('upsertRecords', 'required', 'a record needs no attributes', 'body/records/*/attributes', missing, to({}), {
    body: { records: [{ type: 'Opportunity', systemRef: 'OPP-0' }] },
  }),
  loosen(
    'upsertRecords',
    'pattern',
    'the name of a type may be in lower case',
    'body/records/*/type',
    breaks(typeName),
    capitalized,
    { body: { records: [{ type: 'opportunity', attributes: {} }] } },
  ),
  loosen('updateRecords', 'required', 'a record needs no key', 'body/records/*/systemRef', missing, to('OPP-0'), {
    body: { records: [{ type: 'Opportunity', attributes: {} }] },
  }),
  loosen(
    'deleteRecords',
    'unknown property',
    'unknown members of a record are ignored',
    'body/records/*',
    itemNames.isWrong,
    itemNames.mend,
    { body: { records: [{ type: 'Opportunity', systemRef: 'OPP-none', attributes: {} }] } },
  ),
  loosen(
    'createCustomRecordType',
    'enum',
    'a field of an unknown type is a text',
    'body/fields/*/type',
    noneOf([
      'STRING',
      'TEXT',
      'INTEGER',
      'DECIMAL',
      'BOOLEAN',
      'DATE',
      'DATETIME',
      'EMAIL',
      'URL',
      'ENUM',
      'MULTI_ENUM',
      'REFERENCE',
      'JSON',
    ]),
    to('TEXT'),
    definition({ fields: [{ name: 'note', type: 'MONEY' }] }),
  ),
  loosen(
    'createCustomRecordType',
    'pattern',
    'the name of a field may begin in upper case',
    'body/fields/*/name',
    breaks(/^[a-z][A-Za-z0-9]{0,62}$/),
    to('mended'),
    definition({ fields: [{ name: 'Note', type: 'STRING' }] }),
  ),
  loosen(
    'createCustomRecordType',
    'const',
    'a field may be sent as read-only',
    'body/fields/*/readOnly',
    (value) => value === true,
    gone,
    definition({ fields: [{ name: 'note', type: 'STRING', readOnly: true }] }),
  ),
  loosen(
    'createCustomRecordType',
    'minimum',
    'a negative length is ignored',
    'body/fields/*/minLength',
    below(0),
    gone,
    definition({ fields: [{ name: 'note', type: 'STRING', minLength: -1 }] }),
  ),
  loosen(
    'createCustomRecordType',
    'uniqueItems',
    'a value may be listed twice',
    'body/fields/*/enumValues',
    twice,
    distinct,
    definition({ fields: [{ name: 'stage', type: 'ENUM', enumValues: ['A', 'A'] }] }),
  ),
  loosen(
    'updateCustomRecordType',
    'maxLength',
    'a description that is too long is cut',
    'body/description',
    longer(2000),
    cut(2000),
    { body: { description: 'x'.repeat(2001) } },
  ),
  loosen('updateCustomRecordType', 'unknown property', 'a name is ignored', 'body/name', isPresent, gone, {
    body: { name: 'Other', description: 'Work' },
  }),
  request(
    'listClientTypes',
    'body',
    'a body that is not JSON is ignored',
    (incoming) => (jsonOf(incoming) === undefined ? withJson(incoming, {}) : incoming),
    { raw: '{"page":' },
  ),
  request(
    'listContactClients',
    'body',
    'the body may be left out',
    (incoming) =>
      incoming.body === undefined
        ? withJson({ ...incoming, headers: { ...incoming.headers, 'content-type': 'application/json' } }, {})
        : incoming,
    { raw: '' },
  ),
];

const mediaTypes = [
  loosen(
    'listClientBusinessEntities',
    'media type',
    'a body may be text/plain',
    'header.content-type',
    breaks(/^application\/json/),
    to('application/json'),
    { headers: { 'content-type': 'text/plain' } },
  ),
  request(
    'searchClients',
    'media type',
    'a form is treated as an empty search',
    (incoming) =>
      incoming.headers['content-type']?.includes('form')
        ? { ...withJson(incoming, {}), headers: { ...incoming.headers, 'content-type': 'application/json' } }
        : incoming,
    { headers: { 'content-type': 'application/x-www-form-urlencoded' }, raw: 'page=0' },
  ),
  request(
    'updateRecords',
    'media type',
    'XML is treated as no change',
    (incoming) => {
      if (!incoming.headers['content-type']?.includes('xml')) return incoming;
      const records = [{ type: 'Opportunity', systemRef: 'OPP-0', attributes: {} }];
      return withHeader(withJson(incoming, { records }), 'content-type', 'application/json');
    },
    { headers: { 'content-type': 'application/xml' } },
  ),
];

const unsigned: RequestInput = { headers: { authorization: undefined } };
const nonsense: RequestInput = { headers: { authorization: 'Bearer eyJhbGciOiJFZERTQSJ9.e30.nonsense' } };
const is = (who: 'expired' | 'forbidden' | 'otherTenant') => (incoming: IncomingRequest, world: World) =>
  incoming.headers.authorization === world[who].authorization;
const isUnsigned = (incoming: IncomingRequest) => incoming.headers.authorization === undefined;
const isUnknown = (incoming: IncomingRequest, world: World) =>
  isText(incoming.headers.authorization) &&
  ![world.owner, world.expired, world.forbidden, world.otherTenant].some(
    (one) => one.authorization === incoming.headers.authorization,
  );

const security = [
  admit('getClient', 'no token is needed', isUnsigned, unsigned),
  admit('listRecordTypes', 'no token is needed', isUnsigned, unsigned),
  admit('upsertContacts', 'no token is needed to write', isUnsigned, unsigned),
  admit('searchClients', 'any token will do', isUnknown, nonsense),
  admit('listTaxRegions', 'any token will do', isUnknown, nonsense),
  admit(
    'listIndustries',
    'any scheme will do',
    (incoming) => isText(incoming.headers.authorization) && !incoming.headers.authorization.startsWith('Bearer '),
    { headers: { authorization: 'Basic bm9ib2R5Og==' } },
  ),
  admit('listOrgs', 'a token never expires', is('expired'), ({ expired }) => ({ headers: expired })),
  admit('getCustomRecordType', 'a token never expires', is('expired'), ({ expired }) => ({ headers: expired })),
  admit('getContact', 'no role is needed', is('forbidden'), ({ forbidden }) => ({ headers: forbidden })),
  admit('listDepartments', 'no role is needed', is('forbidden'), ({ forbidden }) => ({ headers: forbidden })),
  admit('deleteRecords', 'no role is needed to delete', is('forbidden'), ({ forbidden }) => ({ headers: forbidden })),
  admit('getClient', 'a client is shown to another tenant', is('otherTenant'), ({ otherTenant }) => ({
    headers: otherTenant,
  })),
  admit('getCustomRecordType', 'a type is shown to another tenant', is('otherTenant'), ({ otherTenant }) => ({
    headers: otherTenant,
  })),
];

export const rejections = expecting(['invalid input'], [...parameters, ...bodies, ...mediaTypes, ...security]);

/** Treats an identity as the owner. */
function admit(
  operation: string,
  what: string,
  who: (incoming: IncomingRequest, world: World) => boolean,
  shown: RequestInput | ((world: World) => RequestInput),
) {
  return request(
    operation,
    'security',
    what,
    (incoming, world) => (who(incoming, world) ? as(incoming, world.owner) : incoming),
    shown,
  );
}

function as(incoming: IncomingRequest, headers: World['owner']): IncomingRequest {
  return { ...incoming, headers: { ...incoming.headers, ...headers } };
}

function knownQuery(incoming: IncomingRequest, names: readonly string[]): IncomingRequest {
  const query = [...new URLSearchParams(incoming.query)].filter(([name]) => names.includes(name));
  return { ...incoming, query: new URLSearchParams(query).toString() };
}

/** Replaces the last segment of a path if it has the wrong format. */
function repairPath(incoming: IncomingRequest, form: RegExp, replacement: string): IncomingRequest {
  const segments = incoming.path.split('/');
  return form.test(segments.at(-1) ?? '')
    ? incoming
    : { ...incoming, path: [...segments.slice(0, -1), replacement].join('/') };
}

function jsonText(incoming: IncomingRequest, name: string, pattern: RegExp): boolean {
  const body = jsonOf(incoming);
  return isObject(body) && isText(body[name]) && pattern.test(body[name]);
}
