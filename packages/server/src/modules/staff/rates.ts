import { type RawBuilder, sql } from 'kysely';
import { fieldsOf, membersOf } from '../../contract/fields.ts';
import { Rejection } from '../../contract/rejection.ts';
import { jsonObject } from '../../entity/embed.ts';
import type { Lookup } from '../../entity/loaded-rows.ts';
import type { Plan } from '../../entity/plan.ts';
import type { ProvidedFields } from '../../entity/row.ts';
import type { PendingChange } from '../../entity/rules.ts';
import { sameValue } from '../../entity/values.ts';
import { formatDecimal } from '../../platform/decimal.ts';

const table = 'staff_rate';

const [field] = fieldsOf('Staff').filter((one) => one.name === 'rateCardAssignment');
const members = field === undefined ? [] : membersOf(field);

/** SQL of the rates of a staff member that apply today in the tenant's time zone, or null. */
export function currentRates(row: string): RawBuilder<unknown> {
  const object = jsonObject(members.map((member) => [member, sql.ref(`rate.${member.column}`)]));
  return sql`(select ${object} from staff_rate rate
    where rate.tenant_id = ${sql.ref(`${row}.tenant_id`)} and rate.staff_id = ${sql.ref(`${row}.id`)}
      and rate.effective_from_date <= today() and (rate.effective_to_date is null or rate.effective_to_date >= today()))`;
}

/** A period of rates, by column. Dates are business days; without an end date, it applies until another period starts. */
interface Period {
  readonly effective_from_date: string;
  readonly effective_to_date: string | null;
  readonly billing_rate: string;
  readonly average_rate: string;
  readonly currency: string;
  readonly rate_card_id: string | null;
  readonly rate_card_name: string | null;
}

/** The periods of staff members, the latest first. */
const periodsOf: Lookup<readonly Period[]> = {
  name: 'periods of rates',
  async load(transaction, tenantId, staffIds) {
    const rows = await transaction.all<Period & { staff_id: string }>(sql`
      select staff_id, effective_from_date, effective_to_date, billing_rate, average_rate, currency, rate_card_id, rate_card_name
      from ${sql.table(table)} where tenant_id = ${tenantId} and staff_id = any(${staffIds})
      order by effective_from_date desc`);
    return Map.groupBy(rows, (row) => row.staff_id);
  },
};

/** Returns the rates of a staff member on a day, or undefined. Rates written in the same plan are not included. */
export function ratesOn(plan: Plan, staffId: string, day: string): Period | undefined {
  return plan.lookup(periodsOf, staffId)?.find((period) => period.effective_from_date <= day && isOpenOn(period, day));
}

/**
 * Writes the rates of a change of a staff member: they apply until later ones start. Null ends the current ones, so that none apply from today on. The
 * rates are separate rows, but changing them counts as a change of the staff member.
 *
 * @throws Rejection `CONFLICT` if they are for days before the latest rates that time is approved for.
 */
export function writeRates(change: PendingChange<'Staff'>, plan: Plan): void {
  const { id, entity, input, previous } = change;
  const provided = input.rateCardAssignment;
  if (provided === undefined) return;
  const periods = previous === undefined ? [] : (plan.lookup(periodsOf, id) ?? []);
  const from = provided?.effectiveFromDate ?? plan.today;
  const next = provided === null ? undefined : periods.findLast((period) => period.effective_from_date > from);
  const columns = provided === null ? undefined : columnsOf(provided, next);
  const same = periods.find((period) => period.effective_from_date === from);
  if (same !== undefined && columns !== undefined && sameValue(same, { ...same, ...columns })) return;
  if (next !== undefined) checkUnused(plan, id, from, next);
  const ended = periods.filter(
    (period) => isOpenOn(period, from) && (next === undefined || period.effective_from_date <= from),
  );
  // The row that null is compared with does not show future rates.
  if (ended.length > 0) plan.requires(field?.writeRoles ?? [], 'Writing rateCardAssignment', '/rateCardAssignment');
  for (const period of ended) endPeriod(change, plan, period, from);
  if (columns === undefined) return;
  plan.insertPlain({ entity, table, key: keyOf(id, from), columns });
  change.isTouched = true;
}

/** The last day of approved billable time of a staff member in a period; the key has both, and the days of the period. */
const approvedIn: Lookup<string> = {
  name: 'approved time in a period',
  async load(transaction, tenantId, keys) {
    const rows = await transaction.all<{ key: string; day: string | null }>(sql`
      select key, (select max(t.work_date)::text from time_entry t
          where t.tenant_id = ${tenantId} and t.staff_id = split_part(key, '/', 1)::uuid and t.work_date >= split_part(key, '/', 2)::date
            and t.work_date < split_part(key, '/', 3)::date and t.status = 'APPROVED' and t.is_billable and t.active) as day
      from unnest(${keys}::text[]) key`);
    return new Map(rows.flatMap(({ key, day }) => (day === null ? [] : [[key, day]])));
  },
};

/** Checks that no approved time depends on the rates before a period. */
function checkUnused(plan: Plan, staffId: string, from: string, { effective_from_date: next }: Period): void {
  const day = plan.lookup(approvedIn, `${staffId}/${from}/${next}`);
  if (day === undefined) return;
  const detail = `Time of ${day} is approved with the rates before. Start these rates after that day, or withdraw its approval first.`;
  const error = { in: 'body', pointer: '/rateCardAssignment/effectiveFromDate', code: 'CONFLICT', detail } as const;
  throw new Rejection('CONFLICT', detail, { errors: [error] });
}

function isOpenOn({ effective_to_date: to }: Period, day: string): boolean {
  return to === null || to >= day;
}

/** Ends a period on the day before; one that would start on that day or later is deleted. */
function endPeriod(change: PendingChange<'Staff'>, plan: Plan, period: Period, day: string): void {
  const { effective_from_date: from, ...columns } = period;
  const row = { entity: change.entity, table, key: keyOf(change.id, from) };
  plan.deletePlain(row);
  if (from < day) plan.insertPlain({ ...row, columns: { ...columns, effective_to_date: dayBefore(day) } });
  change.isTouched = true;
}

function dayBefore(day: string): string {
  return Temporal.PlainDate.from(day).subtract({ days: 1 }).toString();
}

function keyOf(staffId: string, from: string) {
  return { staff_id: staffId, effective_from_date: from };
}

type Rates = NonNullable<ProvidedFields<'Staff'>['rateCardAssignment']>;

function columnsOf(
  { billingRate, averageRate, currency, rateCardId = null, rateCardName = null }: Rates,
  next: Period | undefined,
) {
  return {
    effective_to_date: next === undefined ? null : dayBefore(next.effective_from_date),
    billing_rate: billingRate && formatDecimal(billingRate),
    average_rate: averageRate && formatDecimal(averageRate),
    currency,
    rate_card_id: rateCardId,
    rate_card_name: rateCardName,
  };
}
