import type { components } from '@financial-automation/spec';
import { type RawBuilder, sql } from 'kysely';
import { numberOf } from '../contract/contract.ts';
import type { AnyEntity } from '../entity/entity.ts';
import { conditionsToSee } from '../entity/field-access.ts';
import { parseDecimal, zero } from '../platform/decimal.ts';
import { plannedForValues, type Session } from '../platform/store/session.ts';
import { type AggregateRequest, checkAggregate, type GroupBy } from './aggregate-request.ts';
import { checkWhere } from './check-where.ts';
import type { Where } from './clause.ts';
import { balanceRows, type CountedRows, countedRows } from './counted-rows.ts';
import { readCursor, writeCursor } from './cursor.ts';
import { type Figure, figureOf, keyOf } from './figures.ts';
import { afterClauses, type OrderKey, orderClause, orderKey } from './order.ts';
import type { PageScope } from './page.ts';
import { removeBeyond, withinPageBytes } from './page-bytes.ts';
import { joinsTo } from './related-columns.ts';
import { compare, conditionOf } from './where.ts';

type Page = components['schemas']['AggregatePage'];

const standardPageSize = numberOf('InvoiceAggregateRequest', 'pageSize', 'default');

/** The columns of the statement: keys of groups, in the order of `groupBy`, and figures. */
interface Columns {
  readonly keys: ReadonlyMap<string, Output>;
  readonly figures: ReadonlyMap<string, Output>;
}

interface Output {
  /** The name of the column in the statement. */
  readonly alias: string;
  readonly figure: Figure<Page['data'][number]['key'][string]>;
}

/**
 * Creates the read of one page of the groups of an entity's rows. Invalid requests are rejected here, before they wait for a
 * connection.
 *
 * @throws Rejection like `checkAggregate`, `checkWhere`, `conditionOf` and `readCursor`.
 */
export function aggregateReader(
  { tenantId, holds, vault, name }: Pick<PageScope, 'tenantId' | 'holds' | 'vault' | 'name'>,
  entity: AnyEntity,
  request: AggregateRequest,
): (session: Session) => Promise<Page> {
  const { where = {}, measures, with: related = [], having = {} } = request;
  const { orderBy = [], pageSize = standardPageSize, cursor } = request;
  checkAggregate(entity, holds, request);
  checkWhere(entity, where, holds);
  const query = {
    operation: name,
    tenantId,
    where,
    orderBy: [request.groupBy ?? [], measures, orderBy, related, having],
  };
  // The rows that groups are keyed by divide no group.
  const groupBy = [...(request.groupBy ?? []), ...related.map((column): GroupBy => ({ column }))];
  const full = { request: { ...request, groupBy }, ...countedRows(entity, 'e', tenantId, { ...request, groupBy }) };
  const columns = columnsOf(entity, full.request, full.count);
  const keys = orderOf(columns, orderBy);
  const position = cursor === undefined ? undefined : readCursor(vault, query, cursor, 'body');
  const after =
    position === undefined ? [] : [sql`(${sql.join(afterClauses(groups, 'g', keys, position.values), sql` or `)})`];
  const order = keys.length === 0 ? sql`` : sql` order by ${orderClause(groups, 'g', keys)}`;
  const outputsOf = ({ request, count, measures: shown }: Source) => {
    const { keys, figures } = columnsOf(entity, request, count);
    const outputs = [...figures].filter(([name]) => shown?.has(name) ?? true);
    return [...keys.values(), ...outputs.map(([, output]) => output)];
  };
  const groupsOf = (source: Source) => {
    const { request, rows, count, areSums, among } = source;
    const having = Object.entries(request.having ?? {});
    const met = [...having.flatMap(([measure, filter]) => figureIs(columns, measure, filter)), ...after];
    const filtered = met.length === 0 ? sql`` : sql` where ${sql.join(met, sql` and `)}`;
    const grouped =
      groupBy.length === 0
        ? sql``
        : sql` group by ${sql.join(groupBy.map((_, index) => sql.lit(index + 1)))}${areSums ? sql` having ${count} > 0` : sql``}`;
    const conditions = [
      entity.within('e', tenantId),
      ...conditionsToSee(holds, entity, 'e'),
      conditionOf(entity, 'e', tenantId, where),
      ...(among === undefined ? [] : [among(groupsOf)]),
    ];
    return sql`
      select *, true as ${sql.id(fits)} from (
        select ${sql.join(outputsOf(source).map(({ alias, figure }) => sql`${figure.sql} as ${sql.id(alias)}`))}
        from ${rows}${joined({ tenantId, holds }, entity, groupBy)} where ${sql.join(conditions, sql` and `)}${grouped}
      ) g${filtered}${order} limit ${pageSize + 1}`;
  };
  const statementOf = (source: Source) => {
    const aliases = outputsOf(source).map(({ alias }) => alias);
    const limited = withinPageBytes({ names: [...aliases, fits], sized: aliases, key: fits });
    // Aggregating costs more than planning.
    return plannedForValues(limited<Readonly<Record<string, unknown>>>(groupsOf(source)));
  };
  const quick = quickSource(entity, tenantId, full);
  return async (session) => {
    // Built now: until its turn, an aggregate holds what was sent.
    const read = async (source: Source) => {
      const rows = await session.all(statementOf(source));
      const hasMore = removeBeyond(rows, fits) || rows.length > pageSize;
      if (rows.length > pageSize) rows.length = pageSize;
      return { rows, hasMore };
    };
    const first = await read(quick?.source ?? full);
    const { rows, hasMore } = quick === undefined || quick.hasAll || first.hasMore ? first : await read(full);
    const last = rows.at(-1);
    const next =
      hasMore && last !== undefined ? { values: keys.map(({ field }) => last[field]), offset: 0 } : undefined;
    return {
      data: rows.map((row) => {
        const keys = valuesOf(columns.keys, row);
        const values = valuesOf(columns.figures, row) as Page['data'][number]['values'];
        if (related.length === 0) return { key: keys, values };
        const isKey = new Set(request.groupBy?.map(({ column }) => column));
        const part = (isWanted: (name: string) => boolean) =>
          Object.fromEntries(Object.entries(keys).filter(([name]) => isWanted(name)));
        return { key: part((name) => isKey.has(name)), values, with: part((name) => related.includes(name)) };
      }),
      hasMore,
      nextCursor: next === undefined ? null : writeCursor(vault, query, next),
    };
  };
}

