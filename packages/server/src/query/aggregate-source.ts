/** What the groups of an aggregate are read from. */

import type { components } from '@financial-automation/spec';
import { type RawBuilder, sql } from 'kysely';
import { columnOf } from '../contract/fields.ts';
import type { AnyEntity } from '../entity/entity.ts';
import { conditionsToSee } from '../entity/field-access.ts';
import { parseDecimal, zero } from '../platform/decimal.ts';
import type { AggregateRequest } from './aggregate-request.ts';
import type { Where } from './clause.ts';
import { balanceRows, type CountedRows, countedRows, idsOfRows, positionOfId } from './counted-rows.ts';
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
  /** A field of which each of them is listed with all values, if they are in the order of these first, and the alias of its key. */
  readonly few: readonly { readonly field: string; readonly alias: string }[];
  /** The aliases of these keys. */
  readonly keys: ReadonlySet<string>;
  /** The keys of the order of all groups that belong to one; those of the request, if undefined. */
  readonly order?: readonly OrderKey[];
  /** SQL of the rows that belong to one. */
  readonly rows: RawBuilder<unknown>;
  /** Whether each group belongs to one. The others are few. */
  readonly haveAll: boolean;
}

/** What the groups of a page are read from, and all that they can be read from if these are too few. */
interface QuickSources {
  readonly first: readonly GroupSource[];
  /** Undefined if the first have all groups. */
  readonly all?: readonly GroupSource[];
}

/**
 * Returns what has the groups of a request that add up to an amount, if they follow from balances, which do not have those of zero. If the
 * request sorts by the amount, it has groups below, of and above zero, in the direction of the order: those of zero are of the owners of
 * groups, such as clients. What balances do not say, such as the number of rows, is read from the rows of the groups of the page.
 *
 * @param after the values of the last group before the page.
 */
export function quickSources(
  scope: Pick<PageScope, 'tenantId' | 'holds'>,
  entity: AnyEntity,
  full: GroupSource,
  columns: GroupColumns,
  keys: readonly OrderKey[],
  after: readonly unknown[] | undefined,
): QuickSources | undefined {
  const { request } = full;
  const { groupBy = [], measures, having = {}, orderBy = [] } = request;
  if (full.areFew === true || groupBy.length === 0) return undefined;
  const balances = balanceRows(entity, 'e', scope.tenantId, request);
  if (balances === undefined || !decidingMeasures(request).every((measure) => balances.measures.has(measure)))
    return undefined;
  const open = (request: AggregateRequest): GroupSource | undefined => {
    const counted = { rows: balances.rows, count: sql`count(*)`, areSums: false };
    const source = { request, ...counted, measures: balances.measures };
    if (balances.measures.size === Object.keys(measures).length) return source;
    return balances.id === undefined
      ? undefined
      : ofPage(scope, entity, { ...full, request }, source, balances.id, !balances.hasRowsWithoutId);
  };
  if (Object.values(having).some(excludesZero)) {
    const source = open(request);
    return source && { first: [source] };
  }
  const { measure, direction = 'asc' } = orderBy[0] ?? {};
  if (measure === undefined) return undefined;
  const thatAre = (condition: Where): AggregateRequest => ({
    ...request,
    having: { ...having, [measure]: { ...having[measure], ...condition } },
  });
  const isDescending = direction.startsWith('desc');
  const last = after === undefined ? undefined : parseDecimal(String(after[0]));
  const side = last === undefined ? -1 : last.cmp(zero) * (isDescending ? -1 : 1);
  const [before, beyond] = [open(thatAre({ _lt: '0' })), open(thatAre({ _gt: '0' }))];
  if (before === undefined || beyond === undefined) return undefined;
  const [start, end] = isDescending ? [beyond, before] : [before, beyond];
  if (side > 0) return { first: [end] };
  const ofZero = byOwners(
    scope,
    entity,
    { ...full, request: thatAre({ _eq: '0' }) },
    columns,
    keys.slice(1),
    side === 0 ? after?.slice(1) : undefined,
  );
  if (ofZero === undefined) return isDescending && side < 0 ? { first: [start], all: [full] } : undefined;
  return side === 0 ? { first: [ofZero], all: [ofZero, end] } : { first: [start], all: [start, ofZero, end] };
}

/**
 * Returns the source of the groups of a request as of a day, of which all are added up only as far as conditions and the order require. What
 * else they have is read for those of the page.
 */
export function decidedSource(
  scope: Pick<PageScope, 'tenantId'>,
  entity: AnyEntity,
  full: GroupSource,
): GroupSource | undefined {
  const { request } = full;
  const { where = {}, groupBy = [] } = request;
  const found = full.areFew === true ? undefined : idsOfRows(entity, scope.tenantId, where);
  const id = positionOfId(found?.ids, groupBy);
  if (found === undefined || id === undefined) return undefined;
  const deciding = new Set(decidingMeasures(request));
  const all = Object.entries(request.measures);
  // Rows are counted in any case.
  const known = all.filter(([name, { function: of }]) => of === 'COUNT' || deciding.has(name));
  if (known.length === all.length) return undefined;
  const measures = Object.fromEntries(known);
  const counted = countedRows(entity, 'e', scope.tenantId, { ...request, measures });
  const source = { request, ...counted, measures: new Set(Object.keys(measures)) };
  return ofPage(scope, entity, full, source, id, found.hasRowsWithoutId !== true);
}

