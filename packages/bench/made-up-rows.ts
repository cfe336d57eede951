/**
 * Rows of large tenants, written to their tables without the rules of the service, which would take minutes or hours for as many. IDs
 * and names depend on the number of the row, so each run reads the same rows.
 */
import { isMarked, writeSumsOfClients } from '@financial-automation/server/bench';
import type { Store } from '@financial-automation/server/service';
import { sql } from 'kysely';

/** Adds clients, contacts and their links. @returns the ID of a client */
export async function seedContacts(
  store: Store,
  tenantId: number,
  { clients, contacts, linksOfEach }: Readonly<Record<'clients' | 'contacts' | 'linksOfEach', number>>,
): Promise<string> {
  const id = (kind: number, number: string) =>
    sql.raw(`overlay(overlay(md5('${kind}/' || ${number})::text placing '7' from 13) placing '8' from 17)::uuid`);
  return store.write(tenantId, async (transaction) => {
    await transaction.all(sql`
      insert into org (tenant_id, id, system_ref, name, legal_name, code, currency, country, time_zone, fiscal_year_start_month)
      select ${tenantId}, ${id(0, "'org'")}, 'bench', 'Bench', 'Bench', 'bench', 'USD', 'US', 'UTC', 1
      where not exists (select 1 from org where tenant_id = ${tenantId})`);
    await transaction.all(sql`
      insert into client (tenant_id, id, system_ref, name, legal_name, client_ref, pms_ref, status, org_id, currency,
        outstanding_balance)
      select ${tenantId}, ${id(1, 'n')}, 'client-' || n, initcap(substr(md5(n::text), 1, 7)) || ' Holdings ' || n,
        initcap(substr(md5(n::text), 8, 9)) || ' LLC', 'C-' || lpad(n::text, 6, '0'), 'C-' || lpad(n::text, 6, '0'),
        (array['ACTIVE', 'PROSPECT', 'INACTIVE'])[1 + n % 3], (select id from org where tenant_id = ${tenantId} limit 1),
        'USD', n % 5000
      from generate_series(1, ${clients}::integer) n`);
    await transaction.all(sql`
      insert into contact (tenant_id, id, system_ref, pms_ref, first_name, last_name, display_name, email)
      select ${tenantId}, ${id(2, 'n')}, 'contact-' || n, 'P-' || lpad(n::text, 6, '0'), first, last, first || ' ' || last,
        lower(first || '.' || last || '.' || n || '@example.com')
      from generate_series(1, ${contacts}::integer) n,
        lateral (select initcap(substr(md5('f' || n), 1, 6)) as first, initcap(substr(md5('l' || n), 1, 9)) as last) names`);
    await transaction.all(sql`
      insert into contact_client (tenant_id, id, system_ref, contact_id, client_id, roles)
      select ${tenantId}, ${id(3, "n || '/' || k")}, 'link-' || n || '-' || k, ${id(2, 'n')},
        ${id(1, `(1 + (n * 7919 + k * 104729) % ${clients})`)}, array[(array['OTHER', 'SIGNER'])[1 + n % 2]]
      from generate_series(1, ${contacts}::integer) n, generate_series(1, ${linksOfEach}::integer) k`);
    const one = await transaction.first<{ id: string }>(
      sql`select id from client where tenant_id = ${tenantId} limit 1`,
    );
    return one?.id ?? '';
  });
}

/** Adds approved and submitted entries of three years. */
export async function fillTimeEntries(store: Store, tenantId: number, rows: number): Promise<void> {
  const amount = 'case when n % 10 <> 0 then 150 + n % 7 * 10 else 0 end';
  await fillAlone(store, 'time_entry', '^(?!time_entry_work_date_index$).*_index$', [
    `insert into time_entry (tenant_id, id, system_ref, staff_id, job_id, work_date, hours, is_billable, status, approved_at,
        billing_rate, amount)
      select ${tenantId}, r.id, r.id::text, ${numberedId('a000', 'n % 200')}, ${numberedId('9000', 'n % 6000')},
        date '2023-11-01' + (n * 1095.0 / ${rows})::integer, (1 + n % 32) * 0.25, n % 10 <> 0,
        case when n % 50 = 0 then 'SUBMITTED' else 'APPROVED' end, case when n % 50 = 0 then null else now() end,
        ${amount}, round((1 + n % 32) * 0.25 * ${amount}, 2)
      from (select n, uuidv7() as id from generate_series(1, ${rows}) n) r`,
  ]);
  // As the clock does once a day.
  while (!(await store.write(tenantId, (transaction) => isMarked(transaction, tenantId, 'time_entry'))));
}

