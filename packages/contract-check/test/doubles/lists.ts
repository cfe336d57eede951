import { mkdtempSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isObject, type JsonObject } from '../../src/json.ts';

/**
 * A small server for tests: the books of a library, listed by GET with pages and searched by POST, and its loans with
 * cursors.
 */

const titles = [
  'Émile',
  'ulysses',
  'Walden',
  'Hamlet',
  'beloved',
  'Dracula',
  'Middlemarch',
  'Orlando',
  'Nostromo',
  'Kim',
  'Emma',
];
const id = (kind: string, index: number) => `0199a1c2-${kind}-7c01-8a4f-5d2e9b60f1${String(index).padStart(2, '0')}`;

export const books: readonly JsonObject[] = titles.map((title, index) => ({
  id: id('0d07', (index * 7) % 11),
  title,
  status: ['AVAILABLE', 'LENT', 'AVAILABLE', 'LOST'][index % 4],
  authorId: id('0a01', index % 3),
  pages: [310, 730, 310, 120, 320, 400, 880, 310, 520, 90, 470][index],
  price: ['9.50', '12.00', '9.50', '100.00', '7.25'][index % 5],
  publishedOn: `19${20 + ((index * 3) % 11)}-0${1 + (index % 9)}-15`,
  subtitle: index % 3 === 0 ? null : `The ${[...title].reverse().join('')} Affair`,
  tags: index % 2 === 0 ? ['novel'] : index % 3 === 0 ? ['classic'] : ['novel', 'classic'],
  publisher: { name: ['Reclam', 'Faber', 'Diogenes'][index % 3], country: ['DE', 'GB', 'CH'][index % 3] },
  copies: [{ shelf: `S${index % 4}` }],
}));

export const loans: readonly JsonObject[] = Array.from({ length: 9 }, (_, index) => ({
  id: `L${(index * 5) % 9}`,
  bookId: id('0d07', index),
  priority: (index * 4) % 9,
  lentAt: `2026-01-0${1 + ((index * 2) % 9)}T10:00:00.000Z`,
}));

export const people: readonly JsonObject[] = Array.from({ length: 11 }, (_, index) => ({
  id: `M${(index * 4) % 11}`,
  lastName: ['Adler', 'Berger', 'Celan', 'Dahl'][(index * 3) % 4],
  firstName: ['Ida', 'Otto', 'Maya', 'Nils', 'Theo'][(index * 2) % 5],
  kind: ['adult', 'child', 'staff'][index % 3],
  favourite: index % 4 === 0 ? null : titles[index],
}));

export const visits: readonly JsonObject[] = Array.from({ length: 10 }, (_, index) => ({
  id: ((index * 7) % 10) + 1,
  at: `2026-03-0${1 + ((index * 3) % 5)}T09:00:00.000Z`,
}));

export type Name = 'listBooks' | 'searchBooks' | 'listLoans' | 'listMembers' | 'listVisits';
export type Settings = JsonObject;

/** Changes a request to the correct server, or its response. */
export interface Twist {
  readonly operation: Name;
  request?(settings: Settings, calls: number): Settings;
  response?(
    body: JsonObject,
    settings: Settings,
    correct: (settings: Settings) => JsonObject,
    calls: number,
  ): JsonObject;
}

export const members: Readonly<Record<Name, string>> = {
  listBooks: 'data',
  searchBooks: 'items',
  listLoans: 'loans',
  listMembers: 'members',
  listVisits: 'visits',
};

export function rowsOf(body: JsonObject): JsonObject[] {
  const list = body.data ?? body.items ?? body.loans ?? body.members ?? body.visits;
  return Array.isArray(list) ? list.filter(isObject) : [];
}

const compare = (left: unknown, right: unknown): number => {
  if (left === null || right === null) return left === right ? 0 : left === null ? 1 : -1;
  const numbers = [left, right].map((one: unknown) =>
    typeof one === 'number' || /^[\d.]+$/.test(String(one)) ? Number(one) : Number.NaN,
  );
  if (numbers.every((one) => !Number.isNaN(one))) return Number(numbers[0]) - Number(numbers[1]);
  return String(left) < String(right) ? -1 : String(left) > String(right) ? 1 : 0;
};

type Key = readonly [name: string, isDescending: boolean, nullsFirst?: boolean];

