import { sum, zero } from '../../entity/decimal.ts';
import type { Plan } from '../../entity/plan.ts';
import type { Row } from '../../entity/row.ts';
import type { PendingChange } from '../../entity/rules.ts';
import { invalidField, Violation } from '../../entity/violation.ts';
import type { timeEntry } from './time-entry.ts';

type TimeChange = PendingChange<'TimeEntry'>;
type TimeEntry = typeof timeEntry;

/** The time entry that a reversal takes back, or undefined where the entry is no reversal. */
export function reversedEntry({ entity, values }: Pick<TimeChange, 'entity' | 'values'>, plan: Plan) {
  const { reversesSystemRef } = values;
  return reversesSystemRef === null ? undefined : plan.find(entity, 'systemRef', reversesSystemRef);
}

/** What decides which work is taken back. */
const sameFields = ['staffId', 'jobId', 'taskId', 'isBillable'] as const;

/**
 * Completes a reversal: what it does not say is as in the entry that it takes back, of which it takes back at most what is left.
 *
 * @throws Violation where there is no such entry, or where the reversal is about other work.
 */
export function completeReversal(change: TimeChange, plan: Plan): void {
  const { values, input, previous } = change;
  const original = reversedEntry(change, plan);
  if (original?.active !== true || original.reversesSystemRef !== null)
    throw new Violation(
      'REFERENCE_NOT_FOUND',
      'No active time entry with this systemRef exists that is not a reversal itself.',
      '/reversesSystemRef',
    );
  if (original.status !== 'APPROVED')
    throw new Violation('INVALID_STATE', 'Only an approved entry can be reversed.', '/reversesSystemRef');
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

/** The reversals of an entry that count, or wait for a decision. */
function reversalsOf(entity: TimeEntry, plan: Plan, { systemRef }: Row<'TimeEntry'>): Row<'TimeEntry'>[] {
  const all = plan.all(entity, 'reversesSystemRef', systemRef);
  return all.filter(({ active, status }) => active && status !== 'REJECTED');
}

/** @throws Violation where an entry leaves the state of being approved that its reversals count on. */
export function checkNotReversed({ entity, values, previous }: TimeChange, plan: Plan): void {
  if (previous?.status !== 'APPROVED' || values.status === 'APPROVED') return;
  if (reversalsOf(entity, plan, previous).length > 0)
    throw new Violation(
      'INVALID_STATE',
      'Another entry reverses this one. Reject or deactivate that entry first.',
      '/status',
    );
}
