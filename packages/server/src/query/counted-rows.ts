import { type RawBuilder, sql } from 'kysely';
import { columnOf } from '../contract/fields.ts';
import type { AnyEntity } from '../entity/entity.ts';
import type { MonthlySums } from '../entity/model.ts';
import type { GroupBy, Measure } from './aggregate-request.ts';
import { type Clause, type Comparison, clauseOf, type Where } from './clause.ts';

interface Request {
  readonly where?: Where;
  readonly groupBy?: readonly GroupBy[];
  /** Without any, rows are counted. */
  readonly measures?: Readonly<Record<string, Measure>>;
}

/** What a statement sums up or counts. */
interface CountedRows {
  /** SQL of the rows, with their alias. */
  readonly rows: RawBuilder<unknown>;
  /** SQL of how many rows of the entity they are. */
  readonly count: RawBuilder<unknown>;
}

/**
 * Returns the rows of an entity, or their monthly sums if a request can be answered from these. Then the days at both ends that are no
 * whole months are read from the rows.
 */
export function countedRows(entity: AnyEntity, row: string, tenantId: number, request: Request): CountedRows {
  const { monthly } = entity;
  const days = monthly === undefined ? undefined : daysOf(monthly, entity, request);
  if (monthly === undefined || days === undefined)
    return { rows: sql`${sql.table(entity.table)} ${sql.id(row)}`, count: sql`count(*)` };
  const columns = [...monthly.by, monthly.day, monthly.amount].map((field) => sql.ref(columnOf(field)));
  const part = (table: string, entries: RawBuilder<unknown>, condition: RawBuilder<unknown>) => sql`
    select tenant_id, ${sql.join(columns)}, ${entries} as entries from ${sql.table(table)}
    where tenant_id = ${tenantId} and ${condition}`;
  const day = sql.ref(columnOf(monthly.day));
  const first = latest(
    days.flatMap(({ operator, operand }) =>
      operator === '_gte' ? [monthAfter(operand, 0)] : operator === '_gt' ? [monthAfter(operand, 1)] : [],
    ),
  );
  const end = earliest(
    days.flatMap(({ operator, operand }) =>
      operator === '_lte' ? [monthOf(operand, 1)] : operator === '_lt' ? [monthOf(operand, 0)] : [],
    ),
  );
  const parts = [
    part(
      monthly.table,
      sql.ref('entries'),
      sql`${first === undefined ? sql`true` : sql`${day} >= ${first}`} and ${end === undefined ? sql`true` : sql`${day} < ${end}`}`,
    ),
  ];
  if (first !== undefined) parts.push(part(entity.table, sql`1`, sql`${day} < ${first}`));
  if (end !== undefined)
    parts.push(part(entity.table, sql`1`, sql`${day} >= ${first === undefined ? end : latest([first, end])}`));
  return {
    rows: sql`(${sql.join(parts, sql` union all `)}) ${sql.id(row)}`,
    count: sql`coalesce(sum(${sql.ref(`${row}.entries`)}), 0)`,
  };
}

/** The comparisons of the day of a request that its monthly sums are sufficient for; undefined if they are not. */
function daysOf(
  { by, day, amount }: MonthlySums,
  entity: AnyEntity,
  { where = {}, groupBy = [], measures = {} }: Request,
): readonly Comparison[] | undefined {
  const kept = new Set(by);
  const isKept = (column: string) => {
    const [relation = '', field] = column.split('.');
    return kept.has(field === undefined ? column : (entity.relations[relation]?.by ?? ''));
  };
  const isWhole = ({ column, by: unit }: GroupBy) =>
    isKept(column) || (column === day && (unit === 'MONTH' || unit === 'QUARTER' || unit === 'YEAR'));
  const isSum = (measure: Measure) =>
    measure.function === 'COUNT' || (measure.function === 'SUM' && measure.column === amount);
  if (!groupBy.every(isWhole) || !Object.values(measures).every(isSum)) return undefined;
  const clause = clauseOf(entity, where);
  const days: Comparison[] = [];
  for (const part of clause.kind === 'all' ? clause.parts : [clause]) {
    if (part.kind === 'comparison' && part.field === day && !part.negated && ends.has(part.operator)) days.push(part);
    else if (!isOfKept(part, kept, true)) return undefined;
  }
  return days;
}

const ends = new Set(['_gte', '_gt', '_lte', '_lt']);

/** Whether a clause is about these fields. Alternatives with a relation are looked up by the ID of the row. */
function isOfKept(part: Clause, kept: ReadonlySet<string>, hasRelations: boolean): boolean {
  switch (part.kind) {
    case 'comparison':
      return kept.has(part.field);
    case 'related':
      return hasRelations && !part.relation.many && kept.has(part.relation.by);
    case 'all':
      return part.parts.every((one) => isOfKept(one, kept, hasRelations));
    case 'any':
      return part.parts.every((one) => isOfKept(one, kept, false));
  }
}

/** SQL of the first day of the month of a day, some days later. */
function monthOf(day: unknown, later: number): RawBuilder<unknown> {
  return sql`date_trunc('month', (${day}::date + ${later}::integer)::timestamp)::date`;
}

/** SQL of the first day of a month that is not before a day, some days later. */
function monthAfter(day: unknown, later: number): RawBuilder<unknown> {
  return sql`date_trunc('month', (${day}::date + ${later}::integer - 1)::timestamp + interval '1 month')::date`;
}

function latest(days: readonly RawBuilder<unknown>[]): RawBuilder<unknown> | undefined {
  return days.length === 0 ? undefined : sql`greatest(${sql.join(days)})`;
}

function earliest(days: readonly RawBuilder<unknown>[]): RawBuilder<unknown> | undefined {
  return days.length === 0 ? undefined : sql`least(${sql.join(days)})`;
}
