import { invalidField } from './invalid-field.ts';
import type { Plan } from './plan.ts';
import type { AnyPendingChange } from './rules.ts';
import { perEntity } from './select.ts';

/** Maximum nesting depth of rows. */
const maxLevels = 50;

/**
 * Checks that a row is not its own ancestor, by any reference to a row of its own type. Its ancestors are locked until the transaction
 * ends, so that no concurrent transaction can create a cycle.
 *
 * @throws Rejection `VALIDATION_ERROR`
 */
export function checkAncestors({ entity, id, values, previous }: AnyPendingChange, plan: Plan): void {
  for (const { name } of parents(entity)) {
    if (values[name] === previous?.[name]) continue;
    let ancestor = values[name];
    for (let level = 1; typeof ancestor === 'string'; level++) {
      if (ancestor === id)
        throw invalidField(name, `${name} must not be the ${entity.type} itself or one of its descendants.`);
      if (level > maxLevels) throw invalidField(name, `The rows are nested more than ${maxLevels} levels deep.`);
      ancestor = Reflect.get(plan.getForShare(entity, ancestor) ?? {}, name);
    }
  }
}

const parents = perEntity(({ type, keptFields }) =>
  keptFields.filter(({ references, readOnly, kind }) => references === type && !readOnly && kind === 'uuid'),
);
