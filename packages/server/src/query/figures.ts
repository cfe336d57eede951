import type { components } from '@financial-automation/spec';
import { type RawBuilder, sql } from 'kysely';
import type { Field } from '../contract/fields.ts';
import type { AnyEntity } from '../entity/entity.ts';
import { ceilingOf, parseDecimal } from '../platform/decimal.ts';
import type { GroupBy, Measure } from './aggregate-request.ts';
import { columnNamed, fieldOf } from './related-columns.ts';

type Row = components['schemas']['AggregateRow'];

/** A value of a group: its key in a column, or a figure. */
export interface Figure<Value> {
  /** SQL over the rows with the alias. It can be ordered by, and compared with its own results. */
  readonly sql: RawBuilder<unknown>;
  readonly nullable: boolean;
  /** Converts a result of the database. */
  read(result: unknown): Value;
}

/** The key of groups in a column. */
export function keyOf(entity: AnyEntity, row: string, groupBy: GroupBy): Figure<Row['key'][string]> {
  const { column, by, boundaries, daysBefore } = groupBy;
  const { field, value, isRelated } = columnNamed(entity, row, column);
  const nullable = field.nullable || isRelated;
  if (boundaries !== undefined) {
    const texts = boundaries.map(String);
    return {
      // The number of boundaries that do not exceed the value. Days are whole, and integers compared much sooner.
      sql:
        daysBefore === undefined
          ? sql`width_bucket(${value}::numeric, ${texts}::numeric[])`
          : sql`width_bucket(${daysBefore}::date - ${value}, ${texts.map(firstDayFrom)}::integer[])`,
      nullable,
      read: (index) => (index === null ? null : (texts[Number(index) - 1] ?? 'below')),
    };
  }
  if (by !== undefined) {
    const day = field.kind === 'instant' ? sql`tenant_day(${value})` : value;
    // Without the cast, a day is truncated in the time zone of the connection.
    const first = by === 'DAY' ? day : sql`date_trunc(${sql.lit(by.toLowerCase())}, ${day}::timestamp)::date`;
    return { sql: first, nullable, read: textOrNull };
  }
  return {
    // Calculated texts have no collation of their own; the order of all texts is that of their code points.
    sql: field.kind === 'text' ? sql`(${value}) collate "C"` : value,
    nullable,
    read: (result) => (field.kind === 'decimal' ? decimalText(result, field.places) : (result as Row['key'][string])),
  };
}

/** The first number of days that is not less than a boundary, as an integer of the database; none has so many days. */
export function firstDayFrom(boundary: string): number {
  return Math.max(-maxInteger, Math.min(maxInteger, Number(ceilingOf(parseDecimal(boundary)).toFixed(0))));
}

const maxInteger = 2 ** 31 - 1;

/**
 * A figure over the rows of a group.
 *
 * @param count SQL of how many there are.
 */
export function figureOf(
  entity: AnyEntity,
  row: string,
  measure: Measure,
  count: RawBuilder<unknown>,
): Figure<string | null> {
  const { column } = measure;
  if (column === undefined) return { sql: count, nullable: false, read: textOrNull };
  const field = fieldOf(entity, column);
  const value = entity.value(row, column);
  const isNumber = field.kind === 'decimal' || field.kind === 'integer';
  const read = isNumber ? (result: unknown) => decimalText(result, placesOf(field)) : textOrNull;
  switch (measure.function) {
    case 'SUM':
      // Sums of rows that have moved add up to no rows.
      return { sql: sql`case when ${count} > 0 then sum(${value}) end`, nullable: true, read };
    case 'MIN':
      return { sql: sql`min(${value})`, nullable: true, read };
    case 'MAX':
      return { sql: sql`max(${value})`, nullable: true, read };
    case 'AVERAGE': {
      const places = (field.schema['x-scale'] ?? 0) + 2;
      return { sql: average(value, places), nullable: true, read: (result) => decimalText(result, places) };
    }
    case 'COUNT':
      throw new Error('COUNT has no column.');
  }
}

/** The mean, rounded half away from zero. `avg` rounds before that, to a number of places of its own. */
function average(value: RawBuilder<unknown>, places: number): RawBuilder<unknown> {
  const [shifted, unit] = [sql.lit(`1${'0'.repeat(places)}`), sql.lit(`1e-${places}`)];
  const [sum, count] = [sql`sum(${value})::numeric`, sql`count(${value})`];
  return sql`sign(${sum}) * div(2 * abs(${sum}) * ${shifted}::numeric + ${count}, 2 * ${count}) * ${unit}::numeric`;
}

function placesOf(field: Field): number | undefined {
  return field.kind === 'integer' ? 0 : field.places;
}

/** A decimal number with as many places as all values of the field have, or as it requires. */
function decimalText(result: unknown, places: number | undefined): string | null {
  return result === null ? null : parseDecimal(String(result)).toFixed(places);
}

function textOrNull(result: unknown): string | null {
  return result === null ? null : String(result);
}
