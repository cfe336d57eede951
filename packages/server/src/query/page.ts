import type { RawBuilder } from 'kysely';
import { numberOf, schemaOf } from '../contract/contract.ts';
import { eitherCursorOrPage } from '../contract/findings.ts';
import { invalid } from '../contract/problem.ts';
import { serialized, withJson } from '../contract/serialized.ts';
import { asOfToday } from '../contract/stored-values.ts';
import type { AnyEntity } from '../entity/entity.ts';
import { seesAll, visibleTo } from '../entity/field-access.ts';
import type { JsonRow } from '../entity/select.ts';
import type { Vault } from '../platform/auth/vault.ts';
import type { Where } from './clause.ts';
import { readCursor, writeCursor } from './cursor.ts';
import type { Total } from './total.ts';

/** Page sizes that the contract declares. */
const standardPageSizes = {
  offset: numberOf('OffsetListRequest', 'pageSize', 'default'),
  number: numberOf('NumberListRequest', 'pageSize', 'default'),
};

/** The tenant and the roles of a read: restricted fields are null for readers without their roles. */
export interface Reader {
  readonly tenantId: number;
  readonly holds: (roles: readonly string[]) => boolean;
}

export interface PageRequest {
  /** Rows to skip, or the page number. */
  readonly page?: number;
  readonly pageSize?: number;
  readonly cursor?: string;
  readonly includeTotal?: boolean;
  readonly where?: Where;
  readonly orderBy?: readonly Readonly<Record<string, string>>[];
}

export interface Page<Row> extends Partial<Total> {
  readonly data: Row[];
  readonly page: number;
  readonly pageSize: number;
  readonly hasMore: boolean;
  /** Null on the last page. */
  readonly nextCursor: string | null;
}

export interface PageScope extends Reader {
  readonly vault: Vault;
  /** Binds cursors: the operation, and its path if that filters the list. */
  readonly name: string;
  /** Whether `page` is a number of rows to skip or a page number. */
  readonly paging: 'offset' | 'number';
  /** Whether the request for the page is in the body or the query. */
  readonly location: 'body' | 'query';
  /** Filters the list in addition to the caller's conditions. */
  readonly condition?: RawBuilder<boolean>;
}

/** Where a page starts. */
export interface PageStart {
  /** The values of the row that it continues after, in the keys of the order. */
  readonly after: readonly unknown[] | undefined;
  /** Rows to skip, if it does not continue after one. */
  readonly skipped: number;
  /** What the list counts, the rows or the pages before this page. */
  readonly page: number;
  readonly pageSize: number;
}

/** @throws Rejection like `readCursor`, and for a cursor beside a `page`. */
export function startOfPage(scope: PageScope, request: PageRequest): PageStart {
  const { vault, paging, location } = scope;
  const { page = 0, cursor, pageSize = standardPageSizes[paging] } = request;
  if (cursor === undefined)
    return { after: undefined, skipped: paging === 'offset' ? page : page * pageSize, page, pageSize };
  if (page > 0) {
    const { pointer, code, detail } = eitherCursorOrPage;
    throw invalid(pointer, code, detail, location);
  }
  const { values, offset } = readCursor(vault, queryOf(scope, request), cursor, location);
  return { after: values, skipped: 0, page: offset, pageSize };
}

/**
 * Creates a page of the rows that were read, of which one more than `pageSize` shows that there are more.
 *
 * @param valuesOf the values of a row in the keys of the order.
 * @param isCut whether there are more although no further row was read.
 */
export function pageFrom<Row>(
  scope: PageScope,
  request: PageRequest,
  { page, pageSize }: PageStart,
  rows: readonly Row[],
  valuesOf: (row: Row) => readonly unknown[],
  isCut = false,
): Page<Row> {
  const data = rows.slice(0, pageSize);
  const hasMore = isCut || rows.length > pageSize;
  const last = data.at(-1);
  const offset = page + (scope.paging === 'offset' ? data.length : 1);
  const nextCursor =
    hasMore && last !== undefined
      ? writeCursor(scope.vault, queryOf(scope, request), { values: valuesOf(last), offset })
      : null;
  return { data, page, pageSize, hasMore, nextCursor };
}

/**
 * Returns a page of rows. Its JSON is sent as the database wrote it, unless the reader must not see all fields.
 *
 * @typeParam Row what the entity's table returns: it matches the contract, and responses are validated against it
 */
export function parsedPage<Row extends object>(
  { holds }: Pick<Reader, 'holds'>,
  entity: AnyEntity,
  { data: written, ...page }: Page<JsonRow>,
): Page<Row> {
  // In one piece, which is copied once: parts that are joined first would be copied again for each whole that they become a part of.
  let json = '{"data":[';
  for (const [index, row] of written.entries()) json += index === 0 ? row.json : `,${row.json}`;
  json += `],${JSON.stringify(page).slice(1)}`;
  if (!entity.hasSnapshots && seesAll(holds, entity)) return unread<Row>(page, json);
  const stored = rowsIn<Row>(json);
  const data = entity.hasSnapshots ? stored.map((row) => asOfToday(schemaOf(entity.schema), row)) : stored;
  return { data: data.map((row) => visibleTo(holds, entity, row)), ...page };
}

function rowsIn<Row>(json: string): Row[] {
  const { data }: Page<Row> = JSON.parse(json);
  return data;
}

/** The rows of a page, once they are parsed. */
const parsed = Symbol('rows');

/** One getter for all pages: until its next full collection, V8 keeps each getter, and with it all that the function can read. */
const rowsWhenRead: PropertyDescriptor & ThisType<{ [parsed]: unknown }> = {
  enumerable: true,
  configurable: true,
  get() {
    this[parsed] ??= rowsIn(serialized(this));
    return this[parsed];
  },
};

/** A page whose rows are parsed when they are first read: responses beyond `VALIDATE_RESPONSES` are sent unread. */
function unread<Row>(page: Omit<Page<Row>, 'data'>, json: string): Page<Row> {
  const body = Object.defineProperty({}, 'data', rowsWhenRead);
  Object.defineProperty(Object.assign(body, page), parsed, { value: undefined, writable: true });
  return withJson(body as Page<Row>, json);
}

function queryOf({ name, tenantId }: PageScope, { where = {}, orderBy = [] }: PageRequest) {
  return { operation: name, tenantId, where, orderBy };
}
