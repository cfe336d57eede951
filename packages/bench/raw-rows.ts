import { runOn } from '@financial-automation/server/machine';
import type { Store } from '@financial-automation/server/service';
import { sql } from 'kysely';

type Json = Readonly<Record<string, unknown>>;

/** The tables that calls of time and billing write, owners before what they own. Triggers change the sums of the last two. */
const tables = [
  'tenant_counter',
  'contact',
  'contact_client',
  'time_entry',
  'payment',
  'draft_invoice',
  'invoice',
  'invoice_line',
  'invoice_line_tax',
  'invoice_billing',
  'invoice_line_wip',
  'wip_entry',
  'wip_relief',
  'ledger_entry',
  'draft_invoice_history',
  'payment_allocation',
  'audit_log',
  'recorded_event',
  'job',
  'client',
] as const;
/** Rows that a call changes, and does not only add. */
const changing = ['tenant_counter', 'time_entry', 'draft_invoice', 'invoice', 'wip_entry', 'job', 'client'];

/** Rows before a call, by table and key. */
type Snapshot = ReadonlyMap<string, ReadonlyMap<string, Json>>;

interface TableRows {
  readonly table: string;
  readonly inserted: readonly Json[];
  readonly updated: readonly { readonly before: Json; readonly after: Json }[];
}

/** The rows that a call writes: finds them, undoes the call, and writes them again as a programmer would who knows all of them. */
export async function openRawRows(store: Store, tenantId: number, url: string) {
  const found = await store.system((transaction) =>
    transaction.all<{ table: string; column: string; isKey: boolean }>(sql`
      select c.relname as "table", a.attname as "column", coalesce(a.attnum = any(p.conkey), false) as "isKey"
      from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
      left join pg_constraint p on p.conrelid = c.oid and p.contype = 'p'
      where c.relname = any(${tables}) and c.relnamespace = current_schema()::regnamespace order by a.attnum`),
  );
  /** Columns that statements can write, and those of the primary key. */
  const columnsOf = (table: string) => {
    const columns = found.filter((row) => row.table === table);
    const nameOf = ({ column }: { readonly column: string }) => column;
    return { all: columns.map(nameOf), key: columns.filter(({ isKey }) => isKey).map(nameOf) };
  };
  const keyOf = (table: string, row: Json) => JSON.stringify(columnsOf(table).key.map((column) => row[column]));
  const sameKey = (table: string) =>
    columnsOf(table)
      .key.map((column) => `t.${column} = r.${column}`)
      .join(' and ');
  const rowsWhere = (table: string, condition: ReturnType<typeof sql>): Promise<Json[]> =>
    store.write(tenantId, async (transaction) => {
      const rows = await transaction.all<{ row: Json }>(sql`
        select to_jsonb(t) as row from ${sql.table(table)} t where t.tenant_id = ${tenantId} and ${condition}`);
      return rows.map(({ row }) => row);
    });

  return { snapshot, writtenSince, rewind, write };

  /** Reads the rows that a call could change. */
  async function snapshot(): Promise<Snapshot> {
    const snapshot = new Map<string, ReadonlyMap<string, Json>>();
    for (const table of changing) {
      const rows = await rowsWhere(table, sql`true`);
      snapshot.set(table, new Map(rows.map((row) => [keyOf(table, row), row])));
    }
    return snapshot;
  }

  /** Reads the rows that the last transaction with an audit row has written. */
  async function writtenSince(before: Snapshot): Promise<readonly TableRows[]> {
    const last = sql`t.xmin = (select a.xmin from audit_log a where a.tenant_id = ${tenantId} order by a.id desc limit 1)`;
    const written: TableRows[] = [];
    for (const table of tables) {
      const inserted: Json[] = [];
      const updated: { before: Json; after: Json }[] = [];
      for (const after of await rowsWhere(table, last)) {
        const known = before.get(table)?.get(keyOf(table, after));
        if (known === undefined) inserted.push(after);
        else updated.push({ before: known, after });
      }
      if (inserted.length + updated.length > 0) written.push({ table, inserted, updated });
    }
    return written;
  }

  /** Undoes a write as the owner of the tables, without triggers and row-level security. */
  async function rewind(written: readonly TableRows[]): Promise<void> {
    const rowsOf = (table: string, rows: readonly Json[]) =>
      `jsonb_populate_recordset(null::${table}, $rows$${JSON.stringify(rows)}$rows$::jsonb) r where ${sameKey(table)}`;
    const updates = written
      .filter(({ updated }) => updated.length > 0)
      .map(({ table, updated }) => {
        const assigned = columnsOf(table).all.map((column) => `${column} = r.${column}`);
        const before = updated.map((row) => row.before);
        return `update ${table} t set ${assigned.join(', ')} from ${rowsOf(table, before)}`;
      });
    // Rows that others refer to are deleted last.
    const deletions = written
      .toReversed()
      .filter(({ inserted }) => inserted.length > 0)
      .map(({ table, inserted }) => `delete from ${table} t using ${rowsOf(table, inserted)}`);
    const each = (change: string) => written.map(({ table }) => `alter table ${table} ${change}`);
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

  /** Writes the rows again, with one statement for each table. */
  function write(written: readonly TableRows[]): Promise<void> {
    return store.write(tenantId, async (transaction) => {
      for (const { table, inserted, updated } of written) {
        // A trigger of the lines adds their taxes.
        if (table === 'invoice_line_tax') continue;
        const { all } = columnsOf(table);
        const columns = sql.join(all.map((column) => sql.ref(column)));
        const rowsOf = (rows: readonly Json[]) =>
          sql`jsonb_populate_recordset(null::${sql.table(table)}, ${JSON.stringify(rows)}::jsonb)`;
        if (inserted.length > 0)
          await transaction.all(
            sql`insert into ${sql.table(table)} (${columns}) select ${columns} from ${rowsOf(inserted)}`,
          );
        if (updated.length === 0) continue;
        // Triggers change the sums of these rows. Their versions number the events.
        const changed = table === 'job' || table === 'client' ? ['version'] : all;
        const changes = sql.join(changed.map((column) => sql`${sql.ref(column)} = r.${sql.ref(column)}`));
        await transaction.all(sql`
          update ${sql.table(table)} t set ${changes} from ${rowsOf(updated.map(({ after }) => after))} r
          where ${sql.raw(sameKey(table))}`);
      }
    });
  }
}
