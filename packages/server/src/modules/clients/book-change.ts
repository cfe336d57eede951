import type { AnyEntity } from '../../entity/entity.ts';
import type { Plan } from '../../entity/plan.ts';

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
