import { Rejection } from '../../contract/rejection.ts';
import { readAttributes } from '../../entity/attributes.ts';
import type { Context } from '../../entity/context.ts';
import type { AnyWritten, Plan } from '../../entity/plan.ts';
import type { ItemSchema, RecordType } from '../bulk/index.ts';
import { type RecordItem, writeRecords } from '../bulk/index.ts';

/** A code or an entry of a request. */
interface RowItem extends RecordItem {
  readonly systemRef: string;
  /** False deactivates the row, true activates it; otherwise it remains unchanged. */
  readonly active?: boolean;
}

/** Writes the codes or entries of a request in their order. One that fails changes nothing and does not affect others. */
export function writeRows(
  context: Context,
  schema: ItemSchema,
  items: readonly RowItem[],
  types: ReadonlyMap<string, RecordType>,
) {
  return writeRecords(context, { schema, operation: 'UPSERT' }, items, async () => types, writeRow);
}

function writeRow(
  plan: Plan,
  { entity, name }: RecordType,
  item: RecordItem & { readonly active?: boolean },
): AnyWritten {
  const { systemRef = '', attributes = {}, active } = item;
  const row = plan.untyped.findForUpdate(entity, 'systemRef', systemRef);
  if (row === undefined) {
    if (active === false)
      throw new Rejection('RECORD_NOT_FOUND', `No ${name} with this systemRef exists to deactivate.`, '/systemRef');
    return plan.at('/attributes', () =>
      plan.untyped.create(entity, readAttributes(plan, entity, attributes, undefined), { systemRef }),
    );
  }
  const system = active === true ? { active } : {};
  const written = plan.at('/attributes', () =>
    plan.untyped.update(entity, row.id, readAttributes(plan, entity, attributes, row), { system }),
  );
  return active === false && row.active ? plan.untyped.remove(entity, row.id) : written;
}
