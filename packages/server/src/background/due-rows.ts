import type { Plan } from '../entity/plan.ts';
import type { Session } from '../store/store.ts';
import type { Tick } from './clock.ts';

/** How many rows change in one transaction, so that none holds its locks for long. */
const batchSize = 200;

export interface DueRows {
  /** The IDs of rows that are due, at most so many. */
  find(session: Session, tick: Tick, limit: number): Promise<readonly { readonly id: string }[]>;
  /** Changes one of them. Somebody else may have changed it meanwhile, so this looks whether it is still due. */
  change(plan: Plan, id: string): void;
}

/** Changes every row that is due, batch by batch. @throws Error where a row cannot be changed. */
export async function changeDueRows(tick: Tick, { find, change }: DueRows): Promise<void> {
  for (;;) {
    const due = await tick.read((session) => find(session, tick, batchSize));
    if (due.length === 0 || tick.signal.aborted) return;
    const outcomes = await tick.write((unit) => unit.items(due, (plan, { id }) => change(plan, id)));
    const failures = outcomes.flatMap((outcome) => ('violation' in outcome ? [outcome.violation] : []));
    // Those that failed would be found again at once.
    if (failures.length > 0)
      throw new Error(`${failures.length} of ${due.length} rows could not be changed.`, { cause: failures[0] });
  }
}