/** The measures by which groups are left out and sorted. */
function decidingMeasures({ having = {}, orderBy = [] }: AggregateRequest): readonly string[] {
  return [...Object.keys(having), ...orderBy.flatMap(({ measure = [] }) => measure)];
}

/**
 * Returns the source of the groups of a page, which are those of another source, with all measures.
 *
 * @param id the place in `groupBy` of the ID by which the rows of the groups are read
 * @param haveAll whether all rows have that ID
 */
function ofPage(
  { tenantId }: Pick<PageScope, 'tenantId'>,
  entity: AnyEntity,
  full: GroupSource,
  source: GroupSource,
  id: number,
  haveAll: boolean,
): GroupSource {
  const by = full.request.groupBy?.[id]?.column ?? '';
  // If a group without an owner is not one of the page, it is left out again.
  const owners: Owners = {
    by,
    list: (groupsOf) => sql`select distinct ${sql.id(`k${id}`)} as id from (${groupsOf(source)}) page`,
    few: [],
    keys: new Set(),
    rows: countedRows(entity, 'e', tenantId, full.request, by).rows,
    haveAll,
  };
  return { ...full, owners };
}

/**
 * Returns the source of the groups of a request as of a day in the order of rows that they belong to, such as clients. Only the groups of the page
 * are added up: the database stops at the owner whose groups fill it.
 *
 * @param after the values of the last group before the page.
 */
export function ownedSource(...input: Parameters<typeof byOwners>): GroupSource | undefined {
  const [, , { request }] = input;
  // Conditions on figures can leave few groups, which are far apart.
  return Object.keys(request.having ?? {}).length > 0 ? undefined : byOwners(...input);
}

function byOwners(
  { tenantId, holds }: Pick<PageScope, 'tenantId' | 'holds'>,
  entity: AnyEntity,
  full: GroupSource,
  columns: GroupColumns,
  keys: readonly OrderKey[],
  after: readonly unknown[] | undefined,
): GroupSource | undefined {
  const { where = {}, groupBy = [] } = full.request;
  const columnOfKey = (key: OrderKey | undefined) =>
    [...columns.keys].find(([, { alias }]) => alias === key?.field)?.[0] ?? '';
  const [firstKey] = keys;
  const isOfFew = firstKey !== undefined && columnOfKey(firstKey) === entity.balances?.few.field;
  const owner = ownerOf(entity, columnOfKey(keys[isOfFew ? 1 : 0]));
  if (owner === undefined) return undefined;
  const { name, by, target } = owner;
  const { [by]: id, [name]: ofOwner, ...others } = where;
  const found = idsOfRows(entity, tenantId, others);
  if (found === undefined) return undefined;
  const { ids, hasRowsWithoutId = false } = found;
  const few = isOfFew ? [{ ...found.few, alias: firstKey.field }] : [];
  if (!ids.includes(by) || !groupBy.some(({ column }) => column === by)) return undefined;
  if (conditionsToSee(holds, target, name).length > 0) return undefined;
  const values = new Map<string, { readonly value: RawBuilder<unknown>; readonly nullable: boolean }>();
  for (const [column, { alias, figure }] of columns.keys) {
    if (ownerOf(entity, column)?.name !== name) continue;
    if (column === by) values.set(alias, { value: target.value(name, 'id'), nullable: false });
    else values.set(alias, { value: figure.sql, nullable: columnNamed(entity, 'e', column).field.nullable });
  }
  for (const { field, alias } of few) values.set(alias, { value: sql.ref(`few.${columnOf(field)}`), nullable: false });
  const owners = { value: (_row: string, alias: string) => values.get(alias)?.value ?? sql`null` };
  // An owner has its ID, and a value in each column that requires one: an index has no order of nulls.
  const order = keys.map((key) => ({ ...key, nullable: values.get(key.field)?.nullable ?? key.nullable }));
  const end = order.findIndex(({ field }) => !values.has(field));
  const leading = end === -1 ? order : order.slice(0, end);
  const list = () => {
    const shown = leading.map(({ field }) => sql`${owners.value(name, field)} as ${sql.id(field)}`);
    const conditions = [
      target.within(name, tenantId),
      conditionOf(target, name, tenantId, { ...(id !== undefined && { id }), ...(ofOwner as Where | undefined) }),
      ...startsOf(leading, after, few.length),
    ];
    const from = few.map((one) => sql`${one.values} few cross join `);
    return sql`
      select ${target.value(name, 'id')} as id, ${sql.join(shown)} from ${sql.join(from, sql``)}${sql.table(target.table)} ${sql.id(name)}
      where ${sql.join(conditions, sql` and `)} order by ${orderClause(owners, name, leading)}`;
  };
  /** Where the list starts: of those with the same one of few values, after it. */
  function startsOf(leading: readonly OrderKey[], after: readonly unknown[] | undefined, position: number) {
    const starts = (after ?? []).slice(0, position + 1).flatMap((value, index) => {
      const key = leading[index];
      return key === undefined ? [] : [{ key, value, sql: owners.value(name, key.field) }];
    });
    return starts.map((start, index) => {
      const others = starts.slice(0, index).map((one) => sql`${one.sql} <> ${one.value}`);
      return sql`(${sql.join([...others, notBefore(start.sql, start.key, start.value)], sql` or `)})`;
    });
  }
  return {
    ...full,
    owners: {
      by,
      few,
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
