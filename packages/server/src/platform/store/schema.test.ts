import { sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import { testStore } from '../../../test/database.ts';

/** Rules for all tables, so that future migrations keep them. Each query finds violations of one. */
const rules = {
  'a table with a tenant is under forced row-level security': `
    select relname from pg_class c
    where relkind in ('r', 'p') and relnamespace = 'public'::regnamespace and relname in (select tenant_table from tenant_tables)
      and not (relrowsecurity and relforcerowsecurity
        and exists (select from pg_policy where polrelid = c.oid and polqual is not null and polwithcheck is not null))`,
  'requests cannot access a table without a tenant': `
    select relname from pg_class
    where relkind in ('r', 'p') and relnamespace = 'public'::regnamespace
      and relname not in (select tenant_table from tenant_tables)
      and has_table_privilege('financial_automation_service', oid, 'select, insert, update, delete')`,
  'the tenant is the first column of every index of its table, unless the owner works on the rows of all tenants': `
    select i.indexrelid::regclass::text from pg_index i
    join pg_class c on c.oid = i.indrelid and c.relnamespace = 'public'::regnamespace
      and c.relname in (select tenant_table from tenant_tables)
    join pg_attribute a on a.attrelid = i.indrelid and a.attnum = i.indkey[0]
    where a.attname <> 'tenant_id'
      and not exists (select from pg_policy where polrelid = c.oid and polname = c.relname || '_owner')`,
  'the tenant is the first column of every reference': `
    select conname from pg_constraint
    join pg_attribute a on a.attrelid = conrelid and a.attnum = conkey[1]
    where connamespace = 'public'::regnamespace and contype = 'f' and a.attname <> 'tenant_id'`,
  'text sorts by code point': `
    select table_name || '.' || column_name from information_schema.columns
    where table_schema = 'public' and data_type = 'text' and collation_name is distinct from 'C'`,
  'instants are stored with milliseconds, amounts exactly': `
    select table_name || '.' || column_name from information_schema.columns
    where table_schema = 'public' and (data_type in ('timestamp without time zone', 'real', 'double precision', 'money')
      or (data_type = 'timestamp with time zone' and datetime_precision <> 3))`,
  'a constraint is named by what it checks': `
    select conname from pg_constraint
    where connamespace = 'public'::regnamespace
      -- Those of a partition have the names of its table.
      and coninhcount = 0 and conparentid = 0
      and conname !~ case contype when 'f' then '^' || conrelid::regclass || '_.*_reference$'
        when 'u' then '^' || conrelid::regclass || '_.*_unique$'
        when 'c' then '^' || conrelid::regclass || '_' else '' end`,
  'a trigger that derives or checks rows does nothing while a tenant is copied': `
    select tgrelid::regclass || '.' || tgname from pg_trigger t join pg_proc f on f.oid = t.tgfoid
    where not tgisinternal and (tgrelid::regclass::text in (select tenant_table from tenant_tables) or tgrelid = 'tenant'::regclass)
      and tgrelid not in (select oid from pg_class where relkind = 'v')
      and pg_get_triggerdef(t.oid) not like '%current_setting(''app.copies_rows''::text, true) IS DISTINCT FROM ''on''::text%'
      and f.proname not in ('refuse_change', 'refuse_change_but_merge', 'keep_payment_link_token', 'announce_jobs', 'place_tenant', 'tenant_is_empty')`,
  'an entity can be found by its time of change': `
    select t.tenant_table from tenant_tables t
    where exists (select from information_schema.columns where table_name = t.tenant_table and column_name = 'sys_refs')
      and not exists (select from pg_indexes
        where tablename = t.tenant_table and indexdef like '%(tenant_id, updated_at, id)')`,
};

const { store } = await testStore();

describe.each(Object.entries(rules))('%s', (_name, query) => {
  test('has no exceptions', async () => {
    const exceptions = await store.system((transaction) =>
      transaction.all(sql`
        with tenant_tables as (select table_name::text as tenant_table from information_schema.columns
          where table_schema = 'public' and column_name = 'tenant_id'),
        exceptions (name) as (${sql.raw(query)})
        select name from exceptions`),
    );
    expect(exceptions).toEqual([]);
  });
});

test('the rules apply to existing objects', async () => {
  const counted = await store.system((transaction) =>
    transaction.first<{ tables: number }>(sql`
      select count(*) as tables from information_schema.columns
      where table_schema = 'public' and column_name = 'tenant_id'`),
  );
  expect(counted?.tables).toBeGreaterThan(20);
});
