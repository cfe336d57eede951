import { type RawBuilder, sql } from 'kysely';
import { contract, schemaOf } from '../contract/contract.ts';
import { asOfToday } from '../contract/stored-values.ts';
import type { AnyEntity, Entity } from '../entity/entity.ts';
import { conditionsToSee, isVisibleTo, visibleTo } from '../entity/field-access.ts';
import type { AnyStoredRow, EntityType, StoredRow } from '../entity/row.ts';
import { type JsonRow, perEntity, readRows, selection } from '../entity/select.ts';
import { plannedForValues, type Session } from '../platform/store/session.ts';
import { checkWhere } from './check-where.ts';
import { dependsOnOperands } from './clause.ts';
import { afterClauses, orderClause, orderKeys } from './order.ts';
import { type Page, type PageRequest, type PageScope, pageFrom, parsedPage, type Reader, startOfPage } from './page.ts';
import { removeBeyond, withinPage } from './page-bytes.ts';
import { prepared } from './prepared.ts';
import { totalOf } from './total.ts';
import { conditionOf } from './where.ts';

const { costly } = contract['x-search-limits'];

const queryById = perEntity((entity) =>
  prepared<JsonRow, [tenantId: number, id: string]>(
    (tenantId, id) => sql<JsonRow>`${selection(entity)} where ${entity.within('e', tenantId)} and e.id = ${id}`,
  ),
);

/** Returns the row with the ID, or undefined. */
export async function findById<Type extends EntityType>(
  session: Session,
  { tenantId, holds }: Reader,
  entity: Entity<Type>,
  id: string,
): Promise<StoredRow<Type> | undefined> {
  const [stored] = await readRows<StoredRow<Type>>(session, queryById(entity)(tenantId, id));
  const row = stored && entity.hasSnapshots ? asOfToday(schemaOf(entity.schema), stored) : stored;
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

function readerOf<Row extends object>(scope: PageScope, entity: AnyEntity, request: PageRequest): PageRead<Row> {
  const isCostly = checkWhere(entity, request.where ?? {}, scope.holds) >= costly;
  const build = () => pageRun<Row>(scope, entity, request);
  // While a costly search waits for its turn, it holds what was sent, and not a statement of more than 100 KB.
  return { isCostly, run: isCostly ? (session) => build()(session) : build() };
}

function pageRun<Row extends object>(scope: PageScope, entity: AnyEntity, request: PageRequest): PageRead<Row>['run'] {
  const { tenantId, paging, condition, holds } = scope;
  const { where = {}, orderBy = [], includeTotal = false } = request;
  const keys = orderKeys(entity, orderBy);
  const start = startOfPage(scope, request);
  const { after, skipped, pageSize } = start;

  const conditions = [
    entity.within('e', tenantId),
    ...conditionsToSee(holds, entity, 'e'),
    conditionOf(entity, 'e', tenantId, where),
  ];
  if (condition !== undefined) conditions.push(condition);
  const matching = sql.join(conditions, sql` and `);
  const ranges = after === undefined ? [sql`true`] : afterClauses(entity, 'e', keys, after);
  // The number of a page says where it is only among all rows in the order of their IDs.
  const isMarked = paging === 'number' && conditions.length === 2 && Object.keys(where).length + orderBy.length === 0;

  return async (session) => {
    const rows: JsonRow[] = [];
    let isCut = false;
    for (const range of ranges) {
      // One additional row shows whether there are more, without counting.
      const missing = pageSize + 1 - rows.length;
      if (missing === 0 || isCut) break;
      const order = orderClause(entity, 'e', keys);
      const rest = sql`where ${matching} and ${range} order by ${order} limit ${missing}`;
      const skipping = isMarked
        ? fromMark(entity, tenantId, { order, offset: skipped, limit: missing })
        : sql`select e.id from ${sql.table(entity.table)} ${sql.id('e')} ${rest} offset ${skipped}`;
      // Values that are calculated for a row are only calculated for those of the page, and not for those that are skipped.
      const statement =
        skipped > 0 && entity.sortedBy('id') === 'id'
          ? sql`${selection(entity)} where ${entity.within('e', tenantId)} and e.id = any(array(${skipping})) order by ${order}`
          : sql`${selection(entity)} ${rest} offset ${skipped}`;
      const used = rows.reduce((sum, { json }) => sum + Buffer.byteLength(json), 0);
      const limited = withinPage<JsonRow>(statement, used);
      rows.push(...(await session.all(dependsOnOperands(where) ? plannedForValues(limited) : limited)));
      isCut = removeBeyond(rows, 'json');
    }
    const valuesOf = ({ json }: JsonRow) => {
      const row: object = JSON.parse(json);
      return keys.map((key): unknown => Reflect.get(row, key.field));
    };
    const page = pageFrom(scope, request, start, rows, valuesOf, isCut);
    if (!includeTotal) return parsedPage(scope, entity, page);
    // After a cursor, the number of a page does not say how many rows come before it.
    const offset = after === undefined ? skipped : paging === 'offset' ? page.page : 0;
    const known = { offset, length: page.data.length, hasMore: page.hasMore, isCounted: after === undefined };
    const total = await totalOf(session, entity, { tenantId, row: 'e', where, matching }, known);
    return parsedPage(scope, entity, { ...page, ...total });
  };
}
