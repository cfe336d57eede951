import { isObject } from '../../../src/json.ts';
import { crash, isText } from '../combinators.ts';
import { type IncomingRequest, jsonOf, within } from '../message.ts';
import type { RequestInput } from '../wire.ts';
import { drift, expecting, type ServiceDrift } from './combinators.ts';
import type { World } from './world.ts';

/** Requests that match a test cause an unhandled error. */
function fails(
  operation: string,
  kind: string,
  what: string,
  when: (incoming: IncomingRequest) => boolean,
  shown: RequestInput | ((world: World) => RequestInput),
): ServiceDrift {
  return drift(
    operation,
    kind,
    what,
    () => (incoming, next) => (incoming.operation === operation && when(incoming) ? crash() : next(incoming)),
    shown,
  );
}

const some = (test: (value: unknown) => boolean) => (incoming: IncomingRequest) =>
  [...within(jsonOf(incoming))].some(test);
const text = (pattern: RegExp) => some((value) => isText(value) && pattern.test(value));
const named = (name: string, test: (value: unknown) => boolean) =>
  some((value) => isObject(value) && Object.hasOwn(value, name) && test(value[name]));
const depth = (value: unknown): number =>
  typeof value === 'object' && value !== null ? 1 + Math.max(0, ...Object.values(value).map(depth)) : 0;
const query = (test: RegExp) => (incoming: IncomingRequest) => test.test(decodeURIComponent(incoming.query));
const inPath =
  (test: RegExp) =>
  ({ path }: IncomingRequest) =>
    test.test(path);
const is =
  (expected: string) =>
  ({ body }: IncomingRequest) =>
    (body?.toString().trim() ?? '') === expected;
const where = (condition: unknown): RequestInput => ({ body: { where: condition } });
const client =
  (name: string) =>
  (world: World): RequestInput => ({ body: { name: `${world.unique()}${name}`, address: {} } });

export const robustness = expecting(
  ['robustness'],
  [
    fails(
      'searchContacts',
      'text',
      'a character beyond the basic plane gives 500',
      text(/[\u{10000}-\u{10ffff}]/u),
      where({ lastName: { _eq: '🧾' } }),
    ),
    fails('searchClients', 'text', 'a long text gives 500', text(/.{256}/s), where({ name: { _eq: 'x'.repeat(300) } })),
    fails(
      'searchClients',
      'pattern',
      'a pattern that ends in a backslash gives 500',
      text(/\\$/),
      where({ name: { _like: 'x\\' } }),
    ),
    fails(
      'searchClients',
      'depth',
      'a condition five levels deep gives 500',
      (incoming) => depth(jsonOf(incoming)) > 6,
      where({ _not: { _not: { _not: { _not: { name: { _eq: 'x' } } } } } }),
    ),
    fails(
      'searchContacts',
      'array',
      'a hundred values give 500',
      some((value) => Array.isArray(value) && value.length > 99),
      where({ lastName: { _in: Array.from({ length: 100 }, () => 'x') } }),
    ),
    fails('onboardClient', 'text', 'an apostrophe gives 500', text(/'/), client("O'Neill")),
    fails('onboardClient', 'text', 'an emoji gives 500', text(/\p{Extended_Pictographic}/u), client('🧾')),
    fails('upsertContacts', 'text', 'text from right to left gives 500', text(/[\u0590-\u08ff\u202e]/), {
      body: { contacts: [{ lastName: 'שלום' }] },
    }),
    fails('upsertContacts', 'text', 'a line break gives 500', text(/[\n\r]/), {
      body: { contacts: [{ lastName: 'a\nb', pmsRef: 'P-nobody' }] },
    }),
    fails(
      'listClients',
      'number',
      'a great number of rows to skip gives 500',
      named('page', (value) => Number(value) > 1e7),
      { body: { page: 1e8 } },
    ),
    fails(
      'lookupRecords',
      'number',
      'a great page number gives 500',
      named('page', (value) => Number(value) > 1e5),
      { body: { page: 1e6 } },
    ),
    fails('getClientTypes', 'number', 'a number beyond 64 bits gives 500', query(/pageSize=[\d.]{20}/), {
      query: { pageSize: '99999999999999999999' },
    }),
    fails('getTaxRegions', 'text', 'a cursor of another list gives 500', query(/cursor=/), {
      query: { cursor: 'eyJxIjoiM2Y5YyJ9.b4m0VQ' },
    }),
    fails(
      'upsertRecords',
      'depth',
      'attributes ten levels deep give 500',
      (incoming) => depth(jsonOf(incoming)) > 10,
      (): RequestInput => {
        let deep: unknown = 1;
        for (let level = 0; level < 12; level += 1) deep = { deep };
        return { body: { records: [{ type: 'Opportunity', attributes: { deep } }] } };
      },
    ),
    fails(
      'updateRecords',
      'name',
      'a property that every object has gives 500',
      named('constructor', () => true),
      { body: { records: [{ type: 'Opportunity', systemRef: 'OPP-0', attributes: { constructor: 1 } }] } },
    ),
    fails(
      'createCustomRecordType',
      'pattern',
      'a broken pattern gives 500',
      named('pattern', (value) => isText(value) && isBroken(value)),
      (world) => ({ body: { name: world.unique(), fields: [{ name: 'note', type: 'STRING', pattern: '(' }] } }),
    ),
    fails('getContact', 'path', 'NUL in the path gives 500', inPath(/%00/), { path: { id: '\0' } }),
    fails('getCustomRecordType', 'path', 'an encoded slash gives 500', inPath(/%2f/i), { path: { name: 'A/B' } }),
    fails('getRecordSchema', 'path', 'a character outside of ASCII gives 500', inPath(/%[c-f]/i), {
      path: { type: 'Größe' },
    }),
    fails(
      'listOffices',
      'body',
      'a body that is not JSON gives 500',
      (incoming) => (incoming.body?.length ?? 0) > 0 && jsonOf(incoming) === undefined,
      { raw: '{"page":' },
    ),
    fails('listOrgs', 'body', 'a list in place of an object gives 500', (incoming) => Array.isArray(jsonOf(incoming)), {
      body: [],
    }),
    fails('listTaxRegions', 'body', 'null in place of an object gives 500', is('null'), { body: null }),
    fails('listDepartments', 'body', 'no body gives 500', is(''), { raw: '' }),
    fails(
      'deleteRecords',
      'array',
      'the same record twice gives 500',
      named(
        'records',
        (value) =>
          Array.isArray(value) && value.length > 1 && new Set(value.map((one) => JSON.stringify(one))).size === 1,
      ),
      { body: { records: [1, 2].map(() => ({ type: 'Opportunity', systemRef: 'OPP-none' })) } },
    ),
    drift(
      'searchClients',
      'hang',
      'a pattern with a wildcard never returns',
      () => (incoming, next) =>
        incoming.operation === 'searchClients' && text(/%/)(incoming) ? new Promise(() => {}) : next(incoming),
      where({ name: { _like: '%a' } }),
    ),
    drift(
      'upsertContacts',
      'hang',
      'a name of a hundred characters breaks the connection',
      () => (incoming, next) =>
        incoming.operation === 'upsertContacts' && text(/^.{100}$/)(incoming) ? undefined : next(incoming),
      { body: { contacts: [{ pmsRef: 'P-nobody', lastName: 'x'.repeat(100) }] } },
    ),
  ],
);

function isBroken(pattern: string): boolean {
  try {
    new RegExp(pattern, 'u');
    return false;
  } catch {
    return true;
  }
}
