import { differencesOf, findBreaches } from '@financial-automation/server/modules/billing';
import type { Store, Transaction } from '@financial-automation/server/service';
import { type RawBuilder, sql } from 'kysely';
import { businessName, personName, words } from './names.ts';
import type { Profile, Size } from './profile.ts';
import { idOf } from './step.ts';

/** The tables whose rows are copied. Copies share the lists that they refer to. */
const copied = words(
  `staff staff_rate client_group client contact contact_info contact_client job task staff_job_assignment staff_task_assignment
  engagement engagement_job engagement_signer engagement_document time_entry expense_entry wip_entry draft_invoice draft_invoice_line
  draft_invoice_line_wip draft_invoice_history invoice invoice_billing invoice_line invoice_line_wip invoice_line_tax wip_relief payment
  payment_allocation ledger_entry ledger_month ledger_work ledger_work_month file custom_record entity_ref book_change`,
);

/** Columns without a foreign key that do not refer to copied rows. */
const shared = /^taxes$|api_user_id$|^document_type_id$|^template_id$|^rate_card_id$|^transaction_id$/;
/** Columns with references or numbers that are unique in a tenant. */
const numbered = /^(system_|client_|pms_|engagement_|job_|staff_)?ref$|^(draft|invoice|payment)_number$/;
const uuid = '^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$';

/** SQL functions of an ID in a copy, of which the 14 bits after the variant are raised by its number, and of a text with IDs. */
const functions = [
  sql`create or replace function pg_temp.id_in_copy(id text, number integer) returns text language sql immutable as $$
    select overlay(id placing lpad(to_hex(
      32768 + (('x0000' || substr(id, 20, 4))::bit(32)::integer - 32768 + number) % 16384), 4, '0') from 20 for 4) $$`,
  sql`create or replace function pg_temp.text_in_copy(text text, number integer) returns text language plpgsql immutable as $$
    declare id text; begin
      for id in select distinct matched[1] from regexp_matches(
        text, '([0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12})', 'g') matched loop
        text := replace(text, id, pg_temp.id_in_copy(id, number));
      end loop;
      return text;
    end $$`,
];

interface Column {
  readonly table: string;
  readonly name: string;
  readonly type: string;
  readonly target: string | null;
}

/**
 * Copies the firm that the service has written, so that the tenant has as many of it: the rows of the books with new keys and
 * numbers, and all amounts as they are. References, sums and rules are checked for all rows at the end. The tables are locked
 * meanwhile.
 *
 * @throws Error if the rows violate a rule of the books; then nothing is copied.
 */
export async function multiplyFirm(
  store: Pick<Store, 'system'>,
  tenantId: number,
  profile: Profile,
  report: (step: string, seconds: number) => void,
): Promise<void> {
  let start = performance.now();
  const done = (step: string) => {
    report(step, (performance.now() - start) / 1000);
    start = performance.now();
  };
  await store.system(async (transaction) => {
    const run = (statement: RawBuilder<unknown>) => transaction.all(statement);
    await run(sql`select set_config('app.tenant_id', ${String(tenantId)}, true), set_config('statement_timeout', '0', true),
      set_config('work_mem', '256MB', true), set_config('maintenance_work_mem', '512MB', true)`);
    for (const statement of functions) await run(statement);
    const columns = await columnsOf(transaction);
    const removed = await removedObjects(transaction);
    for (const { remove } of removed) await run(sql.raw(remove));
    await copyRows(transaction, tenantId, profile, columns);
    done('copies');
    // A foreign key is checked by a query, whose plan needs to know of the copies.
    await run(sql`analyze`);
    for (const { restore } of removed) await run(sql.raw(restore));
    done('indexes and references');
    await checkBooks(transaction, tenantId);
    done('rules');
  });
}

