import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import {
  contractFile,
  library,
  members,
  type Name,
  rowsOf,
  type Settings,
  type Twist,
} from '../../../../test/doubles/lists.ts';
import { isEveryDriftTested, sampleOf } from '../../../../test/sample.ts';
import { OpenApiDocument } from '../../../document/document.ts';
import type { Finding } from '../../../finding/finding.ts';
import { isObject, type JsonObject } from '../../../json.ts';
import { KnownRequests } from '../../../run/known-requests.ts';
import { Session } from '../../../run/session.ts';
import { checkLists } from './lists.ts';

const document = await OpenApiDocument.load(contractFile());

async function findings(twist: Twist | undefined, seed: number): Promise<readonly Finding[]> {
  const server = library(twist).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const only = twist === undefined ? [] : [twist.operation];
  const session = new Session(document, url, { spec: '', url, seed, only });
  try {
    const requests = new KnownRequests(session);
    await requests.find(() => undefined);
    await checkLists({ session, requests, onProgress: () => {} });
    return session.registry.findings();
  } finally {
    await session.transport.close();
    server.close();
  }
}

const without = (settings: Settings, ...names: string[]): Settings =>
  Object.fromEntries(Object.entries(settings).filter(([name]) => !names.includes(name)));
const ignore = (operation: Name, ...names: string[]): Twist => ({
  operation,
  request: (settings) => without(settings, ...names),
});
const byDefault = (operation: Name, name: string, value: unknown): Twist => ({
  operation,
  request: (settings) => ({ [name]: value, ...settings }),
});
const rows = (
  operation: Name,
  change: (list: JsonObject[], settings: Settings, calls: number) => JsonObject[],
): Twist => ({
  operation,
  response: (body, settings, _correct, calls) => ({
    ...body,
    [members[operation]]: change(rowsOf(body), settings, calls),
  }),
});
const metadata = (operation: Name, change: (body: JsonObject, settings: Settings) => JsonObject): Twist => ({
  operation,
  response: (body, settings) => ({ ...body, ...change(body, settings) }),
});
/** Changes every condition in `where`, at any depth. */
const where = (change: (condition: JsonObject) => JsonObject): Twist => {
  const visit = (value: unknown): unknown =>
    Array.isArray(value)
      ? value.map(visit)
      : isObject(value)
        ? Object.fromEntries(Object.entries(change(value)).map(([name, inner]) => [name, visit(inner)]))
        : value;
  return {
    operation: 'searchBooks',
    request: (settings) => ({ ...settings, ...('where' in settings ? { where: visit(settings.where) } : {}) }),
  };
};
const operator = (from: string, to: string): Twist =>
  where((condition) =>
    Object.fromEntries(Object.entries(condition).map(([name, value]) => [name === from ? to : name, value])),
  );
const order = (change: (keys: JsonObject[]) => JsonObject[]): Twist => ({
  operation: 'searchBooks',
  request: (settings) =>
    Array.isArray(settings.orderBy) ? { ...settings, orderBy: change(settings.orderBy.filter(isObject)) } : settings,
});
const way = (from: RegExp, to: string): Twist =>
  order((keys) =>
    keys.map((key) =>
      Object.fromEntries(Object.entries(key).map(([name, value]) => [name, String(value).replace(from, to)])),
    ),
  );

const publisherNames = ['Reclam', 'Faber', 'Diogenes'];
const filters = ['status', 'authorId', 'tag', 'minPrice', 'maxPrice', 'publishedAfter', 'titleContains'];

