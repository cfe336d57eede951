import { type RawBuilder, sql } from 'kysely';
import { defineEntity } from '../../../entity/entity.ts';
import { invalidField } from '../../../entity/invalid-field.ts';
import type { Row } from '../../../entity/row.ts';

type Series = Row<'DocumentSeries'>;

/** The length of the start of a day that names its period; one period without an entry. */
const periodLengths: Readonly<Record<string, number>> = { YEAR: 4, MONTH: 7 };

/** The period of a day in which numbers of a series are unique, such as `2026-10`. */
export function periodOf({ restarts }: Pick<Series, 'restarts'>, day: string): string {
  return day.slice(0, periodLengths[restarts] ?? 0);
}

/** The counter of a series in a period. Its name is also formed in SQL, below. */
export function counterOf({ id }: Pick<Series, 'id'>, period: string): string {
  return `document_series.${id}.${period}`;
}

/** A number by the pattern of its series. */
export function formatNumber({ pattern }: Pick<Series, 'pattern'>, day: string, number: number): string {
  const [year = '', month = ''] = day.split('-');
  return pattern.replace(/\{(\w+)\}/g, (_, part: string) => {
    if (part.startsWith('N')) return String(number).padStart(part.length, '0');
    return part === 'MM' ? month : year.slice(-part.length);
  });
}

defineEntity('DocumentSeries', {
  table: 'document_series',
  computed: { nextNumber },
  rules: {
    complete({ values, previous, privateColumns }, plan) {
      const isChanged = values.nextNumber !== previous?.nextNumber || values.pattern !== previous.pattern;
      if (!isChanged) return;
      if (previous !== undefined && values.nextNumber < previous.nextNumber)
        throw invalidField('nextNumber', `nextNumber can only be raised. The next number is ${previous.nextNumber}.`);
      privateColumns.first_number = values.nextNumber;
      privateColumns.first_period = periodOf(values, plan.today);
    },
    constraints: {
      document_series_pattern_agrees: {
        code: 'VALIDATION_ERROR',
        field: 'pattern',
        detail: 'The pattern of a series that restarts needs {YYYY} or {YY}, and {MM} if it restarts each month.',
      },
      document_series_office_id_unique: {
        code: 'DUPLICATE_REF',
        field: 'officeId',
        detail: 'Another active series of the org numbers these documents. Change it, or delete it first.',
      },
      document_series_pattern_unique: {
        code: 'DUPLICATE_REF',
        field: 'pattern',
        detail: 'Another active series of the org forms the same numbers. Use other text around the number.',
      },
    },
  },
});

/** SQL of the next number, in the period of today. */
function nextNumber(row: string): RawBuilder<unknown> {
  const [tenantId, id, restarts, firstNumber, firstPeriod] = [
    'tenant_id',
    'id',
    'restarts',
    'first_number',
    'first_period',
  ].map((column) => sql.ref(`${row}.${column}`));
  const lengths = Object.entries(periodLengths).map(
    ([name, length]) => sql`when ${sql.lit(name)} then ${sql.lit(length)}`,
  );
  const period = sql`left(today()::text, case ${restarts} ${sql.join(lengths, sql` `)} else 0 end)`;
  return sql`greatest(case when ${firstPeriod} = ${period} then ${firstNumber} else 1 end, 1 + coalesce((
    select c.value from tenant_counter c
    where c.tenant_id = ${tenantId} and c.name = 'document_series.' || ${id} || '.' || ${period}), 0))`;
}
