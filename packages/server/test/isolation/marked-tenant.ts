import { sql } from 'kysely';
import type { Store, Transaction } from '../../src/platform/store/store.ts';

/** Part of the texts of one tenant, and of no other text. */
export const mark = 'Zyzzyva';

/** Columns whose values get the mark: those that callers search, refer to and read. */
const markedColumns = [
  ...['name', 'legal_name', 'display_name', 'first_name', 'last_name', 'title', 'description', 'internal_note', 'note'],
  ...['memo', 'line1', 'city', 'file_name', 'folder_path', 'template_name', 'email', 'system_ref', 'client_ref'],
  ...['pms_ref', 'job_ref', 'staff_ref', 'invoice_number', 'payment_number', 'draft_number', 'engagement_ref', 'code'],
  ...['default_work_code', 'processor_ref', 'check_number', 'purchase_order', 'payer_name', 'key', 'type', 'url'],
];
/** In most tables `type` is an enum of the contract, and the codes of industries are digits. */
const unmarked = ({ table, name }: Column) =>
  (name === 'type' && table !== 'custom_record') || (name === 'code' && table === 'industry');

interface Column {
  readonly table: string;
  readonly name: string;
  readonly type: string;
}

/** The columns of all tables with rows of tenants. */
export function columnsOfTenants(transaction: Transaction): Promise<Column[]> {
  return transaction.all(sql<Column>`
    select c.table_name as "table", c.column_name as name, format_type(a.atttypid, null) as type
    from information_schema.columns c
    join pg_attribute a on a.attrelid = format('%I.%I', c.table_schema, c.table_name)::regclass and a.attname = c.column_name
    where c.table_schema = 'public' and c.is_generated = 'NEVER' and c.column_name <> 'tenant_id'
      and c.table_name in (select table_name from information_schema.columns
        where table_schema = 'public' and column_name = 'tenant_id')
      and c.table_name not in (select table_name from information_schema.views where table_schema = 'public')
    order by 1, c.ordinal_position`);
}

/** Demo data has the same IDs in every tenant: these parts of them are changed. */
const renamed = (text: ReturnType<typeof sql>) =>
  sql`replace(replace(${text}, '-8000-', '-8bbb-'), '0199a1c2-', '0199b2b2-')`;

/**
 * Changes the IDs of a tenant's demo data, and adds the mark to names, numbers and references, so that each value
 * identifies its tenant. References between the rows remain valid.
 */
export async function markTenant(store: Store, tenantId: number): Promise<void> {
  const columns = await store.system(columnsOfTenants);
  const tables = [...new Set(columns.map(({ table }) => table))];
  const asOwner = (...statements: string[]) =>
    store.system(async (transaction) => {
      for (const statement of statements) await transaction.all(sql.raw(statement));
    });
  const references = await store.system((transaction) =>
    transaction.all(sql<{ statement: string }>`
      select format('alter table %s alter constraint %I deferrable', conrelid::regclass, conname) as statement
      from pg_constraint where contype = 'f' and connamespace = 'public'::regnamespace and not condeferrable`),
  );
  const triggers = (verb: string) => tables.map((table) => `alter table ${table} ${verb} trigger user`);
  await asOwner(...references.map(({ statement }) => statement), ...triggers('disable'));
  await store.system(async (transaction) => {
    await transaction.all(sql`select set_config('app.tenant_id', ${String(tenantId)}, true)`);
    await transaction.all(sql`set constraints all deferred`);
    for (const table of tables) {
      const changes = columns.filter((column) => column.table === table).flatMap(changeOf);
      if (changes.length === 0) continue;
      await transaction.all(sql`update ${sql.table(table)} set ${sql.join(changes)} where tenant_id = ${tenantId}`);
    }
  });
  await asOwner(...triggers('enable'));
}

function changeOf(column: Column) {
  const { name, type } = column;
  const value = sql.ref(name);
  const other = renamed(sql`${value}::text`);
  if (type === 'text' && markedColumns.includes(name) && !unmarked(column)) return [sql`${value} = ${marked(name)}`];
  if (!['uuid', 'uuid[]', 'text', 'text[]', 'jsonb', 'json'].includes(type)) return [];
  return [sql`${value} = ${other}::${sql.raw(type)}`];
}

/** The value with the mark as prefix; an ID is changed like all IDs. */
function marked(name: string) {
  const value = sql.ref(name);
  const front =
    name === 'email'
      ? `${mark.toLowerCase()}.`
      : ['type', 'name', 'code', 'default_work_code'].includes(name)
        ? mark
        : `${mark} `;
  return sql`case when ${value} = '' then '' when ${value} ~ '^[0-9a-f]{8}-' then ${renamed(value)} else ${front} || ${value} end`;
}