/** What groups are read from. */
interface Source extends CountedRows {
  readonly request: AggregateRequest;
  /** The measures that follow from the rows; all, if undefined. */
  readonly measures?: ReadonlySet<string>;
  /** Condition on the rows in addition to those of the request, with SQL of the groups of other sources. */
  readonly among?: (groupsOf: (source: Source) => RawBuilder<unknown>) => RawBuilder<boolean>;
}

/**
 * Returns what has all groups of a request but those that add up to zero, if they follow from balances. It has all groups if the request
 * leaves those out; if it sorts by an amount, the highest first, it has those above zero: those of the page, if there are more of them. What
 * balances do not say, such as the number of rows, is read from the rows of the groups of the page.
 */
function quickSource(
  entity: AnyEntity,
  tenantId: number,
  full: Source,
): { readonly source: Source; readonly hasAll: boolean } | undefined {
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
  const [id, key] = [groupBy[balances.id ?? -1]?.column, sql.id(`k${balances.id}`)];
  if (id === undefined) return undefined;
  const value = entity.value('e', id);
  // Rows without an ID are few. If their group is not one of the page, it is left out again.
  const without = balances.hasRowsWithoutId ? sql` or ${value} is null` : sql``;
  const among: Source['among'] = (groupsOf) =>
    sql`(${value} = any(array(select ${key} from (${groupsOf(source)}) page))${without})`;
  return { source: { ...full, request: aboveZero, among }, hasAll };
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

/** The rows that a relation of a column leads to, as far as the caller may see them. */
function joined(
  { tenantId, holds }: Pick<PageScope, 'tenantId' | 'holds'>,
  entity: AnyEntity,
  groupBy: readonly GroupBy[],
) {
  const relations = new Set(
    groupBy.flatMap(({ column }) => (column.includes('.') ? [column.split('.')[0] ?? ''] : [])),
  );
  const joins = [...relations].flatMap((relation) => joinsTo(entity, 'e', relation));
  return sql.join(
    joins.map(({ target, alias, id }) => {
      const conditions = [target.within(alias, tenantId), ...conditionsToSee(holds, target, alias)];
      return sql` left join ${sql.table(target.table)} ${sql.id(alias)}
        on ${sql.join(conditions, sql` and `)} and ${sql.ref(`${alias}.id`)} = ${id}`;
    }),
    sql``,
  );
}

function columnsOf(
  entity: AnyEntity,
  { groupBy = [], measures }: AggregateRequest,
  count: RawBuilder<unknown>,
): Columns {
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

/** Conditions on a number of a group. Counts are whole, but can be compared with any number. */
function figureIs({ figures }: Columns, measure: string, filter: Where): RawBuilder<unknown>[] {
  const figure = sql`${sql.ref(`g.${figures.get(measure)?.alias}`)}::numeric`;
  return Object.entries(filter).map(([operator, operand]) =>
    compare(figure, operator, operand, `/having/${measure}/${operator}`),
  );
}

/** Null in the group beyond those that fit into the page. */
const fits = 'fits';

/** The groups as rows that can be ordered. */
const groups = { value: (row: string, alias: string): RawBuilder<unknown> => sql.ref(`${row}.${alias}`) };

/** The keys of a total order: those of the request, then the keys of the groups. */
function orderOf({ keys, figures }: Columns, orderBy: NonNullable<AggregateRequest['orderBy']>): OrderKey[] {
  const found = new Map<string, OrderKey>();
  const add = (output: Output | undefined, direction: string) => {
    if (output === undefined || found.has(output.alias)) return;
    found.set(output.alias, orderKey(output.alias, direction, output.figure.nullable));
  };
  for (const { measure, column, direction } of orderBy)
    add(measure === undefined ? keys.get(column ?? '') : figures.get(measure), direction);
  for (const output of keys.values()) add(output, 'asc');
  return [...found.values()];
}

function valuesOf(outputs: ReadonlyMap<string, Output>, row: Readonly<Record<string, unknown>>) {
  return Object.fromEntries([...outputs].map(([name, { alias, figure }]) => [name, figure.read(row[alias])]));
}
