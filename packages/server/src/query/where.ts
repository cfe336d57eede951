import { type RawBuilder, sql } from 'kysely';
import { contract } from '../contract/contract.ts';
import { columnOf } from '../contract/fields.ts';
import type { Entity, Relation } from '../entity/entity.ts';
import { escapePointer } from '../http/body.ts';
import { invalid, Problem } from '../http/problem.ts';

type Condition = RawBuilder<boolean>;

/** The form that the contract gives a where clause; its columns and operators are checked before it comes here. */
export type Where = { readonly [key: string]: unknown };

const limits = contract['x-search-limits'];
/** A clause of the most predicates at the greatest depth has no more parts than this, unless some of them are empty. */
const mostParts = limits.depth * limits.predicates;
const always = sql<boolean>`true`;
const never = sql<boolean>`false`;

/**
 * The SQL condition of a where clause on the row that goes by `row`.
 *
 * @throws Problem `SEARCH_TOO_COMPLEX` where it is deeper or has more predicates than the contract allows;
 *   `VALIDATION_ERROR` where a pattern cannot be read.
 */
export function conditionOf(entity: Entity, row: string, tenantId: number, where: Where): Condition {
  const compiler = new WhereCompiler(tenantId);
  return compiler.all(entity, row, where, '/where', 1);
}

class WhereCompiler {
  readonly #tenantId: number;
  #predicates = 0;
  #parts = 0;
  #aliases = 0;

  constructor(tenantId: number) {
    this.#tenantId = tenantId;
  }

  all(entity: Entity, row: string, where: Where, pointer: string, depth: number): Condition {
    if (depth > limits.depth) throw tooComplex(`nested more than ${limits.depth} levels deep`, pointer);
    this.#parts += 1;
    if (this.#parts > mostParts) throw tooComplex(`made of more than ${mostParts} parts`, pointer);
    const conditions = Object.entries(where).map(([key, value]) =>
      this.#one(entity, row, key, value, `${pointer}/${escapePointer(key)}`, depth),
    );
    return conditions.length === 0 ? always : sql<boolean>`(${sql.join(conditions, sql` and `)})`;
  }

  #one(entity: Entity, row: string, key: string, value: unknown, pointer: string, depth: number): Condition {
    if (key === '_and' || key === '_or') {
      const parts = (value as Where[]).map((part, index) =>
        this.all(entity, row, part, `${pointer}/${index}`, depth + 1),
      );
      if (parts.length === 0) return key === '_and' ? always : never;
      return sql<boolean>`(${sql.join(parts, key === '_and' ? sql` and ` : sql` or `)})`;
    }
    if (key === '_not') {
      // "Is not true" rather than "not": a row without a value does not meet the inner condition, so it meets this one.
      return sql<boolean>`(${this.all(entity, row, value as Where, pointer, depth + 1)} is not true)`;
    }
    const relation = entity.relations[key];
    if (relation !== undefined) return this.#related(relation, row, value as Where, pointer, depth);
    return this.#column(entity.value(row, key), value as Where, pointer);
  }

  #related(relation: Relation, row: string, where: Where, pointer: string, depth: number): Condition {
    // Without conditions it asks whether there is any such row, which is a predicate too.
    if (Object.keys(where).length === 0) this.#count(pointer);
    const other = relation.to();
    const alias = `r${++this.#aliases}`;
    const link = relation.many
      ? sql`${sql.ref(`${alias}.${columnOf(relation.by)}`)} = ${sql.ref(`${row}.id`)}`
      : sql`${sql.ref(`${alias}.id`)} = ${sql.ref(`${row}.${columnOf(relation.by)}`)}`;
    const condition = this.all(other, alias, where, pointer, depth + 1);
    return sql<boolean>`exists (select 1 from ${sql.table(other.table)} ${sql.id(alias)}
      where ${other.within(alias, this.#tenantId)} and ${link} and ${condition})`;
  }

  #count(pointer: string): void {
    this.#predicates += 1;
    if (this.#predicates > limits.predicates)
      throw tooComplex(`made of more than ${limits.predicates} conditions`, pointer);
  }

  #column(column: RawBuilder<unknown>, operators: Where, pointer: string): Condition {
    const conditions = Object.entries(operators).map(([operator, operand]) => {
      this.#count(pointer);
      return comparison(column, operator, operand, `${pointer}/${operator}`);
    });
    return sql<boolean>`(${sql.join(conditions, sql` and `)})`;
  }
}

/**
 * Text is compared by code point (the columns' collation), but folding case needs to know letters: there the collation
 * `fa_case` of the first migration is asked for. The trigram indexes are on this very expression.
 */
function folded(text: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`lower(${text} collate fa_case) collate "C"`;
}

function comparison(column: RawBuilder<unknown>, operator: string, operand: unknown, pointer: string): Condition {
  switch (operator) {
    case '_eq':
      return sql`${column} = ${operand}`;
    case '_neq':
      return sql`${column} <> ${operand}`;
    case '_gt':
      return sql`${column} > ${operand}`;
    case '_gte':
      return sql`${column} >= ${operand}`;
    case '_lt':
      return sql`${column} < ${operand}`;
    case '_lte':
      return sql`${column} <= ${operand}`;
    case '_in':
      return sql`${column} = any(${operand})`;
    case '_nin':
      // Of an empty list SQL says that nothing is in it, not even what is not there.
      return sql`(${column} is not null and ${column} <> all(${operand}))`;
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
    case '_contains':
      return sql`${column} @> array[${operand}]`;
    default:
      throw new Error(`The contract allows the operator ${operator}, and there is no SQL for it.`);
  }
}

/** A pattern that ends in a single backslash escapes nothing, and the database refuses it. */
function pattern(operand: unknown, pointer: string): string {
  const text = String(operand);
  const backslashes = /\\*$/.exec(text)?.[0].length ?? 0;
  if (backslashes % 2 === 1) {
    throw invalid(
      pointer,
      'PATTERN',
      'The pattern ends in a backslash that takes the meaning from nothing. Write two.',
    );
  }
  return text;
}

function tooComplex(how: string, pointer: string): Problem {
  return new Problem('SEARCH_TOO_COMPLEX', `The where clause is ${how}.`, {
    errors: [{ in: 'body', pointer, code: 'SEARCH_TOO_COMPLEX', detail: `It is ${how}.` }],
  });
}
