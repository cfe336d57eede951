import { type RawBuilder, sql } from 'kysely';
import type { AnyEntity } from '../entity/entity.ts';
import { TimeBudgetExceeded } from '../platform/store/errors.ts';
import { plannedForValues, type Session } from '../platform/store/session.ts';
import type { Where } from './clause.ts';
import { countedRows } from './counted-rows.ts';

export interface Total {
  readonly total: number;
  readonly totalIsExact: boolean;
}

/** Information that a page provides about the number of rows. */
interface Known {
  /** Rows before the page. */
  readonly offset: number;
  readonly length: number;
  readonly hasMore: boolean;
  /**
   * Whether the page was reached by skipping exactly `offset` rows; after a cursor, rows may have been added or removed.
   */
  readonly isCounted: boolean;
}

interface Matching {
  readonly tenantId: number;
  /** The alias of the row in `matching`. */
  readonly row: string;
  readonly where: Where;
  /** SQL of the where clause, and of what else restricts the rows: only by columns of the where clause. */
  readonly matching: RawBuilder<unknown>;
}

/**
 * Returns the number of matching rows. The last page determines it without counting; if the time of the read is not
 * sufficient to count, it is the number of rows that the page shows to exist.
 */
export async function totalOf(
  session: Session,
  entity: AnyEntity,
  { tenantId, row, where, matching }: Matching,
  { offset, length, hasMore, isCounted }: Known,
): Promise<Total> {
  const shown = length === 0 ? 0 : offset + length;
  if (isCounted && !hasMore && (length > 0 || offset === 0)) return { total: shown, totalIsExact: true };
  try {
    const { rows, count } = countedRows(entity, row, tenantId, { where });
    // Counting costs more than planning.
    const counted = await session.first(
      plannedForValues(sql<{ total: string }>`select ${count} as total from ${rows} where ${matching}`),
    );
    return { total: Number(counted?.total ?? 0), totalIsExact: true };
  } catch (error) {
    if (!(error instanceof TimeBudgetExceeded)) throw error;
    return { total: hasMore ? shown + 1 : shown, totalIsExact: false };
  }
}
