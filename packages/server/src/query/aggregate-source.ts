/** What the groups of an aggregate are read from. */

import type { components } from '@financial-automation/spec';
import { type RawBuilder, sql } from 'kysely';
import type { AnyEntity } from '../entity/entity.ts';
import { conditionsToSee } from '../entity/field-access.ts';
import { parseDecimal, zero } from '../platform/decimal.ts';
import type { AggregateRequest } from './aggregate-request.ts';
import type { Where } from './clause.ts';
import { balanceRows, type CountedRows, countedRows, idsOfRows } from './counted-rows.ts';
import { type Figure, figureOf, keyOf } from './figures.ts';
import { notBefore, type OrderKey, orderClause } from './order.ts';
import type { PageScope } from './page.ts';
import { columnNamed, joinsTo } from './related-columns.ts';
import { conditionOf } from './where.ts';

/** The columns of the statement: keys of groups, in the order of `groupBy`, and figures. */
export interface GroupColumns {
  readonly keys: ReadonlyMap<string, Output>;
  readonly figures: ReadonlyMap<string, Output>;
}

export interface Output {
  /** The name of the column in the statement. */
  readonly alias: string;
  readonly figure: Figure<components['schemas']['AggregateRow']['key'][string]>;
}

export function groupColumnsOf(
  entity: AnyEntity,
  { groupBy = [], measures }: AggregateRequest,
  count: RawBuilder<unknown>,
): GroupColumns {
  return {
    keys: new Map(groupBy.map((one, index) => [one.column, { alias: `k${index}`, figure: keyOf(entity, 'e', one) }])),
    figures: new Map(
      Object.entries(measures).map(([name, one], index) => [
        name,
        { alias: `m${index}`, figure: figureOf(entity, 'e', one, count) },
      ]),
    ),
  };
}

/** What groups are read from. */
export interface GroupSource extends CountedRows {
  readonly request: AggregateRequest;
  /** The measures that follow from the rows; all, if undefined. */
  readonly measures?: ReadonlySet<string>;
  /** The rows that groups belong to. For each, its groups are read by an index. */
  readonly owners?: Owners;
}

/** Rows of another entity, such as clients. */
interface Owners {
  /** The field with their ID. */
  readonly by: string;
  /** SQL of them, with SQL of the groups of other sources: `id`, and keys of the order that are the same in all groups of one. */
  readonly list: (groupsOf: (source: GroupSource) => RawBuilder<unknown>) => RawBuilder<unknown>;
  /** The aliases of these keys. */
  readonly keys: ReadonlySet<string>;
  /** The keys of the order of all groups that belong to one; those of the request, if undefined. */
  readonly order?: readonly OrderKey[];
  /** SQL of the rows that belong to one. */
  readonly rows: RawBuilder<unknown>;
  /** Whether each group belongs to one. The others are few. */
  readonly haveAll: boolean;
}

/**
 * Returns what has all groups of a request but those that add up to zero, if they follow from balances. It has all groups if the request
 * leaves those out; if it sorts by an amount, the highest first, it has those above zero: those of the page, if there are more of them. What
 * balances do not say, such as the number of rows, is read from the rows of the groups of the page.
 */
export function quickSource(
  entity: AnyEntity,
  tenantId: number,
  full: GroupSource,
): { readonly source: GroupSource; readonly hasAll: boolean } | undefined {
  const { request } = full;
  const { groupBy = [], measures, having = {}, orderBy = [] } = request;
  if (full.areFew === true || groupBy.length === 0) return undefined;
  const balances = balanceRows(entity, 'e', tenantId, request);
  const deciding = [...Object.keys(having), ...orderBy.flatMap(({ measure = [] }) => measure)];
  if (balances === undefined || !deciding.every((measure) => balances.measures.has(measure))) return undefined;
  const { measure, direction } = orderBy[0] ?? {};
  const hasAll = Object.values(having).some(excludesZero);
  if (!hasAll && (measure === undefined || direction !== 'desc')) return undefined;
  const aboveZero =
    hasAll || measure === undefined
      ? request
      : { ...request, having: { ...having, [measure]: { ...having[measure], _gt: '0' } } };
  const counted = { rows: balances.rows, count: sql`count(*)`, areSums: false };
  const source = { request: aboveZero, ...counted, measures: balances.measures };
  if (balances.measures.size === Object.keys(measures).length) return { source, hasAll };
  const [by, key] = [groupBy[balances.id ?? -1]?.column, sql.id(`k${balances.id}`)];
  if (by === undefined) return undefined;
  // If a group without an owner is not one of the page, it is left out again.
  const owners: Owners = {
    by,
    list: (groupsOf) => sql`select distinct ${key} as id from (${groupsOf(source)}) page`,
    keys: new Set(),
    rows: countedRows(entity, 'e', tenantId, request, by).rows,
    haveAll: !balances.hasRowsWithoutId,
  };
  return { source: { ...full, request: aboveZero, owners }, hasAll };
}