function sorted(rows: readonly JsonObject[], keys: readonly Key[]): JsonObject[] {
  return [...rows].sort((left, right) => {
    for (const [name, isDescending, nullsFirst = isDescending] of keys) {
      const [one, other] = [left[name], right[name]];
      if ((one === null) !== (other === null)) return (one === null) === nullsFirst ? -1 : 1;
      const result = compare(one, other) * (isDescending ? -1 : 1);
      if (result !== 0) return result;
    }
    return compare(left.id, right.id);
  });
}

const number = (value: unknown, otherwise: number) => (value === undefined ? otherwise : Number(value));

const tagsOf = ({ tags }: JsonObject): unknown[] => (Array.isArray(tags) ? tags : []);
const publisherOf = ({ publisher }: JsonObject): JsonObject => (isObject(publisher) ? publisher : {});

function listBooks(settings: Settings): JsonObject {
  const { ids, anyTag, allTags, publisherName, country, hasSubtitle } = settings;
  const { status, authorId, tag, minPrice, maxPrice, publishedAfter, titleContains, q, onlyShort = 'false' } = settings;
  const text = (value: unknown) => String(value).toLowerCase();
  const rows = books.filter(
    (book) =>
      (status === undefined || (Array.isArray(status) ? status : [status]).includes(book.status)) &&
      (authorId === undefined || book.authorId === authorId) &&
      (ids === undefined || [ids].flat().some((one: unknown) => one === book.id)) &&
      (anyTag === undefined || [anyTag].flat().some((one: unknown) => tagsOf(book).includes(one))) &&
      (allTags === undefined || [allTags].flat().every((one: unknown) => tagsOf(book).includes(one))) &&
      (publisherName === undefined || publisherOf(book).name === publisherName) &&
      (country === undefined || publisherOf(book).country === country) &&
      (hasSubtitle === undefined || (book.subtitle !== null) === (hasSubtitle === 'true')) &&
      (tag === undefined || (Array.isArray(book.tags) && book.tags.includes(tag))) &&
      (minPrice === undefined || Number(book.price) >= Number(minPrice)) &&
      (maxPrice === undefined || Number(book.price) <= Number(maxPrice)) &&
      (publishedAfter === undefined || String(book.publishedOn) > String(publishedAfter)) &&
      (titleContains === undefined || text(book.title).includes(text(titleContains))) &&
      (q === undefined || [book.title, book.subtitle].some((one) => text(one).includes(text(q)))) &&
      (String(onlyShort) === 'false' || Number(book.pages) < 320),
  );
  const sort = String(settings.sort ?? 'title');
  const all = sorted(rows, [[sort.replace('-', ''), sort.startsWith('-')]]);
  const [page, perPage] = [number(settings.page, 1), number(settings.perPage, 4)];
  return {
    data: all.slice((page - 1) * perPage, page * perPage),
    total: all.length,
    page,
    perPage,
    totalPages: Math.ceil(all.length / perPage),
  };
}

function matches(where: unknown, row: JsonObject): boolean {
  if (!isObject(where)) return true;
  return Object.entries(where).every(([column, condition]): boolean => {
    if (column === '_and') return Array.isArray(condition) && condition.every((one) => matches(one, row));
    if (column === '_or') return Array.isArray(condition) && condition.some((one) => matches(one, row));
    if (column === '_not') return !matches(condition, row);
    const value = row[column];
    if (Array.isArray(value)) return value.some((one) => isObject(one) && matches(condition, one));
    return Object.entries(isObject(condition) ? condition : {}).every(([operator, operand]) =>
      operates(operator, value, operand),
    );
  });
}

function operates(operator: string, value: unknown, operand: unknown): boolean {
  if (operator === '_is_null') return (value === null) === operand;
  if (value === null) return false;
  const result = compare(value, operand);
  const pattern = (flags: string) =>
    new RegExp(`^${String(operand).replaceAll('%', '.*')}$`, flags).test(String(value));
  const list = Array.isArray(operand) ? operand : [];
  const tests: Record<string, () => boolean> = {
    _eq: () => result === 0,
    _neq: () => result !== 0,
    _in: () => list.some((one) => compare(value, one) === 0),
    _nin: () => !list.some((one) => compare(value, one) === 0),
    _gt: () => result > 0,
    _gte: () => result >= 0,
    _lt: () => result < 0,
    _lte: () => result <= 0,
    _like: () => pattern(''),
    _ilike: () => pattern('i'),
  };
  return tests[operator]?.() ?? true;
}

