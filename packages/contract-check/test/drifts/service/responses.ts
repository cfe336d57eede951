import { isObject } from '../../../src/json.ts';
import { gone, isLater, isText, to } from '../combinators.ts';
import { edit, jsonOf, type Reply, rowsOf, withHeader, withJson } from '../message.ts';
import { expecting, failure, header, member, response } from './combinators.ts';
import type { World } from './world.ts';

const status = (expected: number) => (reply: Reply) => ({ ...reply, status: expected });
const type = (expected: string) => (reply: Reply) => withHeader(reply, 'content-type', expected);
const text = (expected: string) => (reply: Reply) => ({ ...reply, text: expected });
const also = (more: object) => (value: unknown) => (isObject(value) ? { ...value, ...more } : value);
const asText = (value: unknown) => String(value);
const body = (pointer: string, change: (value: unknown) => unknown) => (reply: Reply) =>
  withJson(reply, edit(jsonOf(reply), pointer, change));
const withoutMatches = { body: { where: { name: { _eq: 'Nobody' } } } };
const opportunity = { path: { type: 'Opportunity' } };

const bodies = [
  member('createToken', 'const', 'the type of the token is in lower case', '/token_type', to('bearer')),
  member('createToken', 'bounds', 'a token lives for an hour', '/expires_in', to(3600)),
  member('createToken', 'pattern', 'the token is no JWT', '/access_token', to('0123456789abcdef0123456789')),
  header('createToken', 'header', 'a token may be cached', 'cache-control', 'private'),
  member('getClient', 'type', 'the version is a text', '/version', asText),
  member('getClient', 'type', 'a balance is a number', '/outstandingBalance', Number),
  member('getClient', 'required', 'the name is missing', '/name', gone),
  member('getClient', 'enum', 'the status is unknown', '/status', to('CUSTOMER')),
  member('getClient', 'enum', 'the legal form is in lower case', '/entityType', (value) => asText(value).toLowerCase()),
  member('getClient', 'pattern', 'the id of the org is in upper case', '/orgId', (value) =>
    asText(value).toUpperCase(),
  ),
  member('getClient', 'format', 'the instant of creation has no offset', '/createdAt', (value) =>
    asText(value).replace('Z', ''),
  ),
  member('getClient', 'format', 'the day of incorporation is no day', '/incorporationDate', to('2020-02-30')),
  member('getClient', 'pattern', 'a balance has a comma', '/unbilledWip', (value) => asText(value).replace('.', ',')),
  member('getClient', 'null', 'the name is null', '/name', to(null)),
  member('getClient', 'unknown property', 'there is an internal note', '', also({ internalNote: 'owes us a lunch' })),
  member('getClient', 'unknown property', 'the full tax id is shown', '/taxId', to('93-1184417')),
  member('getClient', 'length', 'the website is an empty text', '/website', to('')),
  member('getClient', 'bounds', 'the fiscal year ends in month 13', '/fiscalYearEndMonth', to(13)),
  member('getClient', 'type', 'the payment terms are half a day', '/paymentTermsDays', to(29.5)),
  member('getClient', 'empty', 'no references of other systems are null', '/sysRefs', to(null)),
  member('getClient', 'shape', 'the client is wrapped', '', (value) => ({ data: value })),
  member('getClient', 'shape', 'the client is a list of one', '', (value) => [value]),
  member('getContact', 'format', 'the e-mail address has no host', '/email', to('ines.calder')),
  member('getContact', 'length', 'the name is longer than 302 characters', '/displayName', to('x'.repeat(303))),
  member('getContact', 'uniqueItems', 'a role is returned twice', '/clients/*/roles', to(['BILLING', 'BILLING'])),
  member('getContact', 'items', 'a link has no roles', '/clients/0/roles', to([])),
  member('getContact', 'enum', 'the channel is FAX', '/preferredChannel', to('FAX')),
  member('getContact', 'pattern', 'the telephone number is not in E.164 form', '/phone', to('503 555 0143')),
  member('getContact', 'required', 'the last link does not say whether it is active', '/clients/-1/active', gone),
  member('listClients', 'last row', 'the last row has no currency', '/data/-1/currency', gone),
  member('listClients', 'type', 'a row is null', '/data/-1', to(null)),
  response(
    'listClientTypes',
    'later page',
    'rows of later pages have no code',
    (reply, incoming) => (isLater(incoming) ? body('/data/*/code', gone)(reply) : reply),
    { body: { page: 1, pageSize: 1 } },
  ),
  member('listContacts', 'last row', 'the last row says "no" for its mail', '/data/-1/emailOptOut', to('no')),
  member('getClientTypes', 'bounds', 'the last row is first', '/data/-1/displayOrder', to(-1)),
  member(
    'listClientGroups',
    'optional absent',
    'no description is an empty text',
    '/data/*/description',
    (value) => value ?? '',
  ),
  member(
    'listClientBusinessEntities',
    'enum',
    'a tax form is unknown',
    '/data/*/taxForm',
    (value) => value && 'FORM_1066',
  ),
  member(
    'listContactClients',
    'format',
    'links that are not cut were cut "never"',
    '/data/*/unlinkedAt',
    (value) => value ?? 'never',
  ),
  member('listContactClients', 'type', 'the roles are one text', '/data/*/roles', asText),
  member(
    'listContactInfos',
    'pattern',
    'the country has three letters',
    '/data/*/address/country',
    (value) => value && 'USA',
  ),
  member(
    'listContactInfos',
    'unknown property',
    'an address has coordinates',
    '/data/*/address',
    also({ latitude: 45.5 }),
  ),
  member('listDepartments', 'null', 'no head is 0', '/data/*/headId', (value) => value ?? 0),
  member('listIndustries', 'type', 'a code is a number', '/data/*/code', (value) => value && Number(value)),
  member('listOffices', 'pattern', 'the time zone is a sentence', '/data/*/timeZone', to('Pacific (US & Canada)')),
  member('listOffices', 'null', 'the address of the last row is null', '/data/-1/address', to(null)),
  member('listOrgs', 'bounds', 'the fiscal year starts in month 0', '/data/*/fiscalYearStartMonth', to(0)),
  member(
    'listServiceLines',
    'optional absent',
    'no account is left out',
    '/data/*/revenueAccountCode',
    (value) => value ?? undefined,
  ),
  member('getTaxRegions', 'type', 'a rate is a number', '/data/*/ratePercent', Number),
  member('getTaxRegions', 'null', 'the total that was not requested is null', '/total', (value) => value ?? null),
  member('listTaxRegions', 'type', 'a truth value is 0 or 1', '/data/*/appliesToServices', Number),
  response(
    'searchClients',
    'empty',
    'an empty list is null',
    (reply) => (rowsOf(jsonOf(reply)).length === 0 ? body('/data', to(null))(reply) : reply),
    withoutMatches,
  ),
  response(
    'searchContacts',
    'empty',
    'an empty list is left out',
    (reply) => (rowsOf(jsonOf(reply)).length === 0 ? body('/data', gone)(reply) : reply),
    { body: { where: { lastName: { _eq: 'Nobody' } } } },
  ),
  response(
    'listContactsByClient',
    'empty',
    'an empty list returns an empty object',
    (reply) => (rowsOf(jsonOf(reply)).length === 0 ? text('{}')(reply) : reply),
    { query: { page: '100' } },
  ),
  member(
    'listContactsByClient',
    'length',
    'the cursor of the last page is an empty text',
    '/nextCursor',
    (value) => value ?? '',
  ),
  member('searchContacts', 'required', 'a page does not say whether rows follow', '/hasMore', gone),
  member('searchClients', 'bounds', 'the total is negative', '/total', (value) => value && -1, {
    body: { includeTotal: true },
  }),
  member('searchClients', 'shape', 'the rows are an object by their id', '/data', (rows) =>
    Object.fromEntries(rowsOf({ data: rows }).map((row) => [row.id, row])),
  ),
  member('listServiceLines', 'type', 'the page size is a text', '/pageSize', asText),
  member('onboardClient', 'type', 'the created flag is a string', '/contacts/*/created', asText, (world: World) => ({
    body: {
      name: world.unique(),
      address: {},
      billingContact: { lastName: 'Calder', email: 'ines.calder@harborpine.example.com' },
    },
  })),
  member(
    'onboardClient',
    'required',
    'the id of the billing address is omitted if there is none',
    '/billingAddressId',
    (value) => value ?? undefined,
  ),
  member('upsertContacts', 'type', 'the index is a text', '/succeeded/*/index', asText),
  member('upsertContacts', 'enum', 'the reason of a failure is unknown', '/failed/*/code', to('NOPE'), {
    body: { contacts: [{ pmsRef: 'P-nobody' }] },
  }),
  member('upsertRecords', 'type', 'the number of records is a text', '/summary/total', asText),
  member('upsertRecords', 'enum', 'what became of a record is OK', '/records/*/status', to('OK')),
  member(
    'upsertRecords',
    'required',
    'a failure does not say what is wrong',
    '/records/*/error',
    (error) => (isObject(error) ? edit(error, '/detail', gone) : error),
    { body: { records: [{ type: 'Unheard', attributes: {} }] } },
  ),
  member('updateRecords', 'bounds', 'versions start with 0', '/records/*/version', (value) => value && 0),
  member('updateRecords', 'unknown property', 'the summary counts what was skipped', '/summary', also({ skipped: 0 })),
  member('deleteRecords', 'null', 'a record that failed has no type', '/records/*/type', to(null)),
  member('lookupRecords', 'null', 'the attributes of the last row are null', '/data/-1/attributes', to(null)),
  member('lookupRecords', 'pattern', 'the name of the type is in lower case', '/data/*/type', (value) =>
    asText(value).toLowerCase(),
  ),
  member('listCustomRecordTypes', 'const', 'a complete list says that more rows follow', '/hasMore', to(true)),
  member('listRecordTypes', 'const', 'the page of a whole list is 1', '/page', to(1)),
  member(
    'listRecordTypes',
    'uniqueItems',
    'an operation is returned twice',
    '/data/*/operations',
    to(['UPSERT', 'UPSERT']),
  ),
  member('createCustomRecordType', 'const', 'the type is not custom', '/isCustom', to(false)),
  member(
    'getCustomRecordType',
    'pattern',
    'the address of the schema is a whole URL',
    '/schemaUrl',
    (value) => `http://api.example.com${value}`,
  ),
  member('getCustomRecordType', 'items', 'a type has no fields', '/fields', to([])),
  member('updateCustomRecordType', 'const', 'fields are read-only', '/fields/*/readOnly', to(true)),
  member('getRecordSchema', 'empty', 'no inner fields are null', '/fields/*/fields', to(null), opportunity),
  member(
    'getRecordSchema',
    'enum',
    'a type of field is NUMBER',
    '/fields/*/type',
    (value) => (value === 'DECIMAL' ? 'NUMBER' : value),
    opportunity,
  ),
  member('getRecordSchema', 'required', 'the last field does not say whether it is unique', '/fields/-1/unique', gone),
  member('deactivateCustomRecordType', 'type', 'whether the type is active is a text', '/active', asText),
];

