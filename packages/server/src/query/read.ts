import { type RawBuilder, sql } from 'kysely';
import { contract, numberOf } from '../contract/contract.ts';
import { eitherCursorOrPage } from '../contract/findings.ts';
import { invalid } from '../contract/problem.ts';
import type { AnyEntity, Entity } from '../entity/entity.ts';
import { conditionsToSee, isVisibleTo, visibleTo } from '../entity/field-access.ts';
import type { AnyStoredRow, EntityType, StoredRow } from '../entity/row.ts';
import { perEntity, selection } from '../entity/select.ts';
import type { Vault } from '../platform/auth/vault.ts';
import { plannedForValues, type Session } from '../platform/store/session.ts';
import { checkWhere } from './check-where.ts';
import { dependsOnOperands, type Where } from './clause.ts';
import { readCursor, writeCursor } from './cursor.ts';
import { afterClauses, orderClause, orderKeys } from './order.ts';
import { prepared } from './prepared.ts';
import { type Total, totalOf } from './total.ts';
import { conditionOf } from './where.ts';

/** Page sizes that the contract declares. */
const standardPageSizes = {
  offset: numberOf('OffsetListRequest', 'pageSize', 'default'),
  number: numberOf('NumberListRequest', 'pageSize', 'default'),
};

const { costly } = contract['x-search-limits'];

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
  readonly nextCursor: string | null;
}

export interface PageScope extends Reader {
  readonly vault: Vault;
  /** Binds cursors: the operation, and its path if that filters the list. */
  readonly name: string;
  /** Whether `page` is a number of rows to skip or a page number. */
  readonly paging: 'offset' | 'number';
  /** Whether the request for the page is in the body or the query. */
  readonly place: 'body' | 'query';
  /** Filters the list in addition to the caller's conditions. */
  readonly condition?: RawBuilder<boolean>;
}

const queryById = perEntity((entity) =>
  prepared<AnyStoredRow, [tenantId: number, id: string]>(
    (tenantId, id) => sql<AnyStoredRow>`${selection(entity)} where ${entity.within('e', tenantId)} and e.id = ${id}`,
  ),
);

/** Returns the row with the ID, or undefined. */
export async function findById<Type extends EntityType>(
  session: Session,
  { tenantId, holds }: Reader,
  entity: Entity<Type>,
  id: string,
): Promise<StoredRow<Type> | undefined> {
  const row = await session.first<StoredRow<Type>>(queryById(entity)(tenantId, id));
  return row === undefined || !isVisibleTo(holds, entity, row) ? undefined : visibleTo(holds, entity, row);
}

/** The read of a page, before it runs. */
export interface PageRead<Row> {
  /** Whether its where clause costs so much that few such reads may run at the same time. */
  readonly isCostly: boolean;
  run(session: Session): Promise<Page<Row>>;
}

/**
 * Creates the read of one page of an entity's rows, by offset, cursor or page number. Invalid requests are rejected here,
 * before they wait for a connection, unless they are costly.
 *
 * @throws Rejection like `checkWhere`, `conditionOf` and `readCursor`.
 */
export function pageReader<Type extends EntityType>(
  scope: PageScope,
  entity: Entity<Type>,
  request: PageRequest,
): PageRead<StoredRow<Type>> {
  return readerOf<StoredRow<Type>>(scope, entity, request);
}

/** The same for an entity that is only known at run time. */
export function anyPageReader(scope: PageScope, entity: AnyEntity, request: PageRequest): PageRead<AnyStoredRow> {
  return readerOf(scope, entity, request);
}

/** The IDs of a page of all rows, found from the last mark before it: the database keeps marks in large tables. */
function fromMark(
  entity: AnyEntity,
  tenantId: number,
  { order, offset, limit }: { readonly order: RawBuilder<unknown>; readonly offset: number; readonly limit: number },
): RawBuilder<unknown> {
  return sql`
    with mark as materialized (
      (select m.id, m.rows_before from page_mark m
        where m.tenant_id = ${tenantId} and m.table_name = ${entity.table} and m.rows_before <= ${offset}::integer
        order by m.rows_before desc limit 1)
      union all select '00000000-0000-0000-0000-000000000000', 0
      order by rows_before desc limit 1)
    select e.id from ${sql.table(entity.table)} ${sql.id('e')}
    where ${entity.within('e', tenantId)} and e.id >= (select id from mark)
    order by ${order} limit ${limit} offset ${offset}::integer - (select rows_before from mark)`;
}

