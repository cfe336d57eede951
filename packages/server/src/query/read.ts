import { type RawBuilder, sql } from 'kysely';
import type { Vault } from '../auth/vault.ts';
import { numberOf } from '../contract/contract.ts';
import type { Entity } from '../entity/entity.ts';
import { compiler, type Session } from '../store/session.ts';
import { readCursor, writeCursor } from './cursor.ts';
import { afterClause, orderClause, orderKeys } from './order.ts';
import { prepared } from './prepared.ts';
import { conditionOf, type Where } from './where.ts';

/** A row as answers show it: the fields of the contract. */
export type Row = Readonly<Record<string, unknown>> & { readonly id: string; readonly version: number };

const row = 'e';

const standardPageSize = numberOf('OffsetPageRequest', 'pageSize', 'default');

/** `select … from …` of everything that an answer shows of the entity; the row goes by the alias `e`. */
export const selection = perEntity((entity): RawBuilder<unknown> => {
  const columns = entity.shown.map((field) => sql`${entity.value(row, field.name)} as ${sql.id(field.name)}`);
  const select = sql`select ${sql.join(columns)} from ${sql.table(entity.table)} ${sql.id(row)}`.compile(compiler);
  if (select.parameters.length > 0) throw new Error(`What ${entity.type} computes must not depend on values.`);
  // As text from now on: compiling it anew would cost more than the rest of a query.
  return sql.raw(select.sql);
});

const queryById = perEntity((entity) =>
  prepared<Row, [tenantId: number, id: string]>(
    (tenantId, id) => sql<Row>`${selection(entity)} where ${entity.within(row, tenantId)} and e.id = ${id}`,
  ),
);

/** The row with the id, or undefined. */
export function findById(session: Session, tenantId: number, entity: Entity, id: string): Promise<Row | undefined> {
  return session.first(queryById(entity)(tenantId, id));
}

/** The rows with the ids, in no particular order. */
export function findByIds(session: Session, tenantId: number, entity: Entity, ids: readonly string[]): Promise<Row[]> {
  return session.all<Row>(sql`${selection(entity)} where ${entity.within(row, tenantId)} and e.id = any(${ids})`);
}

export interface PageRequest {
  readonly page?: number;
  readonly pageSize?: number;
  readonly cursor?: string;
  readonly includeTotal?: boolean;
  readonly where?: Where;
  readonly orderBy?: readonly Readonly<Record<string, string>>[];
}

export interface Page {
  readonly data: Row[];
  readonly page: number;
  readonly pageSize: number;
  readonly hasMore: boolean;
  readonly nextCursor: string | null;
  readonly total?: number;
}

export interface PageScope {
  readonly tenantId: number;
  readonly vault: Vault;
  /** What the cursor belongs to: the operation, and its path where that narrows the list. */
  readonly name: string;
  /** Where the caller wrote what page is wanted; the body, if left out. */
  readonly place?: 'body' | 'query';
  /** Narrows the list beyond what the caller asks for. */
  readonly condition?: RawBuilder<boolean>;
}

/**
 * One page of an entity's rows, by offset or by cursor. The defaults of the request are the contract's.
 *
 * @throws Problem as `conditionOf`, `orderKeys` and `readCursor` do.
 */
export async function readPage(
  session: Session,
  scope: PageScope,
  entity: Entity,
  request: PageRequest,
): Promise<Page> {
  const { where = {}, orderBy = [], pageSize = standardPageSize, includeTotal = false } = request;
  const query = { operation: scope.name, tenantId: scope.tenantId, where, orderBy };
  const keys = orderKeys(entity, orderBy);
  const position =
    request.cursor === undefined ? undefined : readCursor(scope.vault, query, request.cursor, scope.place ?? 'body');
  const offset = position?.offset ?? request.page ?? 0;

  const conditions = [entity.within(row, scope.tenantId), conditionOf(entity, row, scope.tenantId, where)];
  if (scope.condition !== undefined) conditions.push(scope.condition);
  const matching = sql.join(conditions, sql` and `);
  const after = position === undefined ? sql`` : sql` and ${afterClause(entity, row, keys, position.values)}`;
  const skip = position === undefined && offset > 0 ? sql` offset ${offset}` : sql``;

  // One row more than asked for tells whether there are more, without counting.
  const rows = await session.all<Row>(
    sql`${selection(entity)} where ${matching}${after} order by ${orderClause(entity, row, keys)} limit ${pageSize + 1}${skip}`,
  );
  const hasMore = rows.length > pageSize;
  if (hasMore) rows.length = pageSize;
  const last = rows.at(-1);
  const next =
    hasMore && last !== undefined
      ? { values: keys.map((key) => last[key.field]), offset: offset + pageSize }
      : undefined;
  const page: Page = {
    data: rows,
    page: offset,
    pageSize,
    hasMore,
    nextCursor: next === undefined ? null : writeCursor(scope.vault, query, next),
  };
  if (!includeTotal) return page;
  const counted = await session.first<{ total: string }>(
    sql`select count(*) as total from ${sql.table(entity.table)} ${sql.id(row)} where ${matching}`,
  );
  return { ...page, total: Number(counted?.total ?? 0) };
}

/** Makes something for an entity the first time that it is asked for. */
function perEntity<T>(make: (entity: Entity) => T): (entity: Entity) => T {
  const made = new WeakMap<Entity, { readonly it: T }>();
  return (entity) => {
    let known = made.get(entity);
    if (known === undefined) {
      known = { it: make(entity) };
      made.set(entity, known);
    }
    return known.it;
  };
}
