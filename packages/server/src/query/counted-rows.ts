import { type RawBuilder, sql } from 'kysely';
import { columnOf } from '../contract/fields.ts';
import type { AnyEntity } from '../entity/entity.ts';
import type { BalanceFunction, Balances, SumTable } from '../entity/model.ts';
import type { GroupBy, Measure } from './aggregate-request.ts';
import { type Clause, type Comparison, clauseOf, type Where } from './clause.ts';
import { firstDayFrom } from './figures.ts';

interface Request {
  readonly where?: Where;
  readonly groupBy?: readonly GroupBy[];
  /** Without any, rows are counted. */
  readonly measures?: Readonly<Record<string, Measure>>;
}

/** What a statement sums up or counts. */
export interface CountedRows {
  /** SQL of the rows, with their alias. */
  readonly rows: RawBuilder<unknown>;
  /** SQL of how many rows of the entity they are. */
  readonly count: RawBuilder<unknown>;
  /** Whether they are sums, of which several can add up to no row of the entity. */
  readonly areSums: boolean;
  /** Whether they are so few that nothing else is read sooner. */
  readonly areFew?: boolean;
}

/**
 * Returns the rows of an entity, or the first of their sums that suffice for a request.
 *
 * @param owner a field without whose value rows are left out.
 */
export function countedRows(
  entity: AnyEntity,
  row: string,
  tenantId: number,
  request: Request,
  owner?: string,
): CountedRows {
  const clause = clauseOf(entity, request.where ?? {});
  for (const sums of entity.sums) {
    if (!areGrouped(sums, entity, request) || (owner !== undefined && sums.notBy === owner)) continue;
    const rows = sums.per === 'DAY' ? daysOf(sums, clause) : monthsOf(sums, clause, entity, tenantId, request, owner);
    if (rows === undefined) continue;
    const count = sql`coalesce(sum(${sql.ref(`${row}.entries`)}), 0)`;
    return {
      rows: sql`${rows} ${sql.id(row)}`,
      count,
      areSums: true,
      areFew: sums.per === 'DAY' && sums.only === undefined,
    };
  }
  return { rows: sql`${sql.table(entity.table)} ${sql.id(row)}`, count: sql`count(*)`, areSums: false };
}

/** Whether the groups and figures of a request follow from sums. */
function areGrouped(
  { by, day, per, amounts, extremes = [], extremeColumns = {} }: SumTable,
  entity: AnyEntity,
  { groupBy = [], measures = {} }: Request,
): boolean {
  const all = Object.values(measures);
  const isExtreme = ({ function: of, column = '' }: Measure) =>
    (of === 'MIN' || of === 'MAX') &&
    extremeColumns[column]?.[of] !== undefined &&
    all.every((other) => other.column !== column || other.function === of);
  const isDay = ({ column, by: unit }: GroupBy) =>
    column === day && (per === 'DAY' || (unit !== undefined && months.has(unit)));
  return (
    groupBy.every((group) => isDay(group) || isAge(group, extremeColumns) || isKept(by, entity, group)) &&
    all.every(
      (measure) =>
        measure.function === 'COUNT' ||
        isSum(amounts, measure) ||
        isExtreme(measure) ||
        ((measure.function === 'MIN' || measure.function === 'MAX') && extremes.includes(measure.column ?? '')),
    )
  );
}

/** Whether groups are by the ages of a field of which months have the least or the greatest value. */
function isAge({ column, boundaries, daysBefore }: GroupBy, extremeColumns: SumTable['extremeColumns'] = {}): boolean {
  return Object.hasOwn(extremeColumns, column) && boundaries !== undefined && daysBefore !== undefined;
}

/** Whether groups by a column follow from rows with some fields. */
function isKept(by: readonly string[], entity: AnyEntity, { column }: GroupBy): boolean {
  const [relation = '', field] = column.split('.');
  return by.includes(field === undefined ? column : (entity.relations[relation]?.by ?? ''));
}

function isSum(amounts: readonly string[], measure: Measure | undefined): boolean {
  return measure?.function === 'SUM' && measure.column !== undefined && amounts.includes(measure.column);
}

/** Rows from which sums of a request as of a day follow. */
interface BalanceRows {
  /** SQL of the rows, with their alias. Groups that add up to zero may be missing. */
  readonly rows: RawBuilder<unknown>;
  /** The names of the measures that follow from them. */
  readonly measures: ReadonlySet<string>;
  /** The place of a column in `groupBy` by whose values the rows of some groups are found by an index. */
  readonly id: number | undefined;
  /** Whether there are rows without such a value. */
  readonly hasRowsWithoutId: boolean;
}