const statuses = [
  response('getClient', 'status', 'a success is 201', status(201)),
  response('listIndustries', 'status', 'a success is 418', status(418)),
  response('onboardClient', 'status', 'a creation is 200', status(200)),
  response('createCustomRecordType', 'status', 'a creation is 202', status(202)),
  response('upsertContacts', 'status', 'a bulk call is 207', status(207)),
  response('deactivateCustomRecordType', 'status', 'a deletion is 204', (reply) => ({
    ...reply,
    status: 204,
    text: '',
  })),
  response(
    'listServiceLines',
    'status',
    'a list that has more is 206',
    (reply) => (isObject(jsonOf(reply)) && reply.text.includes('"hasMore":true') ? status(206)(reply) : reply),
    { body: { pageSize: 1 } },
  ),
  response(
    'searchContacts',
    'status',
    'nothing found is 204',
    (reply) => (rowsOf(jsonOf(reply)).length === 0 ? { ...reply, status: 204, text: '' } : reply),
    { body: { where: { lastName: { _eq: 'Nobody' } } } },
  ),
  failure('getClientTypes', 400, 'status', 'a wrong value is 422', status(422)),
  failure('getClient', 404, 'status', 'what is not there is 410', status(410)),
  failure('getContact', 404, 'status', 'what is not there is 204', (reply) => ({ ...reply, status: 204, text: '' })),
  failure('getCustomRecordType', 404, 'status', 'what is not there is null with 200', (reply) => ({
    ...type('application/json')(reply),
    status: 200,
    text: 'null',
  })),
];

