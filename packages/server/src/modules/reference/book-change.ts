import type { AnyEntity } from '../../entity/entity.ts';
import { invalidField } from '../../entity/invalid-field.ts';
import type { Plan } from '../../entity/plan.ts';

/** What callers send with a change of the books, and reads do not return. */
interface ChangeInput {
  readonly changeDate?: string | null | undefined;
  readonly changeReason?: string | null | undefined;
}

interface BookChange {
  readonly entity: AnyEntity;
  readonly id: string;
  readonly input: ChangeInput;
}

/**
 * Stores the day and the reason of a change.
 *
 * @param since the date of the row, before which nothing of it can change.
 */
export function recordBookChange({ entity, id, input }: BookChange, plan: Plan, since: string): void {
  const { changeDate = null, changeReason = null } = input;
  if (changeDate === null && changeReason === null) return;
  if (changeDate !== null) checkNotAfterToday(plan, 'changeDate', changeDate);
  if (changeDate !== null && changeDate < since)
    throw invalidField('changeDate', `changeDate must not be before ${since}, the date of the ${entity.type}.`);
  storeBookChange(plan, { entity, id }, { changeDate, changeReason });
}

/** Checks the day of a fact: what is recorded has happened. */
export function checkNotAfterToday(plan: Plan, field: string, day: string): void {
  if (day > plan.today) throw invalidField(field, `${field} must not be after today, ${plan.today}.`);
}

/** Stores why a row of the books is changed, and for which day, where the caller says so. The row itself does not have it. */
export function storeBookChange(
  plan: Plan,
  { entity, id }: { readonly entity: AnyEntity; readonly id: string },
  { changeDate = null, changeReason }: { readonly changeDate?: string | null; readonly changeReason: string | null },
): void {
  plan.insertPlain({
    entity,
    table: 'book_change',
    key: { changed_row: id, recorded_at: plan.now },
    columns: {
      change_date: changeDate,
      change_reason: changeReason,
      api_user_id: plan.origin.caller?.apiUserId ?? null,
    },
  });
}