/** Returns rows from which the groups of a request as of a day follow, if the entity has such rows. */
export function balanceRows(
  entity: AnyEntity,
  row: string,
  tenantId: number,
  { where = {}, groupBy = [], measures = {} }: Request,
): BalanceRows | undefined {
  const { balances } = entity;
  if (balances === undefined) return undefined;
  const [last, others] = lastDay(balances, partsOf(clauseOf(entity, where)));
  const {
    name,
    by,
    ids,
    hasRowsWithoutId = false,
  } = balances.functions[requiredValue(others, balances.of) ?? ''] ?? {};
  if (last === undefined || name === undefined || by === undefined) return undefined;
  const kept = new Set(by);
  if (!groupBy.every((group) => isKept(by, entity, group)) || !others.every((part) => isOfKept(part, kept, true)))
    return undefined;
  return {
    rows: sql`${sql.id(name)}(${tenantId}, ${last}) ${sql.id(row)}`,
    measures: new Set(Object.keys(measures).filter((measure) => isSum(balances.amounts, measures[measure]))),
    id: positionOfId(ids, groupBy),
    hasRowsWithoutId,
  };
}

/** Returns the position in `groupBy` of the first of some fields. */
export function positionOfId(ids: readonly string[] = [], groupBy: readonly GroupBy[]): number | undefined {
  return ids.map((id) => groupBy.findIndex(({ column }) => column === id)).find((position) => position !== -1);
}

interface IdsOfRows extends Pick<BalanceFunction, 'ids' | 'hasRowsWithoutId'> {
  /** The field that has few values, and SQL of those of the rows. */
  readonly few: { readonly field: string; readonly values: RawBuilder<unknown> };
}

/**
 * Returns the fields by whose values the rows of a request as of a day are found by an index, if its conditions leave most rows of most of these
 * values.
 */
export function idsOfRows(entity: AnyEntity, tenantId: number, where: Where): IdsOfRows | undefined {
  const { balances } = entity;
  if (balances === undefined) return undefined;
  const [last, others] = lastDay(balances, partsOf(clauseOf(entity, where)));
  const { of, day, few } = balances;
  const value = requiredValue(others, of);
  const found = balances.functions[value ?? ''];
  if (last === undefined || found === undefined) return undefined;
  const kept = new Set(found.by.filter((field) => !found.ids.includes(field)));
  if (!others.every((part) => isOfKept(part, kept, false))) return undefined;
  const [ofFew, ofValue, ofDay] = [few.field, of, day].map((field) => sql.ref(columnOf(field)));
  const values = sql`
    (select distinct ${ofFew} from ${sql.table(few.table)} where tenant_id = ${tenantId} and ${ofValue} = ${value} and ${ofDay} <= ${last})`;
  return { ...found, few: { field: few.field, values } };
}

/** The conditions that must all hold. */
function partsOf(clause: Clause): readonly Clause[] {
  return clause.kind === 'all' ? clause.parts : [clause];
}

/** The value of a field that conditions require. */
function requiredValue(parts: readonly Clause[], field: string): string | undefined {
  for (const part of parts)
    if (part.kind === 'comparison' && part.field === field && part.operator === '_eq' && !part.negated)
      return String(part.operand);
  return undefined;
}

/** SQL of the last day that conditions on rows leave, and the conditions on other fields. */
function lastDay({ day }: Balances, parts: readonly Clause[]): [RawBuilder<unknown> | undefined, Clause[]] {
  const ofDay = (part: Clause): part is Comparison =>
    part.kind === 'comparison' &&
    part.field === day &&
    !part.negated &&
    (part.operator === '_lte' || part.operator === '_lt');
  const days = parts
    .filter(ofDay)
    .map(({ operator, operand }) => sql`${operand}::date - ${sql.lit(operator === '_lt' ? 1 : 0)}`);
  return [earliestOf(days), parts.filter((part) => !ofDay(part))];
}

/** Units that are whole months. */
const months: ReadonlySet<string> = new Set(['MONTH', 'QUARTER', 'YEAR']);

/** SQL of sums by day, if they have all that a clause is about. */
function daysOf(sums: SumTable, clause: Clause): RawBuilder<unknown> | undefined {
  const { by, day, only } = sums;
  const kept = [...by, day, ...(only === undefined ? [] : [only.field])];
  if (!isOfKept(clause, new Set(kept), true)) return undefined;
  const isOfOthers = only !== undefined && requiredValue(partsOf(clause), only.field) !== only.value;
  return isOfOthers ? undefined : tableOf(sums);
}

