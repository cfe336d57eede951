import type { Plan } from '../entity/plan.ts';
import type { Session } from '../store/store.ts';
import type { Tick } from './clock.ts';

/** Number of rows that change in one transaction, limited so that locks are held briefly. */
const batchSize = 200;

export interface DueRows {
  /** Returns the IDs of due rows, up to the limit. */
  find(session: Session, tick: Tick, limit: number): Promise<readonly { readonly id: string }[]>;
  /** Changes one of them. It must check that the row is still due, because it may have changed. */
  change(plan: Plan, id: string): void;
}

/** Changes every due row, in batches. @throws Error if a row cannot be changed. */
export async function changeDueRows(tick: Tick, { find, change }: DueRows): Promise<void> {
  for (;;) {
    const due = await tick.read((session) => find(session, tick, batchSize));
    if (due.length === 0 || tick.signal.aborted) return;
    const outcomes = await tick.write((unit) => unit.items(due, (plan, { id }) => change(plan, id)));
    const failures = outcomes.flatMap((outcome) => ('violation' in outcome ? [outcome.violation] : []));
    // The failed rows would be found again at once.
    if (failures.length > 0)
      throw new Error(`${failures.length} of ${due.length} rows could not be changed.`, { cause: failures[0] });
  }
}