/** The columns of the copied tables, with the tables that they refer to. */
function columnsOf(transaction: Transaction): Promise<Column[]> {
  return transaction.all(sql<Column>`
    select c.relname as table, a.attname as name, format_type(a.atttypid, -1) as type, (
      select confrelid::regclass::text from pg_constraint k
      where k.conrelid = c.oid and k.contype = 'f' and a.attnum = any (k.conkey) and a.attname <> 'tenant_id' limit 1) as target
    from pg_attribute a join pg_class c on c.oid = a.attrelid
    where c.relnamespace = 'public'::regnamespace and c.relname = any (${copied}) and a.attnum > 0
      and not a.attisdropped and a.attgenerated = '' and a.attidentity = ''`);
}

async function copyRows(
  transaction: Transaction,
  tenantId: number,
  { copies, written }: Profile,
  columns: readonly Column[],
): Promise<void> {
  const steps = await stepsOf(transaction, tenantId, columns);
  for (const [table, own] of Map.groupBy(columns, (column) => column.table)) {
    const values = own.map((column) => inCopy(column, steps));
    await transaction.all(sql`
      insert into ${sql.table(table)} (${sql.join(own.map(({ name }) => sql.ref(name)))})
      select ${sql.join(values)} from ${sql.table(table)} t cross join generate_series(1, ${copies - 1}) c (number)
      where t.tenant_id = ${tenantId}`);
  }
  await transaction.all(sql`
    update tenant_counter set value = value * ${copies} where tenant_id = ${tenantId} and name not like 'demo_data.%'`);
  // Copies share the orgs and lists by which the books are summed up by day.
  await transaction.all(
    sql`update ledger_day set amount = amount * ${copies}, entries = entries * ${copies} where tenant_id = ${tenantId}`,
  );
  await transaction.all(sql`
    update journal_sum set amount = amount * ${copies}, debit = debit * ${copies}, credit = credit * ${copies}, entries = entries * ${copies}
    where tenant_id = ${tenantId}`);
  await renameParties(transaction, tenantId, copies, written);
}

/** The last number of each kind of reference, by which those of each copy are higher than those of the one before. */
async function stepsOf(transaction: Transaction, tenantId: number, columns: readonly Column[]): Promise<string> {
  const parts = columns
    .filter(({ name }) => numbered.test(name))
    .map(
      ({ table, name }) => sql`select ${sql.ref(name)} as text from ${sql.table(table)} where tenant_id = ${tenantId}`,
    );
  const rows = await transaction.all(sql<{ kind: string; last: number }>`
    select regexp_replace(text, '\\d+$', '') as kind, max(substring(text from '\\d+$')::integer) as last
    from (${sql.join(parts, sql` union all `)}) texts where text ~ '\\d{1,8}$' and text !~ ${uuid} group by 1`);
  return JSON.stringify(Object.fromEntries(rows.map(({ kind, last }) => [kind, last])));
}

/** SQL of the value of a column in a copy. */
function inCopy({ table, name, type, target }: Column, steps: string): RawBuilder<unknown> {
  const column = sql.ref(`t.${name}`);
  const copyOf = (id: RawBuilder<unknown>) => sql`pg_temp.id_in_copy(${id}::text, c.number)`;
  const isShared = shared.test(name) || (target !== null && !copied.includes(target));
  if (type === 'uuid') return isShared ? column : sql`${copyOf(column)}::uuid`;
  if (type === 'uuid[]')
    return sql`(select coalesce(array_agg(${copyOf(sql`id`)}::uuid order by place), '{}') from unnest(${column}) with ordinality u (id, place))`;
  if (type === 'jsonb' && !isShared)
    return sql`case when ${column} = '[]' then ${column} else pg_temp.text_in_copy(${column}::text, c.number)::jsonb end`;
  if (table === 'staff' && name === 'email') return sql`replace(${column}, '@', '.' || c.number || '@')`;
  if (table === 'client_group' && name === 'name') return sql`${column} || ' ' || c.number + 1`;
  if (!numbered.test(name)) return column;
  const [kind, digits] = [sql`regexp_replace(${column}, '\\d+$', '')`, sql`substring(${column} from '\\d+$')`];
  const number = sql`(${digits}::bigint + c.number * (${steps}::jsonb ->> ${kind})::bigint)::text`;
  return sql`case when ${column} ~ ${uuid} then ${copyOf(column)}
    else ${kind} || lpad(${number}, greatest(length(${number}), length(${digits})), '0') end`;
}