const types = [
  response('getContact', 'media type', 'a success is text/plain', type('text/plain')),
  response('getTaxRegions', 'media type', 'a success has no media type', (reply) =>
    withHeader(reply, 'content-type', undefined),
  ),
  response('listContactsByClient', 'media type', 'a success is application/hal+json', type('application/hal+json')),
  response('listRecordTypes', 'body', 'a success has no body', text('')),
  response('getRecordSchema', 'body', 'the JSON ends before its end', (reply) => text(reply.text.slice(0, -1))(reply)),
  failure('searchClients', 400, 'media type', 'an error is application/json', type('application/json')),
  failure('listOffices', 415, 'media type', 'a wrong media type returns HTML', (reply) => ({
    ...type('text/html')(reply),
    text: '<h1>Unsupported Media Type</h1>',
  })),
  failure('listDepartments', 401, 'media type', 'a missing token returns plain text', (reply) => ({
    ...type('text/plain')(reply),
    text: 'Unauthorized',
  })),
];

const headers = [
  header('getClient', 'header', 'there is no ETag', 'etag', undefined),
  header('getContact', 'header', 'the ETag is weak', 'etag', 'W/"1"'),
  header('getCustomRecordType', 'header', 'the ETag has no quotes', 'etag', '1'),
  header('updateCustomRecordType', 'header', 'a change has no ETag', 'etag', undefined),
  header('listClientGroups', 'header', 'there is no request id', 'x-request-id', undefined),
  header('listContacts', 'header', 'the request id is no UUID', 'x-request-id', 'req-17'),
  header('onboardClient', 'header', 'a creation has no Location', 'location', undefined),
  header('createCustomRecordType', 'header', 'the Location is no reference', 'location', 'http://[the new type]'),
  header('listOrgs', 'header', 'the rate limit is an empty text', 'ratelimit-policy', ''),
  failure('listContactInfos', 401, 'header', 'a missing token returns no WWW-Authenticate header', (reply) =>
    withHeader(reply, 'www-authenticate', undefined),
  ),
  failure(
    'createToken',
    401,
    'header',
    'a wrong key returns no WWW-Authenticate header',
    (reply) => withHeader(reply, 'www-authenticate', undefined),
    { body: { apiKey: 'nonsense' } },
  ),
  failure('listContactClients', 403, 'header', 'an error has no request id', (reply) =>
    withHeader(reply, 'x-request-id', undefined),
  ),
];

