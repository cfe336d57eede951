import { conditionInWords, type RowValues } from '@financial-automation/spec/state-machine';
import { isFixedIn } from '../contract/fields.ts';
import { Rejection } from '../contract/rejection.ts';
import type { AnyEntity } from './model.ts';
import type { Plan } from './plan.ts';
import type { AnyRow } from './row.ts';
import { isFieldChanged } from './row-changes.ts';
import { type AnyPendingChange, rulesOf } from './rules.ts';
import { perEntity } from './select.ts';
import { callerMover, statesTo } from './state-machine.ts';

/** @throws Rejection `INVALID_STATE` if a caller changes a field that its row keeps as it is */
export function checkImmutable({ entity, previous, values, input }: AnyPendingChange, plan: Plan): void {
  if (previous === undefined) return;
  for (const field of immutableFields(entity)) {
    const { name, immutable } = field;
    if (immutable === undefined || !(name in input) || !isFieldChanged(entity, field, previous, values)) continue;
    const reject = (detail: string) => new Rejection('INVALID_STATE', `${name} ${detail}`, `/${name}`);
    if (immutable === true) throw reject(`cannot change after the ${entity.type} is created. ${replacementOf(entity)}`);
    if ('once' in immutable) {
      if (rulesOf(entity).isFixed?.(previous, plan))
        throw reject(`cannot change once ${immutable.once} ${replacementOf(entity)}`);
    } else if (isFixedIn(previous, immutable) && isFixedIn({ ...previous, ...input }, immutable)) {
      const values = conditionInWords({ is: immutable.unless }).replaceAll('`', '');
      throw reject(`can change only while ${values}.${stepsTo(entity, immutable.unless, previous, plan)}`);
    }
  }
}

const immutableFields = perEntity(({ keptFields }) => keptFields.filter(({ immutable }) => immutable !== undefined));

function replacementOf({ machine }: AnyEntity): string {
  const canBeVoided = machine?.transitions.some(({ to }) => to === 'VOIDED');
  return canBeVoided ? 'If it is wrong, void it and create another one.' : 'Create another one instead.';
}

/** Which statuses a caller writes first, to bring the row to the one with these values. */
function stepsTo({ machine, fields }: AnyEntity, values: RowValues, previous: AnyRow, plan: Plan): string {
  const [state] = values[machine?.field ?? ''] ?? [];
  if (machine === undefined || typeof state !== 'string' || fields.get(machine.field)?.readOnly) return '';
  const [, ...steps] = statesTo(machine, [String(previous[machine.field])], state, callerMover(plan)) ?? [];
  return steps.length === 0 ? '' : ` First set the ${machine.field} to ${steps.join(', then to ')}.`;
}
