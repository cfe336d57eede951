import type { Entity } from '../../entity/entity.ts';
import { invalidField } from '../../entity/invalid-field.ts';
import type { Plan } from '../../entity/plan.ts';
import type { PendingChange } from '../../entity/rules.ts';
import { type Decimal, parseDecimal, round } from '../../platform/decimal.ts';

const two = parseDecimal('2');
/** What the reference of the other entry ends in, and how long references are. */
const [suffix, maxRefLength] = ['+1', 255];

/**
 * Splits work over midnight: the entry ends there, and another one, written as by the caller, has the rest. Its reference follows from that of the
 * entry, so that an entry that is sent again finds it.
 *
 * @param hoursBetween the hours from one instant to another
 */
export function splitAtMidnight(
  plan: Plan,
  entity: Entity<'TimeEntry'>,
  { values, input }: PendingChange<'TimeEntry'>,
  { step, hoursBetween }: { readonly step: Decimal; readonly hoursBetween: (from: string, to: string) => Decimal },
): void {
  const { startedAt, endedAt, workDate, hours, systemRef } = values;
  if (input.splitAtMidnight !== true || startedAt === null || endedAt === null || values.reversesSystemRef !== null)
    return;
  const nextDay = Temporal.PlainDate.from(workDate).add({ days: 1 });
  const midnight = nextDay.toZonedDateTime(plan.tenant.timeZone).toInstant().toString({ smallestUnit: 'millisecond' });
  // Entries on another day than that of their start are rejected later.
  if (midnight <= startedAt || midnight >= endedAt) return;
  if (systemRef.length > maxRefLength - suffix.length)
    throw invalidField(
      'splitAtMidnight',
      `The systemRef of an entry that is split has at most ${maxRefLength - suffix.length} characters.`,
    );
  // Half of what the hours differ from the time goes to each part.
  const exact = hoursBetween(startedAt, midnight).plus(hours).minus(hoursBetween(midnight, endedAt)).div(two);
  const first = round(exact.div(step), 0).times(step);
  const rest = hours.minus(first);
  Object.assign(values, { endedAt: midnight, hours: first });
  const { sysRefs: _, splitAtMidnight: __, ...sent } = input;
  const other = { ...sent, workDate: nextDay.toString(), startedAt: midnight, endedAt, hours: rest };
  const known = plan.find(entity, 'systemRef', `${systemRef}${suffix}`);
  if (known === undefined) plan.create(entity, other, { systemRef: `${systemRef}${suffix}` });
  else plan.update(entity, known.id, other);
}