/**
 * Returns the source of the groups of a request as of a day in the order of rows that they belong to, such as clients. Only the groups of the page
 * are added up: the database stops at the owner whose groups fill it.
 *
 * @param after the values of the last group before the page.
 */
export function ownedSource(
  { tenantId, holds }: Pick<PageScope, 'tenantId' | 'holds'>,
  entity: AnyEntity,
  full: GroupSource,
  columns: GroupColumns,
  keys: readonly OrderKey[],
  after: readonly unknown[] | undefined,
): GroupSource | undefined {
  const { where = {}, groupBy = [], having = {} } = full.request;
  const [column = ''] = [...columns.keys].find(([, { alias }]) => alias === keys[0]?.field) ?? [];
  const owner = ownerOf(entity, column);
  // Conditions on figures can leave few groups, which are far apart.
  if (owner === undefined || Object.keys(having).length > 0) return undefined;
  const { name, by, target } = owner;
  const { [by]: id, [name]: ofOwner, ...others } = where;
  const { ids = [], hasRowsWithoutId = false } = idsOfRows(entity, others) ?? {};
  if (!ids.includes(by) || !groupBy.some(({ column }) => column === by)) return undefined;
  if (conditionsToSee(holds, target, name).length > 0) return undefined;
  const values = new Map<string, { readonly value: RawBuilder<unknown>; readonly nullable: boolean }>();
  for (const [column, { alias, figure }] of columns.keys) {
    if (ownerOf(entity, column)?.name !== name) continue;
    if (column === by) values.set(alias, { value: target.value(name, 'id'), nullable: false });
    else values.set(alias, { value: figure.sql, nullable: columnNamed(entity, 'e', column).field.nullable });
  }
  const owners = { value: (_row: string, alias: string) => values.get(alias)?.value ?? sql`null` };
  // An owner has its ID, and a value in each column that requires one: an index has no order of nulls.
  const order = keys.map((key) => ({ ...key, nullable: values.get(key.field)?.nullable ?? key.nullable }));
  const end = order.findIndex(({ field }) => !values.has(field));
  const leading = end === -1 ? order : order.slice(0, end);
  const [start] = leading;
  const list = () => {
    const shown = leading.map(({ field }) => sql`${owners.value(name, field)} as ${sql.id(field)}`);
    const conditions = [
      target.within(name, tenantId),
      conditionOf(target, name, tenantId, { ...(id !== undefined && { id }), ...(ofOwner as Where | undefined) }),
      ...(after === undefined || start === undefined
        ? []
        : [notBefore(owners.value(name, start.field), start, after[0])]),
    ];
    return sql`
      select ${target.value(name, 'id')} as id, ${sql.join(shown)} from ${sql.table(target.table)} ${sql.id(name)}
      where ${sql.join(conditions, sql` and `)} order by ${orderClause(owners, name, leading)}`;
  };
  return {
    ...full,
    owners: {
      by,
      list,
      rows: countedRows(entity, 'e', tenantId, full.request, by).rows,
      keys: new Set(leading.map(({ field }) => field)),
      order,
      haveAll: !hasRowsWithoutId,
    },
  };
}

/** The relation of whose row a column has the ID, or a value. */
function ownerOf(entity: AnyEntity, column: string) {
  for (const [name, { by, many, onward }] of Object.entries(entity.relations)) {
    if (many || onward !== undefined || (column !== by && !column.startsWith(`${name}.`))) continue;
    const [join] = joinsTo(entity, 'e', name);
    return join === undefined ? undefined : { name, by, target: join.target };
  }
  return undefined;
}

/** Whether a condition on a number is not met by zero. */
function excludesZero(filter: Where): boolean {
  return Object.entries(filter).some(([operator, operand]) => {
    const number = typeof operand === 'string' ? parseDecimal(operand) : undefined;
    if (number === undefined) return false;
    return (
      (operator === '_neq' && number.eq(zero)) ||
      (operator === '_eq' && !number.eq(zero)) ||
      (operator === '_gt' && number.gte(zero)) ||
      (operator === '_gte' && number.gt(zero)) ||
      (operator === '_lt' && number.lte(zero)) ||
      (operator === '_lte' && number.lt(zero))
    );
  });
}
