import { type RawBuilder, sql } from 'kysely';
import type { AnyEntity } from '../entity/entity.ts';

/** Rows whose values can be ordered: those of an entity, or groups of them. */
type Ordered = Pick<AnyEntity, 'value'>;

/** One key of an order. */
export interface OrderKey {
  readonly field: string;
  readonly descending: boolean;
  readonly nullsFirst: boolean;
  readonly nullable: boolean;
}

/** The keys of a total order: `id` ascending is always the last one. A repeated column has no effect and is omitted. */
export function orderKeys(entity: AnyEntity, orderBy: readonly Readonly<Record<string, string>>[]): OrderKey[] {
  const keys = new Map<string, OrderKey>();
  const idField = entity.sortedBy('id') ?? 'id';
  for (const [name, direction] of orderBy.flatMap((one) => Object.entries(one))) {
    const field = entity.sortedBy(name);
    // If the order of IDs is that of another field, its equals follow by their IDs in the same direction.
    const fields = field === undefined ? [] : field === idField ? [idField, 'id'] : [field];
    for (const one of fields) if (!keys.has(one)) keys.set(one, keyOf(entity, one, direction));
  }
  for (const field of [idField, 'id']) if (!keys.has(field)) keys.set(field, keyOf(entity, field, 'asc'));
  return [...keys.values()];
}

function keyOf(entity: AnyEntity, field: string, direction: string): OrderKey {
  return orderKey(field, direction, entity.fields.get(field)?.nullable ?? true);
}

/** A key of an order in one of the directions of the contract. */
export function orderKey(field: string, direction: string, nullable: boolean): OrderKey {
  const descending = direction.startsWith('desc');
  return { field, descending, nullsFirst: direction.endsWith('_nulls_first'), nullable };
}

/** `order by` of the keys. */
export function orderClause(entity: Ordered, row: string, keys: readonly OrderKey[]): RawBuilder<unknown> {
  return sql.join(
    keys.map(({ field, descending, nullsFirst, nullable }) => {
      const direction = descending ? sql`desc` : sql`asc`;
      // Without nulls, specifying their position would only prevent the use of an index.
      const nulls = !nullable ? sql`` : nullsFirst ? sql` nulls first` : sql` nulls last`;
      return sql`${entity.value(row, field)} ${direction}${nulls}`;
    }),
  );
}

/**
 * Conditions that a row comes after the row with these values in the order of the keys. If the first key can be null, rows with null
 * have their own condition, because an index scan that starts at a value does not include nulls. Rows that match the first condition
 * come before those that match the second.
 */
export function afterClauses(
  entity: Ordered,
  row: string,
  keys: readonly OrderKey[],
  values: readonly unknown[],
): RawBuilder<boolean>[] {
  const [first, ...others] = keys;
  if (first?.nullable !== true) return [afterClause(entity, row, keys, values)];
  const column = entity.value(row, first.field);
  const [value, ...otherValues] = values;
  if (value === null) {
    const nulls = sql<boolean>`(${column} is null and ${afterClause(entity, row, others, otherValues)})`;
    return first.nullsFirst ? [nulls, sql<boolean>`${column} is not null`] : [nulls];
  }
  const withValue = afterClause(entity, row, [{ ...first, nullable: false }, ...others], values);
  return first.nullsFirst ? [withValue] : [withValue, sql<boolean>`${column} is null`];
}

function afterClause(
  entity: Ordered,
  row: string,
  keys: readonly OrderKey[],
  values: readonly unknown[],
): RawBuilder<boolean> {
  const plain = keys.every((key) => !key.nullable && !key.descending);
  if (plain) {
    const columns = sql.join(keys.map((key) => entity.value(row, key.field)));
    return sql<boolean>`(${columns}) > (${sql.join([...values])})`;
  }
  const cases = keys.map((key, index) => {
    const equal = keys.slice(0, index).map((other, position) => same(entity.value(row, other.field), values[position]));
    return sql`(${sql.join([...equal, after(entity.value(row, key.field), key, values[index])], sql` and `)})`;
  });
  const first = keys[0];
  // Implied by the other conditions, but lets PostgreSQL start from an index on the first key.
  const start = first === undefined ? sql`true` : notBefore(entity.value(row, first.field), first, values[0]);
  return sql<boolean>`(${start} and (${sql.join(cases, sql` or `)}))`;
}

function same(column: RawBuilder<unknown>, value: unknown): RawBuilder<unknown> {
  return value === null ? sql`${column} is null` : sql`${column} = ${value}`;
}

function after(column: RawBuilder<unknown>, key: OrderKey, value: unknown): RawBuilder<unknown> {
  if (value === null) return key.nullsFirst ? sql`${column} is not null` : sql`false`;
  const beyond = key.descending ? sql`${column} < ${value}` : sql`${column} > ${value}`;
  return key.nullable && !key.nullsFirst ? sql`(${beyond} or ${column} is null)` : beyond;
}

/** Condition that a value in a key does not come before another one. It is implied by those of `afterClauses`. */
export function notBefore(column: RawBuilder<unknown>, key: OrderKey, value: unknown): RawBuilder<unknown> {
  if (value === null) return key.nullsFirst ? sql`true` : sql`${column} is null`;
  const from = key.descending ? sql`${column} <= ${value}` : sql`${column} >= ${value}`;
  return key.nullable && !key.nullsFirst ? sql`(${from} or ${column} is null)` : from;
}