const wrong: readonly [what: string, twist: Twist, ...checks: string[]][] = [
  ['another default size', byDefault('listBooks', 'perPage', 2), 'default-ignored'],
  ['another default size of a search', byDefault('searchBooks', 'limit', 5), 'default-ignored'],
  ['the default page is the second', byDefault('listBooks', 'page', 2), 'default-ignored'],
  ['a flag is on by default', byDefault('listBooks', 'onlyShort', true), 'default-ignored'],
  ['another default order', byDefault('listBooks', 'sort', 'pages'), 'default-ignored'],
  ['the default direction is reversed', byDefault('listLoans', 'order', 'desc'), 'default-ignored'],
  ['a total is returned by default', byDefault('searchBooks', 'includeTotal', true), 'default-ignored'],
  ['the size is ignored', ignore('listBooks', 'perPage'), 'page-size', 'default-ignored'],
  ['the size of a search is ignored', ignore('searchBooks', 'limit'), 'page-size'],
  ['the size is ignored for cursor pagination', ignore('listLoans', 'limit'), 'page-size'],
  [
    'a page has one row too many',
    { operation: 'listBooks', request: (settings) => ({ ...settings, perPage: Number(settings.perPage ?? 4) + 1 }) },
    'page-size',
  ],
  [
    'a page has one row too few',
    rows('searchBooks', (list) => (list.length > 1 ? list.slice(0, -1) : list)),
    'page-size',
  ],
  [
    'the size is limited to five',
    {
      operation: 'listBooks',
      request: (settings) => ({ ...settings, perPage: Math.min(5, Number(settings.perPage ?? 4)) }),
    },
    'page-size',
    'page-total',
  ],
  ['the page is ignored', ignore('listBooks', 'page'), 'page-position'],
  ['the offset is ignored', ignore('searchBooks', 'offset'), 'page-position'],
  [
    'the offset is one too large',
    {
      operation: 'searchBooks',
      request: (settings) =>
        'offset' in settings && Number(settings.offset) > 0
          ? { ...settings, offset: Number(settings.offset) + 1 }
          : settings,
    },
    'page-position',
  ],
  [
    'the page is treated as an offset',
    {
      operation: 'listBooks',
      response: (body, settings, correct) =>
        settings.page === undefined
          ? body
          : {
              ...body,
              data: rowsOf(correct({ ...without(settings, 'page'), perPage: 20 }))
                .slice(Number(settings.page) - 1)
                .slice(0, Number(settings.perPage ?? 4)),
            },
    },
    'page-position',
    'page-order',
  ],
  [
    'a page beyond the end returns the first page',
    {
      operation: 'listBooks',
      response: (body, settings, correct) => (rowsOf(body).length > 0 ? body : correct(without(settings, 'page'))),
    },
    'page-beyond',
  ],
  [
    'a row is returned twice',
    rows('searchBooks', (list) =>
      list.map((row, index) => (index > 0 && index === list.length - 1 ? (list[0] ?? row) : row)),
    ),
    'page-overlap',
  ],
  [
    'later pages lose their first row',
    rows('listBooks', (list, { page }) => (Number(page ?? 1) > 1 ? list.slice(1) : list)),
    'page-position',
  ],
  ['the cursor is ignored', ignore('searchBooks', 'cursor'), 'page-overlap'],
  [
    'the cursor skips a row',
    {
      operation: 'listLoans',
      request: (settings) =>
        typeof settings.cursor === 'string'
          ? { ...settings, cursor: `n${Number(settings.cursor.slice(1)) + 1}` }
          : settings,
    },
    'page-lost',
  ],
  [
    'the cursor repeats a row',
    {
      operation: 'searchBooks',
      request: (settings) =>
        typeof settings.cursor === 'string'
          ? { ...settings, cursor: `c${Number(settings.cursor.slice(1)) - 1}` }
          : settings,
    },
    'page-overlap',
  ],
  [
    'hasMore is false on the first page',
    metadata('searchBooks', () => ({ hasMore: false, nextCursor: null })),
    'page-more',
  ],
  ['the link to the next page is missing', metadata('listLoans', () => ({ next: null })), 'page-next', 'page-lost'],
  ['hasMore is always true', metadata('searchBooks', () => ({ hasMore: true })), 'page-more'],
  [
    'the last page links to a next page',
    metadata('listLoans', ({ next }) => ({ next: next ?? '/loans?cursor=n0' })),
    'page-next',
    'page-overlap',
  ],
  ['the total counts the page', metadata('listBooks', (body) => ({ total: rowsOf(body).length })), 'page-total'],
  [
    'the total is one too large',
    metadata('searchBooks', ({ total }) => (typeof total === 'number' ? { total: total + 1 } : {})),
    'page-total',
  ],
  ['the total ignores filters', metadata('listBooks', () => ({ total: 11 })), 'filter-total'],
  [
    'every second response is reversed',
    rows('listBooks', (list, _settings, calls) => (calls % 2 === 0 ? list.reverse() : list)),
    'page-position',
  ],
  ['the order is ignored', ignore('listBooks', 'sort'), 'order-ignored'],
  ['the order of a search is ignored', ignore('searchBooks', 'orderBy'), 'order-ignored'],
  ['the direction is ignored', ignore('listLoans', 'order'), 'order-ignored'],
  ['descending is ascending', way(/^desc/, 'asc'), 'order-ignored'],
  [
    'an amount is sorted as text',
    rows('listBooks', (list, { sort }) =>
      sort === 'price' ? list.sort((left, right) => (String(left.price) < String(right.price) ? -1 : 1)) : list,
    ),
    'order-ignored',
    'page-rows',
  ],
  ['nulls come last instead of first', way(/nulls_first/, 'nulls_last'), 'order-nulls'],
  ['all order keys except the first are ignored', order((keys) => keys.slice(0, 1)), 'order-ties'],
  [
    'the last two rows are swapped',
    rows('searchBooks', (list, { orderBy }) =>
      orderBy === undefined ? list : [...list.slice(0, -2), ...list.slice(-2).reverse()],
    ),
    'order-ignored',
  ],
  [
    'each page is sorted separately',
    {
      operation: 'listBooks',
      response: (body, settings, correct) =>
        settings.sort === undefined
          ? body
          : {
              ...body,
              data: rowsOf(correct({ ...settings, sort: 'title' })).sort(
                (left, right) =>
                  (String(settings.sort).startsWith('-') ? -1 : 1) *
                  String(left.title).localeCompare(String(right.title)),
              ),
            },
    },
    'page-order',
    'order-ignored',
  ],
  ['the order differs from the documented one', rows('listMembers', (list) => list.reverse()), 'order-ignored'],
  [
    'the documented second key is ignored',
    rows('listMembers', (list) =>
      list.sort((left, right) => (`${left.lastName} ${left.id}` < `${right.lastName} ${right.id}` ? -1 : 1)),
    ),
    'order-ties',
  ],
  [
    'the ties of an order are reversed',
    rows('listBooks', (list, { sort }) =>
      sort !== '-pages'
        ? list
        : list.sort(
            (left, right) => Number(right.pages) - Number(left.pages) || (String(left.id) < String(right.id) ? 1 : -1),
          ),
    ),
    'order-ties',
  ],
  ...filters.map((name): [string, Twist, string] => [
    `${name} is ignored`,
    ignore('listBooks', name),
    'filter-ignored',
  ]),
  ['a filter in brackets is ignored', ignore('listLoans', 'filter'), 'filter-ignored'],
  ['the search is ignored', ignore('listBooks', 'q'), 'filter-ignored'],
  ['the search finds nothing', rows('listBooks', (list, { q }) => (q === undefined ? list : [])), 'filter-lost'],
  [
    'the search is case-sensitive',
    rows('listBooks', (list, { q }) =>
      list.filter(({ title, subtitle }) => q === undefined || `${title} ${subtitle}`.includes(String(q))),
    ),
    'filter-lost',
  ],
  [
    'the search covers only titles',
    rows('listBooks', (list, { q }) =>
      list.filter(({ title }) => q === undefined || RegExp(String(q), 'i').test(String(title))),
    ),
    'filter-lost',
  ],
  [
    'the search matches only prefixes',
    rows('listBooks', (list, { q }) =>
      list.filter(({ title }) => q === undefined || RegExp(`^${q}`, 'i').test(String(title))),
    ),
    'filter-lost',
  ],
  [
    'only the first of several values is used',
    {
      operation: 'listBooks',
      request: (settings) => (Array.isArray(settings.status) ? { ...settings, status: settings.status[0] } : settings),
    },
    'filter-lost',
  ],
  [
    'a filter omits the last row',
    rows('listBooks', (list, { authorId }) => (authorId === undefined ? list : list.slice(0, -1))),
    'filter-lost',
  ],
  [
    'the lower bound is used as an upper bound',
    {
      operation: 'listBooks',
      request: ({ minPrice, ...rest }) => (minPrice === undefined ? rest : { ...rest, maxPrice: minPrice }),
    },
    'filter-ignored',
  ],
  [
    'only one of two filters is used',
    {
      operation: 'listBooks',
      request: (settings) => {
        const [, ...others] = filters.filter((name) => name in settings);
        return without(settings, ...others);
      },
    },
    'filter-ignored',
  ],
  [
    'later pages ignore filters',
    {
      operation: 'listBooks',
      request: (settings) => (Number(settings.page ?? 1) > 1 ? without(settings, ...filters) : settings),
    },
    'filter-page',
  ],
  [
    'later pages by position ignore conditions, unlike those by cursor',
    {
      operation: 'searchBooks',
      request: (settings) => (Number(settings.offset ?? 0) > 0 ? without(settings, 'where') : settings),
    },
    'filter-page',
  ],
  ...['ids', 'anyTag', 'allTags'].map((name): [string, Twist, string] => [
    `of several ${name} the first one counts`,
    { operation: 'listBooks', request: (settings) => ({ ...settings, [name]: [settings[name]].flat()[0] }) },
    'filter-lost|filter-ignored',
  ]),
  [
    'any of the tags means all of them',
    { operation: 'listBooks', request: ({ anyTag, ...rest }) => ({ ...rest, allTags: anyTag }) },
    'filter-lost',
  ],
  [
    'an exact filter finds parts of names',
    {
      operation: 'listBooks',
      request: ({ publisherName, ...rest }) => {
        const [whole] = publisherNames.filter((one) => RegExp(String(publisherName), 'i').test(one));
        return publisherName === undefined ? rest : { ...rest, publisherName: whole ?? publisherName };
      },
    },
    'filter-ignored',
  ],
  [
    'all of the tags means any of them',
    { operation: 'listBooks', request: ({ allTags, ...rest }) => ({ ...rest, anyTag: allTags }) },
    'filter-ignored',
  ],
  ['a filter that only its description explains is ignored', ignore('listBooks', 'country'), 'filter-ignored'],
  [
    'a flag is ignored if it is false',
    {
      operation: 'listBooks',
      request: ({ hasSubtitle, ...rest }) => (hasSubtitle === 'true' ? { ...rest, hasSubtitle } : rest),
    },
    'filter-ignored',
  ],
  [
    'a minimum price excludes the price itself',
    rows('listBooks', (list, { minPrice }) => list.filter(({ price }) => Number(price) !== Number(minPrice))),
    'filter-lost',
  ],
  [
    'a maximum price excludes the price itself',
    rows('listBooks', (list, { maxPrice }) => list.filter(({ price }) => Number(price) !== Number(maxPrice))),
    'filter-lost',
  ],
  [
    'after a day includes the day itself',
    {
      operation: 'listBooks',
      request: ({ publishedAfter, ...rest }) =>
        publishedAfter === undefined ? rest : { ...rest, publishedAfter: String(publishedAfter).replace(/.$/, '0') },
    },
    'filter-ignored',
  ],
  [
    'a timestamp is truncated to its day',
    {
      operation: 'listLoans',
      request: ({ lentFrom, ...rest }) =>
        lentFrom === undefined ? rest : { ...rest, lentFrom: `${String(lentFrom).slice(0, 10)}T00:00:00Z` },
    },
    'filter-ignored',
  ],
  [
    'from a timestamp excludes the timestamp itself',
    rows('listLoans', (list, { lentFrom }) =>
      list.filter(({ lentAt }) => Date.parse(String(lentAt)) !== Date.parse(String(lentFrom))),
    ),
    'filter-lost',
  ],
  [
    'up to a day excludes the day itself',
    rows('listLoans', (list, { lentTo }) => list.filter(({ lentAt }) => String(lentAt).slice(0, 10) !== lentTo)),
    'filter-lost',
  ],
  ['the condition is ignored', ignore('searchBooks', 'where'), 'filter-ignored'],
  ['a condition on one column is ignored', where((condition) => without(condition, 'authorId')), 'filter-ignored'],
  ['unequal means equal', operator('_neq', '_eq'), 'filter-ignored'],
  ['greater includes equal', operator('_gt', '_gte'), 'filter-ignored'],
  ['less or equal excludes equal', operator('_lte', '_lt'), 'filter-lost'],
  ['none of a list means one of it', operator('_nin', '_in'), 'filter-ignored'],
  ['a case-insensitive operator is case-sensitive', operator('_ilike', '_like'), 'filter-lost'],
  ['or means and', operator('_or', '_and'), 'filter-lost'],
  ['a negation is ignored', where((condition) => without(condition, '_not')), 'filter-ignored'],
  [
    'is-null is inverted',
    where((condition) => ('_is_null' in condition ? { _is_null: true } : condition)),
    'filter-ignored',
  ],
  [
    'only the first value of a list is used',
    where((condition) => (Array.isArray(condition._in) ? { _in: condition._in.slice(0, 1) } : condition)),
    'filter-lost',
  ],
  [
    'the last row does not match',
    {
      operation: 'searchBooks',
      response: (body, settings, all) => {
        if (settings.where === undefined) return body;
        const other = rowsOf(all({ limit: 50 })).find((row) => rowsOf(body).every((one) => one.id !== row.id));
        return other === undefined ? body : { ...body, items: [...rowsOf(body), other] };
      },
    },
    'filter-ignored',
  ],
];

test.each(sampleOf(wrong, 9))('is found: %s', async (_what, twist, ...checks) => {
  const found = await findings(twist, 1);
  expect(found.flatMap(({ places }) => places.map(({ check }) => check))).toEqual(
    expect.arrayContaining([expect.stringMatching(checks.join('|'))]),
  );
});

test('a correct server has no findings, whatever the seed', async () => {
  for (let seed = 1; seed <= (isEveryDriftTested ? 20 : 1); seed += 1)
    expect(await findings(undefined, seed)).toEqual([]);
});
