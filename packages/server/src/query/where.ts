import { type RawBuilder, sql } from 'kysely';
import { invalid } from '../contract/problem.ts';
import type { Searchable } from '../entity/entity.ts';
import { clauseOf, type Where } from './clause.ts';
import { semiJoins } from './semi-join.ts';

type Condition = RawBuilder<boolean>;

/**
 * Returns the SQL condition of a where clause on the row with the alias `row`.
 *
 * @throws Rejection `VALIDATION_ERROR` if a pattern is invalid.
 */
export function conditionOf(entity: Searchable, row: string, tenantId: number, where: Where): Condition {
  return semiJoins(entity, row, tenantId, clauseOf(entity, where), (of, alias, comparison) => {
    const { field, operator, operand, negated, pointer } = comparison;
    const found = compare(of.value(alias, field), operator, operand, pointer);
    const near = of.near?.[field];
    // For many values, the statement would take longer to plan than the rows to read.
    const [value, ...others] = operator === '_eq' || operator === '_in' ? [operand].flat() : [];
    const isNear = near !== undefined && value !== undefined && others.length === 0;
    const condition = isNear ? sql<boolean>`(${found} and ${near(alias, tenantId, String(value))})` : found;
    // "Is not true" instead of "not": a row without a value does not meet the condition, so it meets its negation.
    return negated ? sql`(${condition} is not true)` : condition;
  });
}

/**
 * Text is compared by code point (the columns' collation), but case folding requires a collation with letters: `fa_case`
 * of the first migration. The trigram indexes are on exactly this expression.
 */
export function folded(text: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`lower(${text} collate fa_case) collate "C"`;
}

/** Compares a column with the operand of an operator of the contract. */
export function compare(column: RawBuilder<unknown>, operator: string, operand: unknown, pointer: string): Condition {
  switch (operator) {
    case '_eq':
      return equal(column, operand);
    case '_neq':
      return Array.isArray(operand) ? sql`not ${equal(column, operand)}` : sql`${column} <> ${operand}`;
    case '_gt':
      return sql`${column} > ${operand}`;
    case '_gte':
      return sql`${column} >= ${operand}`;
    case '_lt':
      return sql`${column} < ${operand}`;
    case '_lte':
      return sql`${column} <= ${operand}`;
    case '_in':
      return isAnyOf(column, operand);
    case '_nin':
      // `not` of an empty list would also match rows without a value.
      return sql`(${column} is not null and not ${isAnyOf(column, operand)})`;
    case '_is_null':
      return operand === true ? sql`${column} is null` : sql`${column} is not null`;
    case '_like':
      return sql`${column} like ${pattern(operand, pointer)}`;
    case '_nlike':
      return sql`${column} not like ${pattern(operand, pointer)}`;
    case '_ilike':
      return sql`${folded(column)} like ${folded(sql`${pattern(operand, pointer)}::text`)}`;
    case '_nilike':
      return sql`${folded(column)} not like ${folded(sql`${pattern(operand, pointer)}::text`)}`;
    case '_search':
      return contains(column, `%${String(operand).replaceAll(/[\\%_]/g, '\\$&')}%`);
    case '_contains':
      // Rows without metadata are not in the index.
      if (typeof operand === 'object')
        return sql`(${column} @> ${JSON.stringify(operand)}::jsonb and ${column} <> '{}')`;
      // As a list, so that it gets the type of the column.
      return sql`${column} @> ${[operand]}`;
    default:
      throw new Error(`The operator ${operator} is in the contract but has no SQL implementation.`);
  }
}

/** Marks that are typed in one form and printed in others. */
const marks = /(['‘’ʻʼ′])|[-‐‑–—−]/g;

/** Whether a text contains a part, without case, accents and the form of marks. The index has these in their own form, so it finds them by `_`. */
function contains(column: RawBuilder<unknown>, part: string): Condition {
  const found = sql<boolean>`search_text(${column}) like search_text(${part.replaceAll(marks, '_')}::text)`;
  if (part.search(marks) === -1) return found;
  const plain = part.replaceAll(marks, (_, apostrophe) => (apostrophe === undefined ? '-' : "'"));
  return sql`(${found} and translate(search_text(${column}), ${'‘’ʻʼ′‐–—−'}, ${"'''''----"}) like search_text(${plain}::text))`;
}

/** Lists are equal if each contains the other: the order of their elements does not matter. */
function equal(column: RawBuilder<unknown>, operand: unknown): Condition {
  return Array.isArray(operand)
    ? sql`(${column} @> ${operand} and ${column} <@ ${operand})`
    : sql`${column} = ${operand}`;
}

function isAnyOf(column: RawBuilder<unknown>, operands: unknown): Condition {
  if (!Array.isArray(operands) || operands.length === 0) return sql`false`;
  if (!Array.isArray(operands[0])) return sql`(${column} = any(${operands}))`;
  return sql`(${sql.join(
    operands.map((operand) => equal(column, operand)),
    sql` or `,
  )})`;
}

/** Checks that a pattern does not end in a single backslash, which the database rejects. */
function pattern(operand: unknown, pointer: string): string {
  const text = String(operand);
  let end = text.length;
  while (text[end - 1] === '\\') end -= 1;
  if ((text.length - end) % 2 === 1) {
    throw invalid(
      pointer,
      'PATTERN',
      'The pattern ends with a backslash that escapes nothing. Use two backslashes for a literal one.',
    );
  }
  return text;
}