/** SQL of sums, with the column of the field whose value they all have. */
function tableOf({ table, only }: SumTable): RawBuilder<unknown> {
  if (only === undefined) return sql.table(table);
  return sql`(select *, ${only.value}::text collate "C" as ${sql.ref(columnOf(only.field))} from ${sql.table(table)})`;
}

/**
 * SQL of sums by month, if they have all that a clause is about. The days at both ends that are no whole months are read from the rows, or from
 * their sums by day. Whole months end where the last age begins: all that is entered before is as old.
 */
function monthsOf(
  sums: SumTable,
  clause: Clause,
  entity: AnyEntity,
  tenantId: number,
  { groupBy = [], measures = {} }: Request,
  owner: string | undefined,
): RawBuilder<unknown> | undefined {
  const { requires, day: dayField, only, amounts, extremeColumns = {} } = sums;
  const by = only === undefined ? sums.by : [only.field, ...sums.by];
  const kept = new Set(by);
  const days: Comparison[] = [];
  for (const part of partsOf(clause)) {
    if (part.kind === 'comparison' && part.field === dayField && !part.negated && ends.has(part.operator))
      days.push(part);
    else if (!isOfKept(part, kept, true)) return undefined;
  }
  const sumsOfDays = sums.days === undefined ? undefined : daysOf(sums.days, clause);
  if (sums.days !== undefined && sumsOfDays === undefined) return undefined;
  const [rows, one] =
    sumsOfDays === undefined ? [sql.table(entity.table), sql`1`] : [sql`${sumsOfDays} days`, sql.ref('entries')];
  const fields = [...new Set([...by, dayField, ...amounts, ...Object.keys(extremeColumns)])];
  /** The column of months with the values of a field. */
  const extremeOf = (field: string) => {
    const isLast = Object.values(measures).some(({ column, function: of }) => column === field && of === 'MAX');
    return extremeColumns[field]?.[isLast ? 'MAX' : 'MIN'] ?? columnOf(field);
  };
  const part = (
    from: RawBuilder<unknown>,
    entries: RawBuilder<unknown>,
    condition: RawBuilder<unknown>,
    columnIn = columnOf,
  ) => {
    const columns = fields.map((field) => sql`${sql.ref(columnIn(field))} as ${sql.ref(columnOf(field))}`);
    return sql`
      select tenant_id, ${sql.join(columns)}, ${entries} as entries from ${from} where tenant_id = ${tenantId} and ${condition}`;
  };
  const day = sql.ref(columnOf(dayField));
  const first = latest(
    days.flatMap(({ operator, operand }) =>
      operator === '_gte' ? [monthAfter(operand, 0)] : operator === '_gt' ? [monthAfter(operand, 1)] : [],
    ),
  );
  const end = earliestOf([
    ...days.flatMap(({ operator, operand }) =>
      operator === '_lte' ? [monthOf(operand, 1)] : operator === '_lt' ? [monthOf(operand, 0)] : [],
    ),
    ...groupBy.filter((group) => isAge(group, extremeColumns)).map(lastAge),
  ]);
  const whole = sql`${first === undefined ? sql`true` : sql`${day} >= ${first}`} and ${end === undefined ? sql`true` : sql`${day} < ${end}`}`;
  const parts = [part(sql`${tableOf(sums)} months`, sql.ref('entries'), whole, extremeOf)];
  if (requires !== undefined && requires !== owner)
    parts.push(part(rows, one, sql`${sql.ref(columnOf(requires))} is null and ${whole}`));
  if (first !== undefined) parts.push(part(rows, one, sql`${day} < ${first}`));
  if (end !== undefined)
    parts.push(part(rows, one, sql`${day} >= ${first === undefined ? end : latest([first, end])}`));
  return sql`(${sql.join(parts, sql` union all `)})`;
}

/** SQL of the first day of the month in which the last age begins. No day is a million days away. */
function lastAge({ boundaries = [], daysBefore }: GroupBy): RawBuilder<unknown> {
  const days = firstDayFrom(String(boundaries.at(-1)));
  return monthOf(daysBefore, 1 - Math.max(-1_000_000, Math.min(1_000_000, days)));
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

function earliestOf(days: readonly RawBuilder<unknown>[]): RawBuilder<unknown> | undefined {
  return days.length === 0 ? undefined : sql`least(${sql.join(days)})`;
}
