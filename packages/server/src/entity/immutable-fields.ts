import { conditionInWords, type RowValues } from '@financial-automation/spec/state-machine';
import { isFixedIn } from '../contract/fields.ts';
import { Rejection } from '../contract/rejection.ts';
import type { AnyEntity } from './model.ts';
import type { Plan } from './plan.ts';
import type { AnyRow } from './row.ts';
import { changedFields, isFieldChanged } from './row-changes.ts';
import { type AnyPendingChange, rulesOf } from './rules.ts';
import { perEntity } from './select.ts';
import { callerMover, statesTo } from './state-machine.ts';

/** @throws Rejection `INVALID_STATE` if a caller changes a field that its row keeps as it is */
export function checkImmutable(change: AnyPendingChange, plan: Plan): void {
  const { entity, previous, values, input } = change;
  if (previous === undefined) return;
  checkState(change, previous, plan);
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
      throw reject(
        `can change only while ${values}.${stepsTo(entity, immutable.unless[entity.machine?.field ?? ''], previous, plan)}`,
      );
    }
  }
}

/** @throws Rejection `INVALID_STATE` if a caller changes a row in a state in which only the state can change */
function checkState({ entity, values, input }: AnyPendingChange, previous: AnyRow, plan: Plan): void {
  const { machine, type } = entity;
  const state = String(previous[machine?.field ?? '']);
  if (!machine?.fixed?.includes(state) || values[machine.field] !== state) return;
  const changed = changedFields(entity, previous, values);
  if (changed.length === 0) return;
  const field = changed.find((name) => name in input);
  const detail = `The ${type} is ${state} and cannot change.${stepsTo(entity, machine.initial, previous, plan)}`;
  throw new Rejection('INVALID_STATE', detail, field && `/${field}`);
}

const immutableFields = perEntity(({ keptFields }) => keptFields.filter(({ immutable }) => immutable !== undefined));

function replacementOf({ machine }: AnyEntity): string {
  const canBeVoided = machine?.transitions.some(({ to }) => to === 'VOIDED');
  return canBeVoided ? 'If it is wrong, void it and create another one.' : 'Create another one instead.';
}

/** Which statuses a caller writes first, to bring the row to the first of these. */
function stepsTo(
  { machine, fields }: AnyEntity,
  [state]: RowValues[string] = [],
  previous: AnyRow,
  plan: Plan,
): string {
  if (machine === undefined || typeof state !== 'string' || fields.get(machine.field)?.readOnly) return '';
  const [, ...steps] = statesTo(machine, [String(previous[machine.field])], state, callerMover(plan)) ?? [];
  return steps.length === 0 ? '' : ` First set the ${machine.field} to ${steps.join(', then to ')}.`;
}
