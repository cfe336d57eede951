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
export class RawRows {
  readonly #store: Store;
  readonly #tenantId: number;
  readonly #url: string;
  /** Columns that statements can write, and those of the primary key, by table. */
  readonly #columns = new Map<string, { readonly all: readonly string[]; readonly key: readonly string[] }>();

  private constructor(store: Store, tenantId: number, url: string) {
    this.#store = store;
    this.#tenantId = tenantId;
    this.#url = url;
  }

  static async open(store: Store, tenantId: number, url: string): Promise<RawRows> {
    const rows = new RawRows(store, tenantId, url);
    const found = await store.system((transaction) =>
      transaction.all<{ table: string; column: string; isKey: boolean }>(sql`
        select c.relname as "table", a.attname as "column", coalesce(a.attnum = any(p.conkey), false) as "isKey"
        from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
        left join pg_constraint p on p.conrelid = c.oid and p.contype = 'p'
        where c.relname = any(${tables}) and c.relnamespace = current_schema()::regnamespace order by a.attnum`),
    );
    for (const [table, columns] of Map.groupBy(found, (row) => row.table)) {
      const nameOf = ({ column }: { readonly column: string }) => column;
      rows.#columns.set(table, { all: columns.map(nameOf), key: columns.filter(({ isKey }) => isKey).map(nameOf) });
    }
    return rows;
  }

  /** Reads the rows that a call could change. */
  async snapshot(): Promise<Snapshot> {
    const snapshot = new Map<string, ReadonlyMap<string, Json>>();
    for (const table of changing) {
      const rows = await this.#rows(table, sql`true`);
      snapshot.set(table, new Map(rows.map((row) => [this.#keyOf(table, row), row])));
    }
    return snapshot;
  }

  /** Reads the rows that the last transaction with an audit row has written. */
  async writtenSince(before: Snapshot): Promise<readonly TableRows[]> {
    const last = sql`t.xmin = (select a.xmin from audit_log a where a.tenant_id = ${this.#tenantId} order by a.id desc limit 1)`;
    const written: TableRows[] = [];
    for (const table of tables) {
      const inserted: Json[] = [];
      const updated: { before: Json; after: Json }[] = [];
      for (const after of await this.#rows(table, last)) {
        const known = before.get(table)?.get(this.#keyOf(table, after));
        if (known === undefined) inserted.push(after);
        else updated.push({ before: known, after });
      }
      if (inserted.length + updated.length > 0) written.push({ table, inserted, updated });
    }
    return written;
  }

  /** Undoes a write as the owner of the tables, without triggers and row-level security. */
  async rewind(written: readonly TableRows[]): Promise<void> {
    const rowsOf = (table: string, rows: readonly Json[]) =>
      `jsonb_populate_recordset(null::${table}, $rows$${JSON.stringify(rows)}$rows$::jsonb) r where ${this.#sameKey(table)}`;
    const updates = written
      .filter(({ updated }) => updated.length > 0)
      .map(({ table, updated }) => {
        const assigned = this.#columnsOf(table).all.map((column) => `${column} = r.${column}`);
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
      this.#url,
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
  write(written: readonly TableRows[]): Promise<void> {
    return this.#store.write(this.#tenantId, async (transaction) => {
      for (const { table, inserted, updated } of written) {
        const { all } = this.#columnsOf(table);
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
          where ${sql.raw(this.#sameKey(table))}`);
      }
    });
  }

  #rows(table: string, condition: ReturnType<typeof sql>): Promise<Json[]> {
    return this.#store.write(this.#tenantId, async (transaction) => {
      const rows = await transaction.all<{ row: Json }>(sql`
        select to_jsonb(t) as row from ${sql.table(table)} t where t.tenant_id = ${this.#tenantId} and ${condition}`);
      return rows.map(({ row }) => row);
    });
  }

  #columnsOf(table: string) {
    return this.#columns.get(table) ?? { all: [], key: [] };
  }

  #keyOf(table: string, row: Json): string {
    return JSON.stringify(this.#columnsOf(table).key.map((column) => row[column]));
  }

  #sameKey(table: string): string {
    return this.#columnsOf(table)
      .key.map((column) => `t.${column} = r.${column}`)
      .join(' and ');
  }
}
