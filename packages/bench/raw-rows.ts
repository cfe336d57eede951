import type { Store } from '@financial-automation/server/platform/store/store';
import { runOn } from '@financial-automation/server/test/postgres-server';
import { sql } from 'kysely';

type Json = Readonly<Record<string, unknown>>;

/** The tables that calls of time and billing write, owners before what they own, and the key of a row besides its tenant. */
const tables = {
  tenant_counter: ['name'],
  contact: ['id'],
  contact_client: ['id'],
  time_entry: ['id'],
  payment: ['id'],
  draft_invoice: ['id'],
  invoice: ['id'],
  invoice_line: ['id'],
  invoice_billing: ['invoice_id', 'job_id'],
  invoice_line_wip: ['line_id', 'position'],
  wip_entry: ['id'],
  wip_relief: ['invoice_id', 'wip_entry_id'],
  ledger_entry: ['id'],
  draft_invoice_history: ['id'],
  payment_allocation: ['payment_id', 'position'],
  audit_log: ['id'],
  recorded_event: ['id'],
} as const;

type Table = keyof typeof tables;
/** Tables with sums, whose rows triggers change, also in a raw transaction. */
const summing = ['job', 'client'] as const;

/** Rows before a call, by table and key. */
export type Snapshot = ReadonlyMap<string, ReadonlyMap<string, Json>>;

interface TableRows {
  readonly table: string;
  readonly inserted: readonly Json[];
  readonly updated: readonly { readonly before: Json; readonly after: Json }[];
}

export type WrittenRows = readonly TableRows[];

const names = (): Table[] => Object.keys(tables) as Table[];
const keyOf = (table: string, row: Json) =>
  (table in tables ? tables[table as Table] : ['id']).map((column) => row[column]).join(' ');

/** Reads the rows that a call could change. */
export async function snapshotOf(store: Store, tenantId: number): Promise<Snapshot> {
  const snapshot = new Map<string, ReadonlyMap<string, Json>>();
  for (const table of ['tenant_counter', 'time_entry', 'draft_invoice', 'invoice', 'wip_entry', ...summing]) {
    const rows = await allRows(store, tenantId, table, sql`true`);
    snapshot.set(table, new Map(rows.map((row) => [keyOf(table, row), row])));
  }
  return snapshot;
}

function allRows(store: Store, tenantId: number, table: string, condition: ReturnType<typeof sql>): Promise<Json[]> {
  return store
    .write(tenantId, (transaction) =>
      transaction.all<{ row: Json }>(
        sql`select to_jsonb(t) as row from ${sql.table(table)} t where t.tenant_id = ${tenantId} and ${condition}`,
      ),
    )
    .then((rows) => rows.map(({ row }) => row));
}

/** Reads the rows that the last transaction with an audit row has written. */
export async function writtenRows(store: Store, tenantId: number, before: Snapshot): Promise<WrittenRows> {
  const last = sql`t.xmin = (select a.xmin from audit_log a where a.tenant_id = ${tenantId} order by a.id desc limit 1)`;
  const written: TableRows[] = [];
  for (const table of [...names(), ...summing]) {
    const rows = await allRows(store, tenantId, table, last);
    const known = rows.map((after) => ({ before: before.get(table)?.get(keyOf(table, after)), after }));
    written.push({
      table,
      inserted: known.flatMap((row) => (row.before === undefined ? [row.after] : [])),
      updated: known.flatMap((row) => (row.before === undefined ? [] : [{ before: row.before, after: row.after }])),
    });
  }
  return written;
}

/** Undoes a write as the owner of the tables, without triggers and row-level security. */
export async function rewind(url: string, written: WrittenRows): Promise<void> {
  const rowsOf = (table: string, rows: readonly Json[]) =>
    `jsonb_populate_recordset(null::${table}, $rows$${JSON.stringify(rows)}$rows$::jsonb) r where ${sameKey(table)}`;
  const touched = written.filter(({ inserted, updated }) => inserted.length + updated.length > 0);
  const updates = touched.flatMap(({ table, updated }) => {
    const assigned = (knownColumns[table] ?? []).map((column) => `${column} = r.${column}`).join(', ');
    const before = updated.map((row) => row.before);
    return before.length === 0 ? [] : [`update ${table} t set ${assigned} from ${rowsOf(table, before)}`];
  });
  // Rows that others refer to are deleted last.
  const deletions = touched
    .toReversed()
    .flatMap(({ table, inserted }) =>
      inserted.length === 0 ? [] : [`delete from ${table} t using ${rowsOf(table, inserted)}`],
    );
  const each = (change: string) => touched.map(({ table }) => `alter table ${table} ${change}`);
  await runOn(
    url,
    [
      'begin',
      ...each('disable trigger user'),
      ...each('no force row level security'),
      ...updates,
      ...deletions,
      // The events wait again when their rows are inserted again.
      `delete from event_waiting waiting where not exists (select from recorded_event event
        where event.tenant_id = waiting.tenant_id and event.id = waiting.event_id)`,
      'set constraints all immediate',
      ...each('enable trigger user'),
      ...each('force row level security'),
      'commit',
    ].join(';'),
  );
}

/** Writes the rows again, with the statements of a programmer who knows all of them. */
export function writeRaw(store: Store, tenantId: number, written: WrittenRows): Promise<unknown> {
  return store.write(tenantId, async (transaction) => {
    for (const { table, inserted, updated } of written) {
      // Triggers change the sums of these rows. Their versions number the events.
      const isSumming = table === 'job' || table === 'client';
      const changed = isSumming ? ['version'] : (knownColumns[table] ?? []);
      const columns = (knownColumns[table] ?? []).map((column) => sql.ref(column));
      if (inserted.length > 0)
        await transaction.all(sql`
          insert into ${sql.table(table)} (${sql.join(columns)}) select ${sql.join(columns)}
          from jsonb_populate_recordset(null::${sql.table(table)}, ${JSON.stringify(inserted)}::jsonb)`);
      if (updated.length > 0)
        await transaction.all(sql`
          update ${sql.table(table)} t
          set ${sql.join(changed.map((column) => sql`${sql.ref(column)} = r.${sql.ref(column)}`))}
          from jsonb_populate_recordset(null::${sql.table(table)}, ${JSON.stringify(updated.map(({ after }) => after))}::jsonb) r
          where ${sql.raw(sameKey(table))}`);
    }
  });
}

function sameKey(table: string): string {
  const key = table in tables ? tables[table as Table] : ['id'];
  return ['tenant_id', ...key].map((column) => `t.${column} = r.${column}`).join(' and ');
}

const knownColumns: Record<string, readonly string[]> = {};

/** Reads the columns that statements can write, without those that the database calculates. */
export async function readColumns(store: Store): Promise<void> {
  const rows = await store.system((transaction) =>
    transaction.all<{ table: string; column: string }>(sql`
      select table_name as "table", column_name as "column" from information_schema.columns
      where table_schema = 'public' and is_generated = 'NEVER' order by ordinal_position`),
  );
  for (const [table, columns] of Map.groupBy(rows, (row) => row.table))
    knownColumns[table] = columns.map(({ column }) => column);
}
