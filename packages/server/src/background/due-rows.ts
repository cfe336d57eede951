import { type RawBuilder, sql } from 'kysely';
import type { Plan } from '../entity/plan.ts';
import type { Session, Transaction } from '../platform/store/store.ts';
import type { Tick } from './clock.ts';

/** Number of rows of a slice. They change in one transaction, limited so that locks are held briefly. */
const sliceSize = 200;

/** A row that may be due. */
export interface CandidateRow {
  readonly id: string;
  /** The time since when it is due, if rows are in the order of these times. */
  readonly since?: string;
  /** False if the row turned out not to be due. */
  readonly isDue?: boolean;
}

/** The last row that a run has gone through. */
export type DuePosition = Pick<CandidateRow, 'id' | 'since'>;

export interface DueRows {
  /**
   * Returns the next rows after a position, up to the limit. Their number must not depend on which of them are due, so that the
   * time it takes is limited: rows that are found by a condition that no index covers are marked as not due.
   */
  find(session: Session, tick: Tick, slice: Slice): Promise<readonly CandidateRow[]>;
  /** Changes one of them. It must check that the row is still due, because it may have changed. */
  change(plan: Plan, id: string): void;
  /** Where to start; by default at the first row. */
  readonly after?: DuePosition | undefined;
  /** Stores how far the run has come, in the transaction of the changes. */
  keep?(transaction: Transaction, position: DuePosition): Promise<unknown>;
}

export interface Slice {
  readonly after: DuePosition | undefined;
  readonly limit: number;
}

/** SQL condition of the rows after a position, in the order of a column with the time since when they are due, and ID. */
export function laterThan(column: string, after: DuePosition | undefined): RawBuilder<boolean> {
  if (after?.since === undefined) return sql<boolean>`true`;
  return sql<boolean>`(${sql.ref(column)}, id) > (${after.since}, ${after.id})`;
}

/**
 * Goes through all rows once, in slices, and changes those that are due.
 *
 * @throws Error if rows could not be changed. Rows after them have been changed.
 */
export async function changeDueRows(tick: Tick, { find, change, after, keep }: DueRows): Promise<void> {
  const failures: unknown[] = [];
  let position = after;
  for (;;) {
    if (tick.signal.aborted) break;
    const slice = { after: position, limit: sliceSize };
    const rows = await tick.read((session) => find(session, tick, slice));
    const last = rows.at(-1);
    if (last === undefined) break;
    const due = rows.filter(({ isDue = true }) => isDue);
    // A run that failed for a row starts again at that row.
    const kept = failures.length === 0 ? keep : undefined;
    if (due.length > 0 || kept !== undefined) {
      const rejected = await tick.write(async (unit) => {
        const outcomes = await unit.items(due, (plan, { id }) => change(plan, id));
        const rejections = outcomes.flatMap((outcome) => ('rejection' in outcome ? [outcome.rejection] : []));
        if (rejections.length === 0)
          await kept?.(unit.transaction, { id: last.id, ...(last.since && { since: last.since }) });
        return rejections;
      });
      failures.push(...rejected);
    }
    if (rows.length < sliceSize) break;
    position = last;
  }
  if (failures.length > 0) throw new Error(`${failures.length} rows could not be changed.`, { cause: failures[0] });
}
