import type { components } from '@financial-automation/spec';
import { type RawBuilder, sql } from 'kysely';
import { numberOf } from '../contract/contract.ts';
import type { AnyEntity } from '../entity/entity.ts';
import { conditionsToSee } from '../entity/field-access.ts';
import { plannedForValues, type Session } from '../platform/store/session.ts';
import { type AggregateRequest, checkAggregate, type GroupBy } from './aggregate-request.ts';
import {
  decidedSource,
  type GroupColumns,
  type GroupSource,
  groupColumnsOf,
  type Output,
  ownedSource,
  quickSources,
} from './aggregate-source.ts';
import { checkWhere } from './check-where.ts';
import type { Where } from './clause.ts';
import { countedRows } from './counted-rows.ts';
import { readCursor, writeCursor } from './cursor.ts';
import { afterClauses, type OrderKey, orderClause, orderKey } from './order.ts';
import type { PageScope } from './page.ts';
import { removeBeyond, withinPageBytes } from './page-bytes.ts';
import { joinsTo } from './related-columns.ts';
import { compare, conditionOf } from './where.ts';

type Page = components['schemas']['AggregatePage'];

const standardPageSize = numberOf('InvoiceAggregateRequest', 'pageSize', 'default');

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
  const columns = groupColumnsOf(entity, full.request, full.count);
  const keys = orderOf(columns, orderBy);
  const position = cursor === undefined ? undefined : readCursor(vault, query, cursor, 'body');
  const after =
    position === undefined ? [] : [sql`(${sql.join(afterClauses(groups, 'g', keys, position.values), sql` or `)})`];
  const sortedBy = (by: readonly OrderKey[]) =>
    by.length === 0 ? sql`` : sql` order by ${orderClause(groups, 'g', by)}`;
  const outputsOf = ({ request, count, measures: shown }: GroupSource) => {
    const { keys, figures } = groupColumnsOf(entity, request, count);
    const outputs = [...figures].filter(([name]) => shown?.has(name) ?? true);
    return [...keys.values(), ...outputs.map(([, output]) => output)];
  };
  const groupsOf = (source: GroupSource): RawBuilder<unknown> => {
    const { request, count, areSums, owners } = source;
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
    ];
    const outputs = outputsOf(source);
    const among = (rows: RawBuilder<unknown>, ...more: RawBuilder<unknown>[]) => sql`
      select ${sql.join(outputs.map(({ alias, figure }) => sql`${figure.sql} as ${sql.id(alias)}`))}
      from ${rows}${joined({ tenantId, holds }, entity, groupBy)} where ${sql.join([...conditions, ...more], sql` and `)}${grouped}`;
    const page = (all: RawBuilder<unknown>, by: readonly OrderKey[] = keys) =>
      sql`select *, true as ${sql.id(fits)} from (${all}) g${filtered}${sortedBy(by)} limit ${pageSize + 1}`;
    if (owners === undefined) return page(among(source.rows));
    const owner = entity.value('e', owners.by);
    const ofFew = owners.few.map(({ field, alias }) => sql`${entity.value('e', field)} = ${sql.ref(`owner.${alias}`)}`);
    const shown = outputs.map(({ alias }) => sql.ref(`${owners.keys.has(alias) ? 'owner' : 'own'}.${alias}`));
    const owned = page(
      sql`
        select ${sql.join(shown)}
        from (${owners.list(groupsOf)}) owner cross join lateral (${among(owners.rows, sql`${owner} = owner.id`, ...ofFew)}) own`,
      owners.order,
    );
    if (owners.haveAll) return owned;
    return sql`select * from ((${owned}) union all (${page(among(source.rows, sql`${owner} is null`))})) g${sortedBy(keys)} limit ${pageSize + 1}`;
  };
  const statementOf = (sources: readonly GroupSource[]) => {
    const aliases = sources.slice(0, 1).flatMap((source) => outputsOf(source).map(({ alias }) => alias));
    const limited = withinPageBytes({ names: [...aliases, fits], sized: aliases, key: fits });
    const all = sql.join(
      sources.map((source) => sql`(${groupsOf(source)})`),
      sql` union all `,
    );
    const groups = sources.length === 1 ? all : sql`select * from (${all}) g${sortedBy(keys)} limit ${pageSize + 1}`;
    // Aggregating costs more than planning.
    return plannedForValues(limited<Readonly<Record<string, unknown>>>(groups));
  };
  const input = [{ tenantId, holds }, entity, full, columns, keys, position?.values] as const;
  const quick = quickSources(...input);
  const owned = quick === undefined ? (ownedSource(...input) ?? decidedSource(input[0], entity, full)) : undefined;
  return async (session) => {
    // Built now: until its turn, an aggregate holds what was sent.
    const read = async (sources: readonly GroupSource[]) => {
      const rows = await session.all(statementOf(sources));
      const hasMore = removeBeyond(rows, fits) || rows.length > pageSize;
      if (rows.length > pageSize) rows.length = pageSize;
      return { rows, hasMore };
    };
    const first = await read(quick?.first ?? [owned ?? full]);
    const { rows, hasMore } = quick?.all === undefined || first.hasMore ? first : await read(quick.all);
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

/** Conditions on a number of a group. Counts are whole, but can be compared with any number. */
function figureIs({ figures }: GroupColumns, measure: string, filter: Where): RawBuilder<unknown>[] {
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
function orderOf({ keys, figures }: GroupColumns, orderBy: NonNullable<AggregateRequest['orderBy']>): OrderKey[] {
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