function searchBooks(settings: Settings): JsonObject {
  const keys = (Array.isArray(settings.orderBy) ? settings.orderBy : []).flatMap((one): Key[] =>
    Object.entries(isObject(one) ? one : {}).map(([name, way]): Key => {
      const isDescending = String(way).startsWith('desc');
      return [name, isDescending, String(way).includes('nulls') ? String(way).endsWith('first') : isDescending];
    }),
  );
  const all = sorted(
    books.filter((book) => matches(settings.where, book)),
    keys,
  );
  const limit = number(settings.limit, 3);
  const offset = typeof settings.cursor === 'string' ? Number(settings.cursor.slice(1)) : number(settings.offset, 0);
  const hasMore = offset + limit < all.length;
  return {
    items: all.slice(offset, offset + limit),
    offset,
    limit,
    hasMore,
    nextCursor: hasMore ? `c${offset + limit}` : null,
    ...(settings.includeTotal === true ? { total: all.length } : {}),
  };
}

function listLoans(settings: Settings): JsonObject {
  const { sort = 'lentAt', order = 'asc', limit = '5', cursor, filter, lentFrom, lentTo } = settings;
  const expected = isObject(filter) ? filter : {};
  const rows = loans.filter(
    (loan) =>
      Object.entries(expected).every(([name, value]) => String(loan[name]) === String(value)) &&
      (lentFrom === undefined || Date.parse(String(loan.lentAt)) >= Date.parse(String(lentFrom))) &&
      (lentTo === undefined || String(loan.lentAt).slice(0, 10) <= String(lentTo)),
  );
  const all = sorted(rows, [[String(sort), order === 'desc']]);
  const start = typeof cursor === 'string' ? Number(cursor.slice(1)) : 0;
  const end = start + Number(limit);
  return {
    loans: all.slice(start, end),
    next: end < all.length ? `/loans?${query({ ...settings, cursor: `n${end}` })}` : null,
  };
}

function listMembers(settings: Settings): JsonObject {
  const { fields, include, kind } = settings;
  const rows = people.filter((one) => kind === undefined || one.kind === kind);
  const all = sorted(rows, [
    ['lastName', false],
    ['firstName', false],
  ]);
  const [page, perPage] = [number(settings.page, 1), number(settings.perPage, 5)];
  const last = Math.max(1, Math.ceil(all.length / perPage));
  const to = (number: number) => `/members?${query({ ...settings, page: number })}`;
  const expected = fields === undefined ? undefined : String(fields).split(',');
  return {
    members: all.slice((page - 1) * perPage, page * perPage).map(({ favourite, ...row }) => ({
      ...Object.fromEntries(
        Object.entries(row).filter(([name]) => expected === undefined || name === 'id' || expected.includes(name)),
      ),
      ...(String(include).split(',').includes('favourite') ? { favourite } : {}),
    })),
    total: all.length,
    totalPages: Math.ceil(all.length / perPage),
    kindCounts: Object.fromEntries(
      [...Map.groupBy(all, (one) => String(one.kind))].map(([name, list]) => [name, list.length]),
    ),
    links: {
      first: to(1),
      last: to(last),
      next: page < last ? to(page + 1) : null,
      prev: page > 1 ? to(page - 1) : null,
    },
  };
}

function listVisits({ order = 'desc' }: Settings): JsonObject {
  return { visits: sorted(visits, [['at', order === 'desc']]) };
}

function query(settings: Settings): string {
  return Object.entries(settings)
    .flatMap(([name, value]) =>
      isObject(value) ? Object.entries(value).map(([key, inner]) => `${name}[${key}]=${inner}`) : [`${name}=${value}`],
    )
    .join('&');
}

const correct = { listBooks, searchBooks, listLoans, listMembers, listVisits };
const paths: Readonly<Record<string, Name>> = {
  '/books': 'listBooks',
  '/loans': 'listLoans',
  '/members': 'listMembers',
  '/visits': 'listVisits',
};

/** Serves the library. A twist makes one operation incorrect. */
export function library(twist?: Twist): Server {
  let calls = 0;
  return createServer(async (request, outgoing) => {
    const body = await textOf(request);
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost');
    const name = paths[pathname] ?? 'searchBooks';
    const requestedSettings: Settings = name === 'searchBooks' ? JSON.parse(body || '{}') : fromQuery(searchParams);
    const isTwisted = twist?.operation === name;
    if (isTwisted) calls += 1;
    const settings = isTwisted ? (twist.request?.(requestedSettings, calls) ?? requestedSettings) : requestedSettings;
    const result = correct[name](settings);
    const response = isTwisted ? (twist.response?.(result, requestedSettings, correct[name], calls) ?? result) : result;
    outgoing.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(response));
  });
}

