import { sql } from 'kysely';
import { numberOf } from '../contract/contract.ts';
import type { Entity } from '../entity/entity.ts';
import type { Session } from '../store/store.ts';
import { type Row, selection } from './read.ts';

export interface NumberPageRequest {
  /** Counted from 0. */
  readonly page?: number;
  readonly pageSize?: number;
  readonly includeTotal?: boolean;
}

export interface NumberPage {
  readonly data: Row[];
  readonly page: number;
  readonly pageSize: number;
  readonly hasMore: boolean;
  readonly nextCursor: null;
  readonly total?: number;
}

const standardPageSize = numberOf('NumberPageRequest', 'pageSize', 'default');

/** One page of an entity's rows in the order of their making, by its number. The defaults are the contract's. */
export async function readNumberPage(
  session: Session,
  tenantId: number,
  entity: Entity,
  { page = 0, pageSize = standardPageSize, includeTotal = false }: NumberPageRequest,
): Promise<NumberPage> {
  const matching = entity.within('e', tenantId);
  // One row more than asked for tells whether there are more, without counting.
  const rows = await session.all<Row>(
    sql`${selection(entity)} where ${matching} order by e.id limit ${pageSize + 1} offset ${page * pageSize}`,
  );
  const hasMore = rows.length > pageSize;
  if (hasMore) rows.length = pageSize;
  const answer = { data: rows, page, pageSize, hasMore, nextCursor: null };
  if (!includeTotal) return answer;
  const counted = await session.first<{ total: number }>(
    sql`select count(*) as total from ${sql.table(entity.table)} ${sql.id('e')} where ${matching}`,
  );
  return { ...answer, total: counted?.total ?? 0 };
}
