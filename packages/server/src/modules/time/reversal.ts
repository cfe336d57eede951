import { Rejection } from '../../contract/rejection.ts';
import type { Entity } from '../../entity/entity.ts';
import { invalidField } from '../../entity/invalid-field.ts';
import type { Plan } from '../../entity/plan.ts';
import type { Row } from '../../entity/row.ts';
import type { PendingChange } from '../../entity/rules.ts';
import { sum, zero } from '../../platform/decimal.ts';

type TimeChange = PendingChange<'TimeEntry'>;
type TimeEntry = Entity<'TimeEntry'>;

/** Returns the time entry that a reversal refers to, or undefined if the entry is not a reversal. */
export function reversedEntry({ entity, values }: Pick<TimeChange, 'entity' | 'values'>, plan: Plan) {
  const { reversesSystemRef } = values;
  return reversesSystemRef === null ? undefined : plan.find(entity, 'systemRef', reversesSystemRef);
}

/** The fields that identify the reversed work. */
const sameFields = ['staffId', 'jobId', 'taskId', 'isBillable'] as const;

/**
 * Completes a reversal: omitted fields are copied from the reversed entry, and the hours must not exceed what is left of
 * it.
 *
 * @throws Rejection if the entry does not exist, or the reversal concerns other work.
 */
export function completeReversal(change: TimeChange, plan: Plan): void {
  const { values, input, previous } = change;
  const original = reversedEntry(change, plan);
  if (original?.active !== true || original.reversesSystemRef !== null)
    throw new Rejection(
      'REFERENCE_NOT_FOUND',
      'No active time entry with this systemRef exists that is not a reversal itself.',
      '/reversesSystemRef',
    );
  if (original.status !== 'APPROVED')
    throw new Rejection('INVALID_STATE', 'Only an approved entry can be reversed.', '/reversesSystemRef');
  if (previous === undefined)
    for (const name of ['jobId', 'taskId', 'code', 'isBillable'] as const)
      if (input[name] === undefined) Object.assign(values, { [name]: original[name] });
  for (const name of sameFields)
    if (values[name] !== original[name]) throw invalidField(name, `${name} must be the same as in the reversed entry.`);
  if (!values.active || values.status === 'REJECTED') return;
  const others = reversalsOf(change.entity, plan, original).filter(({ id }) => id !== values.id);
  const left = sum([original.hours, ...others.map(({ hours }) => hours)]);
  if (left.plus(values.hours).lt(zero))
    throw invalidField('hours', `A reversal can reverse at most ${left.toFixed(2)} hours of this entry.`);
}

/** Returns the active reversals of an entry that are not rejected. */
function reversalsOf(entity: TimeEntry, plan: Plan, { systemRef }: Row<'TimeEntry'>): Row<'TimeEntry'>[] {
  const all = plan.all(entity, 'reversesSystemRef', systemRef);
  return all.filter(({ active, status }) => active && status !== 'REJECTED');
}

/** @throws Rejection if an entry with reversals would no longer be approved. */
export function checkNotReversed({ entity, values, previous }: TimeChange, plan: Plan): void {
  if (previous?.status !== 'APPROVED' || values.status === 'APPROVED') return;
  if (reversalsOf(entity, plan, previous).length > 0)
    throw new Rejection(
      'INVALID_STATE',
      'Another entry reverses this one. Reject or deactivate that entry first.',
      '/status',
    );
}