function fromQuery(parameters: URLSearchParams): Settings {
  const settings: Settings = {};
  for (const [name, value] of parameters) {
    const inner = /^(\w+)\[(\w+)\]$/.exec(name);
    if (inner?.[1] !== undefined && inner[2] !== undefined)
      settings[inner[1]] = {
        ...(isObject(settings[inner[1]]) ? (settings[inner[1]] as JsonObject) : {}),
        [inner[2]]: value,
      };
    else settings[name] = name in settings ? [settings[name], value].flat() : value;
  }
  return settings;
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks).toString();
}

const text = { type: 'string' };
const integer = { type: 'integer' };
const status = { type: 'string', enum: ['AVAILABLE', 'LENT', 'LOST'] };
const uuid = { type: 'string', format: 'uuid' };
const nullable = { type: ['string', 'null'] };
const book = {
  type: 'object',
  properties: {
    id: uuid,
    title: text,
    status,
    authorId: uuid,
    pages: integer,
    price: text,
    publishedOn: { type: 'string', format: 'date' },
    subtitle: nullable,
    tags: { type: 'array', items: text },
    publisher: { type: 'object', properties: { name: text, country: text } },
    copies: { type: 'array', items: { type: 'object', properties: { shelf: text } } },
  },
};
const loan = {
  type: 'object',
  properties: { id: text, bookId: uuid, priority: integer, lentAt: { type: 'string', format: 'date-time' } },
};
const member = {
  type: 'object',
  required: ['id'],
  properties: { id: text, lastName: text, firstName: text, kind: text, favourite: nullable },
};
const parameter = (name: string, schema: object, more: object = {}) => ({ name, in: 'query', schema, ...more });
const response = (properties: object) => ({
  '200': { description: 'Rows', content: { 'application/json': { schema: { type: 'object', properties } } } },
});
const list = (items: object) => ({ type: 'array', items });
const column = (type: object, ...operators: string[]) => ({
  type: 'object',
  additionalProperties: false,
  minProperties: 1,
  properties: Object.fromEntries(
    operators.map((name) => [name, name === '_is_null' ? { type: 'boolean' } : /in$/.test(name) ? list(type) : type]),
  ),
});
const direction = {
  type: 'string',
  enum: ['asc', 'desc', 'asc_nulls_first', 'asc_nulls_last', 'desc_nulls_first', 'desc_nulls_last'],
};

