import { invalidField } from './invalid-field.ts';
import type { Entity } from './model.ts';
import type { Plan } from './plan.ts';
import type { EntityType, Row } from './row.ts';
import type { PendingChange } from './rules.ts';

/** Maximum nesting depth of rows. */
const maxLevels = 50;

/**
 * Checks that a row is not its own ancestor. Its ancestors are locked until the transaction ends, so that no concurrent
 * transaction can create a cycle.
 *
 * @param field refers to the row's parent, which is of the same entity.
 * @throws Rejection `VALIDATION_ERROR`
 */
export function checkAncestors<Type extends EntityType>(
  { id, values, previous }: PendingChange<Type>,
  plan: Plan,
  entity: Entity<Type>,
  field: keyof Row<Type> & string,
): void {
  const parentOf = (row: object | undefined): unknown => new Map(Object.entries(row ?? {})).get(field);
  if (parentOf(values) === parentOf(previous)) return;
  let ancestor = parentOf(values);
  for (let level = 1; typeof ancestor === 'string'; level++) {
    if (ancestor === id)
      throw invalidField(field, `${field} must not be the ${entity.type} itself or one of its descendants.`);
    if (level > maxLevels) throw invalidField(field, `The rows are nested more than ${maxLevels} levels deep.`);
    ancestor = parentOf(plan.getForShare(entity, ancestor));
  }
}