const problems = [
  failure('getClient', 404, 'problem', 'the status in the problem is another one', body('/status', to(400))),
  failure('getRecordSchema', 404, 'problem', 'the kind of a problem is about:blank', body('/type', to('about:blank'))),
  failure('createToken', 401, 'problem', 'a wrong key returns an OAuth error', text('{"error":"invalid_client"}'), {
    body: { apiKey: 'nonsense' },
  }),
  failure('listOrgs', 403, 'problem', 'an error has no code', body('/code', gone)),
  failure('searchContacts', 400, 'problem', 'the place of a wrong value is unknown', body('/errors/*/in', to('url'))),
  failure(
    'createCustomRecordType',
    400,
    'problem',
    'wrong values are an object by their pointer',
    body('/errors', (errors) =>
      Array.isArray(errors) ? Object.fromEntries(errors.map((error) => [error.pointer, error.detail])) : errors,
    ),
  ),
  failure(
    'updateRecords',
    400,
    'problem',
    'an error contains a stack trace',
    body('', also({ stack: 'at handler.js:17' })),
  ),
  failure('listServiceLines', 401, 'problem', 'the id of the call is no UUID', body('/requestId', to('17'))),
  failure('upsertRecords', 415, 'problem', 'a problem is an empty object', text('{}')),
  failure('onboardClient', 409, 'problem', 'the code of a conflict is unknown', body('/code', to('TAKEN')), {
    body: { name: 'Second', clientRef: 'C-00001', address: {} },
  }),
  failure(
    'updateCustomRecordType',
    412,
    'problem',
    'a failed precondition has the code of a conflict',
    body('/code', to('CONFLICT')),
    {
      headers: { 'if-match': '"999"' },
    },
  ),
  failure(
    'listTaxRegions',
    400,
    'problem',
    'a detail is null',
    body('/detail', (value) => (isText(value) ? null : value)),
  ),
];

export const responses = expecting(['responses'], [...bodies, ...statuses, ...types, ...headers, ...problems]);