const contract = {
  openapi: '3.1.0',
  info: { title: 'Library', version: '1' },
  paths: {
    '/books': {
      get: {
        operationId: 'listBooks',
        'x-contract-check': { ties: '+id' },
        parameters: [
          parameter('page', { type: 'integer', minimum: 1, maximum: 100000, default: 1 }),
          parameter('perPage', { type: 'integer', minimum: 1, maximum: 20, default: 4 }),
          parameter('sort', {
            type: 'string',
            default: 'title',
            enum: ['title', '-title', 'pages', '-pages', 'price', '-price'],
          }),
          parameter('status', list(status)),
          parameter('authorId', { anyOf: [uuid, { type: 'null' }] }),
          parameter('tag', text),
          parameter('ids', list(uuid)),
          parameter('anyTag', list(text), {
            'x-contract-check': { filter: 'tags any' },
          }),
          parameter('allTags', list(text), {
            'x-contract-check': { filter: 'tags all' },
          }),
          parameter('publisherName', text, { 'x-contract-check': { filter: 'publisher.name' } }),
          parameter('country', text, { 'x-contract-check': { filter: 'publisher.country' } }),
          parameter('hasSubtitle', { type: 'boolean' }, { 'x-contract-check': { filter: 'subtitle exists' } }),
          parameter('minPrice', { type: 'number' }),
          parameter('maxPrice', { type: 'number' }),
          parameter(
            'publishedAfter',
            { type: 'string', format: 'date' },
            { 'x-contract-check': { filter: 'publishedOn >' } },
          ),
          parameter('titleContains', text),
          parameter('q', text, {
            'x-contract-check': { searches: ['title', 'subtitle'], parts: true, ignoresCase: true },
          }),
          parameter('onlyShort', { type: 'boolean', default: false }),
        ],
        responses: response({ data: list(book), total: integer, page: integer, perPage: integer, totalPages: integer }),
      },
    },
    '/books/search': {
      post: {
        operationId: 'searchBooks',
        requestBody: {
          required: true,
          content: {
            'application/json': {
              schema: {
                type: 'object',
                additionalProperties: false,
                properties: {
                  offset: { type: 'integer', minimum: 0, maximum: 100000, default: 0 },
                  limit: { type: 'integer', minimum: 1, maximum: 50, default: 3 },
                  cursor: { type: 'string', pattern: '^c' },
                  includeTotal: { type: 'boolean', default: false },
                  orderBy: {
                    type: 'array',
                    maxItems: 3,
                    items: {
                      type: 'object',
                      minProperties: 1,
                      maxProperties: 1,
                      additionalProperties: false,
                      properties: {
                        title: direction,
                        pages: direction,
                        price: direction,
                        subtitle: direction,
                        status: direction,
                      },
                    },
                  },
                  where: { $ref: '#/components/schemas/Where' },
                },
              },
              example: {},
            },
          },
        },
        responses: response({
          items: list(book),
          total: integer,
          offset: integer,
          limit: integer,
          hasMore: { type: 'boolean' },
          nextCursor: nullable,
        }),
      },
    },
    '/loans': {
      get: {
        operationId: 'listLoans',
        parameters: [
          parameter('limit', { type: 'integer', minimum: 1, maximum: 50, default: 5 }),
          parameter('cursor', text),
          parameter('sort', { type: 'string', enum: ['lentAt', 'priority'], default: 'lentAt' }),
          parameter('order', { type: 'string', enum: ['asc', 'desc'], default: 'asc' }),
          parameter('lentFrom', { type: 'string', format: 'date-time' }),
          parameter('lentTo', { type: 'string', format: 'date' }, { 'x-contract-check': { filter: 'lentAt <=' } }),
          parameter(
            'filter',
            { type: 'object', properties: { bookId: uuid, priority: integer } },
            { style: 'deepObject', explode: true },
          ),
        ],
        responses: response({ loans: list(loan), next: nullable }),
      },
    },
    '/members': {
      get: {
        operationId: 'listMembers',
        'x-contract-check': { sorted: ['lastName', 'firstName', 'id'] },
        parameters: [
          parameter('page', { type: 'integer', minimum: 1, maximum: 100000, default: 1 }),
          parameter('perPage', { type: 'integer', minimum: 1, maximum: 20, default: 5 }),
          parameter('kind', text),
          parameter(
            'fields',
            {
              ...list({ type: 'string', enum: ['id', 'lastName', 'firstName', 'kind'] }),
              minItems: 1,
              uniqueItems: true,
            },
            { style: 'form', explode: false },
          ),
          parameter(
            'include',
            { ...list({ type: 'string', enum: ['favourite'] }), minItems: 1, uniqueItems: true },
            { style: 'form', explode: false },
          ),
        ],
        responses: response({
          members: list(member),
          total: integer,
          totalPages: integer,
          kindCounts: { type: 'object', additionalProperties: integer },
          links: { type: 'object', properties: { first: text, last: text, next: nullable, prev: nullable } },
        }),
      },
    },
    '/visits': {
      get: {
        operationId: 'listVisits',
        'x-contract-check': { sorted: ['-at'], ties: '+id' },
        parameters: [parameter('order', { type: 'string', enum: ['asc', 'desc'], default: 'desc' })],
        responses: response({
          visits: list({ type: 'object', properties: { id: integer, at: { type: 'string', format: 'date-time' } } }),
        }),
      },
    },
  },
  components: {
    schemas: {
      Where: {
        type: 'object',
        additionalProperties: false,
        properties: {
          title: column(
            text,
            '_eq',
            '_neq',
            '_in',
            '_nin',
            '_gt',
            '_gte',
            '_lt',
            '_lte',
            '_like',
            '_ilike',
            '_is_null',
          ),
          subtitle: column(text, '_eq', '_neq', '_is_null', '_ilike'),
          status: column(status, '_eq', '_neq', '_in', '_nin'),
          authorId: column(uuid, '_eq', '_neq', '_in'),
          pages: column(integer, '_eq', '_gt', '_gte', '_lt', '_lte', '_in'),
          publishedOn: column({ type: 'string', format: 'date' }, '_gt', '_lte'),
          copies: { type: 'object', additionalProperties: false, properties: { shelf: column(text, '_eq', '_in') } },
          _and: list({ $ref: '#/components/schemas/Where' }),
          _or: list({ $ref: '#/components/schemas/Where' }),
          _not: { $ref: '#/components/schemas/Where' },
        },
      },
    },
  },
};

/** Writes the contract of the library to a file. */
export function contractFile(): string {
  const file = join(mkdtempSync(join(tmpdir(), 'contract-check-lists-')), 'library.json');
  writeFileSync(file, JSON.stringify(contract));
  return file;
}