/** Gives clients, contacts and staff of copies names of their own. */
async function renameParties(
  transaction: Transaction,
  tenantId: number,
  copies: number,
  { clients, staff }: Size,
): Promise<void> {
  const rename = async (table: string, count: number, kind: Parameters<typeof idOf>[0]) => {
    const numbers = Array.from({ length: count * (copies - 1) }, (_, index) => index);
    const ids = numbers.map((number) => idOf(kind, number % count));
    const people = numbers.map((number) => personName(number + 1_000));
    const [firsts, lasts] = [people.map(([first]) => first), people.map(([, last]) => last)];
    const businesses = numbers.map((number) => businessName(number + count));
    const named =
      table === 'client'
        ? sql`name = case when entity_type = 'INDIVIDUAL' then first || ' ' || last when entity_type = 'TRUST' then first || ' ' || last || ' Family Trust'
            else business end, legal_name = case when legal_name is not null then business || ', Inc.' end`
        : sql`first_name = first, last_name = last, display_name = first || ' ' || last`;
    await transaction.all(sql`
      update ${sql.table(table)} t set ${named}
      from unnest(${ids}::text[], ${firsts}::text[], ${lasts}::text[], ${businesses}::text[])
        with ordinality n (id, first, last, business, place)
      where t.tenant_id = ${tenantId} and t.id = pg_temp.id_in_copy(n.id, 1 + ((place - 1) / ${count})::integer)::uuid`);
  };
  await rename('client', clients, 'client');
  await rename('contact', 3 * clients, 'contact');
  await rename('staff', staff, 'staff');
}

/**
 * Statements that remove what would take hours row by row, and those that restore it: foreign keys, the triggers that update sums,
 * check rows and add those of reports, by the names of their functions, and indexes without a constraint.
 */
function removedObjects(transaction: Transaction): Promise<{ remove: string; restore: string }[]> {
  return transaction.all(sql`
    select * from (
      select 1 as place, format('alter table %s drop constraint %I', conrelid::regclass, conname) as remove,
        format('alter table %s add constraint %I %s', conrelid::regclass, conname, pg_get_constraintdef(oid)) as restore
      from pg_constraint
      where contype = 'f' and conparentid = 0 and conrelid = any (${copied}::regclass[]) 
      union all
      select 2, format('alter table %s disable trigger %I', t.tgrelid::regclass, t.tgname),
        format('alter table %s enable trigger %I', t.tgrelid::regclass, t.tgname)
      from pg_trigger t join pg_proc p on p.oid = t.tgfoid
      where not t.tgisinternal and t.tgrelid = any (${copied}::regclass[]) and p.proname similar to '(sum|check|report)\\_%'
      union all
      select 0, format('drop index %s', indexrelid::regclass), pg_get_indexdef(indexrelid)
      from pg_index where indrelid = any (${copied}::regclass[]) and not indisprimary
        and not exists (select from pg_constraint where conindid = indexrelid and contype in ('u', 'x'))) objects
    order by place, restore`);
}

async function checkBooks(transaction: Transaction, tenantId: number): Promise<void> {
  const found = [
    ...(await differencesOf(transaction, tenantId)).map(({ type, id, field }) => `${field} of ${type} ${id}`),
    ...(await findBreaches(transaction, tenantId)).map(({ rule, id, detail }) => `${rule}: ${id} has ${detail}`),
  ];
  if (found.length > 0)
    throw new Error(`The demo data is inconsistent in ${found.length} places, first in: ${found[0]}`);
}