/** @typeParam Row what the entity's table returns: it matches the contract, and responses are validated against it */
function readerOf<Row extends object>(scope: PageScope, entity: AnyEntity, request: PageRequest): PageRead<Row> {
  const isCostly = checkWhere(entity, request.where ?? {}, scope.holds) >= costly;
  const build = () => pageRun<Row>(scope, entity, request);
  // While a costly search waits for its turn, it holds what was sent, and not a statement of more than 100 KB.
  return { isCostly, run: isCostly ? (session) => build()(session) : build() };
}

function pageRun<Row extends object>(scope: PageScope, entity: AnyEntity, request: PageRequest): PageRead<Row>['run'] {
  const { tenantId, vault, name, paging, place, condition, holds } = scope;
  const { where = {}, orderBy = [], pageSize = standardPageSizes[paging], includeTotal = false, page = 0 } = request;
  const { cursor } = request;
  if (cursor !== undefined && page > 0) {
    const { pointer, code, detail } = eitherCursorOrPage;
    throw invalid(pointer, code, detail, place);
  }
  const query = { operation: name, tenantId, where, orderBy };
  const keys = orderKeys(entity, orderBy);
  const position = cursor === undefined ? undefined : readCursor(vault, query, cursor, place);
  const offset = position?.offset ?? (paging === 'offset' ? page : page * pageSize);

  const conditions = [
    entity.within('e', tenantId),
    ...conditionsToSee(holds, entity, 'e'),
    conditionOf(entity, 'e', tenantId, where),
  ];
  if (condition !== undefined) conditions.push(condition);
  const matching = sql.join(conditions, sql` and `);
  const ranges = position === undefined ? [sql`true`] : afterClauses(entity, 'e', keys, position.values);
  // Values that are calculated for a row are only calculated for those of the page, and not for those that are skipped.
  const isSkipping = position === undefined && offset > 0;
  // The number of a page says where it is only among all rows in the order of their IDs.
  const isMarked = paging === 'number' && conditions.length === 2 && Object.keys(where).length + orderBy.length === 0;

  return async (session) => {
    // One additional row shows whether there are more, without counting.
    const rows: Row[] = [];
    for (const range of ranges) {
      const missing = pageSize + 1 - rows.length;
      if (missing === 0) break;
      const order = orderClause(entity, 'e', keys);
      const rest = sql`where ${matching} and ${range} order by ${order} limit ${missing}`;
      const skipping = isMarked
        ? fromMark(entity, tenantId, { order, offset, limit: missing })
        : sql`select e.id from ${sql.table(entity.table)} ${sql.id('e')} ${rest} offset ${offset}`;
      const statement = isSkipping
        ? sql<Row>`${selection(entity)} where ${entity.within('e', tenantId)} and e.id = any(array(${skipping})) order by ${order}`
        : sql<Row>`${selection(entity)} ${rest}`;
      const found = await session.all(dependsOnOperands(where) ? plannedForValues(statement) : statement);
      rows.push(...found);
    }
    const hasMore = rows.length > pageSize;
    if (hasMore) rows.length = pageSize;
    const last = rows.at(-1);
    const next =
      paging === 'offset' && hasMore && last !== undefined
        ? { values: keys.map((key): unknown => Reflect.get(last, key.field)), offset: offset + pageSize }
        : undefined;
    const read = {
      data: rows.map((row) => visibleTo(holds, entity, row)),
      page: paging === 'offset' ? offset : page,
      pageSize,
      hasMore,
      nextCursor: next === undefined ? null : writeCursor(vault, query, next),
    };
    if (!includeTotal) return read;
    const known = { offset, length: rows.length, hasMore, isCounted: position === undefined };
    return { ...read, ...(await totalOf(session, entity, 'e', matching, known)) };
  };
}