/** Adds three years of work of which nearly all is billed after 15 to 74 days, and invoices of which nearly all are paid after 20 to 79 days. */
export async function fillLedger(store: Store, tenantId: number, rows: number): Promise<void> {
  const [works, invoices] = [Math.round(rows * 0.44), Math.round(rows * 0.04)];
  const day = (count: number) => `date '2023-11-01' + (n * 1050.0 / ${count})::integer`;
  const entries = (select: string) => `
    insert into ledger_entry (tenant_id, id, account, kind, amount, currency, business_date, recorded_at, client_id, job_id,
      invoice_id, payment_id, wip_entry_id, due_date, work_date, document_date)
    select ${tenantId}, uuidv7(), account, kind, amount, 'USD', day, day + interval '15 hours', ${numberedId('8000', 'n % 1500')},
      job_id, invoice_id, payment_id, wip_entry_id, due_date, work_date, document_date from (${select}) e`;
  await fillAlone(store, 'ledger_entry', '(invoice|payment|wip_entry|job)_id_index', [
    entries(`
      select n, 'WIP' as account, kind, sign * (50 + n % 400) * 1.25 as amount, ${day(works)} + case kind when 'BILLED' then 15 + n % 60 else 0 end as day,
        ${numberedId('9000', 'n % 6000')} as job_id, null::uuid as invoice_id, null::uuid as payment_id,
        ${numberedId('a000', 'n')} as wip_entry_id, null::date as due_date, ${day(works)} as work_date, null::date as document_date
      from generate_series(1, ${works}) n, (values ('WORK', 1), ('BILLED', -1)) k (kind, sign)
      where kind = 'WORK' or n % 20 <> 0`),
    entries(`
      select n, account, kind, sign * (500 + n % 4000) * 1.25 as amount,
        ${day(invoices)} + case when kind = 'INVOICE' then 0 else 20 + n % 60 end as day, null::uuid as job_id,
        case when kind <> 'PAYMENT' then ${numberedId('b000', 'n')} end as invoice_id,
        case when kind <> 'INVOICE' then ${numberedId('c000', 'n')} end as payment_id, null::uuid as wip_entry_id,
        case when account = 'RECEIVABLE' then ${day(invoices)} + 30 end as due_date, null::date as work_date,
        ${day(invoices)} + case when account = 'RECEIVABLE' then 0 else 20 + n % 60 end as document_date
      from generate_series(1, ${invoices}) n,
        (values ('RECEIVABLE', 'INVOICE', 1), ('CREDIT', 'PAYMENT', 1), ('RECEIVABLE', 'ALLOCATION', -1), ('CREDIT', 'ALLOCATION', -1))
          k (account, kind, sign)
      where kind = 'INVOICE' or n % 20 <> 0`),
  ]);
  // As the triggers of the table do.
  await store.write(tenantId, async (transaction) => {
    const found = await transaction.all<{ id: string }>(
      sql`select distinct client_id as id from ledger_entry where tenant_id = ${tenantId}`,
    );
    const clients = found.map(({ id }) => id);
    await writeSumsOfClients(transaction, tenantId, clients);
    await transaction.all(sql`
      insert into ledger_day (tenant_id, business_date, account, currency, due_date, work_date, amount, entries)
      select tenant_id, business_date, account, currency, due_date, work_date, sum(amount), count(*)
      from ledger_entry where tenant_id = ${tenantId} group by 1, 2, 3, 4, 5, 6`);
  });
}

function numberedId(group: string, number: string): string {
  return `('01900000-0000-7000-${group}-' || lpad(to_hex(${number}), 12, '0'))::uuid`;
}

/** Fills a table without the rows that it refers to, without triggers, and without indexes that no measured read uses. */
async function fillAlone(store: Store, table: string, unused: string, inserts: readonly string[]): Promise<void> {
  const statements = [
    `do $$ declare one record; begin
      for one in select conname from pg_constraint where contype = 'f' and conrelid = '${table}'::regclass
      loop execute format('alter table ${table} drop constraint %I', one.conname); end loop; end $$`,
    `alter table ${table} disable trigger user`,
    `alter table ${table} no force row level security`,
    `do $$ declare one text; begin
      for one in select indexname from pg_indexes where tablename = '${table}' and indexname ~ '${unused}'
      loop execute 'drop index ' || quote_ident(one); end loop; end $$`,
    ...inserts,
    `analyze ${table}`,
  ];
  for (const statement of statements) await store.system((transaction) => transaction.all(sql.raw(statement)));
}
