import { type RawBuilder, sql } from 'kysely';
import { plannedForValues } from '../../platform/store/session.ts';
import type { Transaction } from '../../platform/store/store.ts';
import type { CopiedColumn, TenantTable } from '../../platform/store/tenant-tables.ts';

/** The row as JSON text, and the columns that were left out of it, in hexadecimal. */
export interface CopiedRow {
  readonly json: string;
  readonly secrets: Readonly<Record<string, string>>;
}

/**
 * Types whose values are written as text: programs read other numbers than these as floating point, and documents of `json` must
 * keep every character, which can be line breaks.
 */
const writtenAsText: ReadonlySet<string> = new Set(['numeric', 'bigint', 'json']);

/** Number of rows that are read at once: few of long ones, so that memory is bounded. */
const rowsAtOnce = { first: 50, fewest: 10, most: 1_000 };
const lengthAtOnce = 1 << 20;

/**
 * Reads all rows of a tenant, in the order of their keys, some at a time.
 *
 * @param secrets columns with bytes that are kept apart from the others.
 */
export async function readCopiedRows(
  transaction: Pick<Transaction, 'all'>,
  table: TenantTable,
  tenantId: number,
  secrets: readonly string[],
  handle: (rows: readonly CopiedRow[]) => Promise<void>,
): Promise<void> {
  const all = (query: RawBuilder<Record<string, string | null>>) => transaction.all(plannedForValues(query));
  await all(sql`declare copied_rows no scroll cursor for ${selection(table, tenantId, secrets)}`);
  for (let count = rowsAtOnce.first; ; ) {
    const found = await all(sql`fetch ${sql.raw(String(count))} from copied_rows`);
    const rows = found.map(({ json, ...others }) => ({ json: json ?? '', secrets: present(others) }));
    if (rows.length > 0) await handle(rows);
    if (rows.length < count) break;
    const length = rows.reduce((sum, { json }) => sum + json.length, 0);
    count = Math.round(Math.min(2 * count, (count * lengthAtOnce) / (length + 1)));
    count = Math.max(rowsAtOnce.fewest, Math.min(rowsAtOnce.most, count));
  }
  await all(sql`close copied_rows`);
}

/** A key of a row, without the tenant, as JSON text. */
export type RowKey = string;

/** Reads rows by their keys. @returns for each key the row as JSON text; null if there is none */
export async function readRowsByKey(
  transaction: Pick<Transaction, 'all'>,
  table: TenantTable,
  tenantId: number,
  keys: readonly RowKey[],
): Promise<(string | null)[]> {
  const shown = table.columns.map(shownColumn);
  const rows = await transaction.all<{ json: string | null }>(
    plannedForValues(sql`
      select found.json from jsonb_array_elements(${`[${keys.join(',')}]`}::jsonb) with ordinality requested (key, ordinal)
      left join lateral (
        select row_to_json(r)::text as json
        from ${sql.table(table.name)} t cross join lateral (select ${sql.join(shown)}) r
        where t.tenant_id = ${sql.lit(tenantId)} ${sql.join(
          table.key.map((column) => sql`and t.${sql.ref(column)} = ${keyValue(table, column)}`),
          sql` `,
        )}
      ) found on true order by ordinal`),
  );
  return rows.map(({ json }) => json);
}

/** The value of a column in `requested.key`. */
function keyValue({ columns }: TenantTable, column: string): RawBuilder<unknown> {
  const type = columns.find(({ name }) => name === column)?.type ?? 'text';
  return sql`(requested.key ->> ${sql.lit(column)})::${sql.raw(type)}`;
}

/** Deletes rows by their keys, where they exist. */
export function deleteRowsByKey(table: TenantTable, tenantId: number, keys: readonly RowKey[]): RawBuilder<unknown> {
  return sql`
    delete from ${sql.table(table.name)} t using jsonb_array_elements(${`[${keys.join(',')}]`}::jsonb) requested (key)
    where t.tenant_id = ${sql.lit(tenantId)} ${sql.join(
      table.key.map((column) => sql`and t.${sql.ref(column)} = ${keyValue(table, column)}`),
      sql` `,
    )}`;
}

/** Inserts rows like `insertCopiedRows`, and replaces those that exist. */
export function replaceCopiedRows(table: TenantTable, tenantId: number, json: string): RawBuilder<unknown> {
  const key = [sql.ref('tenant_id'), ...table.key.map((column) => sql.ref(column))];
  const others = table.columns.filter(({ name }) => !table.key.includes(name)).map(({ name }) => sql.ref(name));
  const changes = others.map((column) => sql`${column} = excluded.${column}`);
  return sql`${insertCopiedRows(table, tenantId, json)}
    on conflict (${sql.join(key)}) do ${changes.length === 0 ? sql`nothing` : sql`update set ${sql.join(changes)}`}`;
}

function selection({ name, columns, key }: TenantTable, tenantId: number, secrets: readonly string[]) {
  const shown = columns.filter((column) => !secrets.includes(column.name)).map(shownColumn);
  const hidden = secrets.map((column) => sql`, encode(t.${sql.ref(column)}, 'hex') as ${sql.ref(column)}`);
  const order = key.map((column) => sql.ref(`t.${column}`));
  return sql<Record<string, string | null>>`
    select row_to_json(r)::text as json ${sql.join(hidden, sql``)}
    from ${sql.table(name)} t cross join lateral (select ${sql.join(shown)}) r
    where t.tenant_id = ${sql.lit(tenantId)} ${order.length === 0 ? sql`` : sql`order by ${sql.join(order)}`}`;
}

function shownColumn({ name, type }: CopiedColumn): RawBuilder<unknown> {
  return sql`t.${sql.ref(name)}${writtenAsText.has(type) ? sql`::text` : sql``} as ${sql.ref(name)}`;
}

function present(values: Readonly<Record<string, string | null>>): Record<string, string> {
  return Object.fromEntries(Object.entries(values).flatMap(([name, value]) => (value === null ? [] : [[name, value]])));
}

/** Inserts rows of a tenant: a list of objects, as JSON text. `app.copies_rows` must be on. */
export function insertCopiedRows({ name, columns }: TenantTable, tenantId: number, json: string): RawBuilder<unknown> {
  const names = columns.map((column) => sql.ref(column.name));
  const values = columns.map((column) =>
    column.type === 'json' ? sql`r.${sql.ref(column.name)}::json` : sql.ref(`r.${column.name}`),
  );
  const types = columns.map(
    (column) => sql`${sql.ref(column.name)} ${sql.raw(column.type === 'json' ? 'text' : column.type)}`,
  );
  const rows =
    columns.length === 0
      ? sql`json_array_elements(${json}::json)`
      : sql`json_to_recordset(${json}::json) as r(${sql.join(types)})`;
  return sql`
    insert into ${sql.table(name)} (${sql.join([sql.ref('tenant_id'), ...names])})
    select ${sql.join([sql`${tenantId}::integer`, ...values])} from ${rows}`;
}
