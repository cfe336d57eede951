-- Marks in large tables: every 5,000 rows in the order of their IDs, how many rows come before. A page by number is then found from the
-- nearest mark, and not by reading all rows before it. Marks only save time: without them, a page is found from the first row.
create table page_mark (
  tenant_id integer not null,
  table_name text collate "C" not null,
  rows_before integer not null,
  id uuid not null,
  primary key (tenant_id, table_name, rows_before),
  constraint page_mark_id_unique unique (tenant_id, table_name, id)
);
call protect_tenant_table('page_mark', 'select, insert, delete');

-- Rows are never removed, and new ones have the greatest IDs, but for those of concurrent transactions and of other clocks: these remove
-- the marks after them. They share a lock that marking needs alone, so that no mark misses a row that is not committed yet.
create function keep_page_marks() returns trigger language plpgsql as $$
begin
  perform pg_advisory_xact_lock_shared(72305, (select n.tenant_id from new_rows n limit 1));
  delete from page_mark m using (select n.tenant_id, n.id from new_rows n order by n.id limit 1) first
    where m.tenant_id = first.tenant_id and m.table_name = tg_table_name and m.id > first.id;
  return null;
end
$$;
create trigger time_entry_page_marks after insert on time_entry
  referencing new table as new_rows for each statement execute function keep_page_marks();
create trigger expense_entry_page_marks after insert on expense_entry
  referencing new table as new_rows for each statement execute function keep_page_marks();
create trigger wip_entry_page_marks after insert on wip_entry
  referencing new table as new_rows for each statement execute function keep_page_marks();

-- Adds the next marks of a table, a few at a time, because inserts wait meanwhile. Returns how many; the table is marked if they are
-- fewer than requested.
create function add_page_marks(tenant integer, marked_table text, most integer) returns integer language plpgsql as $$
declare
  first_id uuid := '00000000-0000-0000-0000-000000000000';
  first_rows integer := 0;
  added integer;
begin
  perform pg_advisory_xact_lock(72305, tenant);
  select m.id, m.rows_before into first_id, first_rows from page_mark m
    where m.tenant_id = tenant and m.table_name = marked_table order by m.rows_before desc limit 1;
  execute format('insert into page_mark (tenant_id, table_name, rows_before, id)
    select $1, $2, $3 + r.n, r.id
    from (select e.id, (row_number() over (order by e.id) - 1)::integer as n from %I e
      where e.tenant_id = $1 and e.id >= $4 order by e.id limit $5 * 5000 + 1) r
    where r.n > 0 and r.n %% 5000 = 0', marked_table)
    using tenant, marked_table, coalesce(first_rows, 0), coalesce(first_id, '00000000-0000-0000-0000-000000000000'), most;
  get diagnostics added = row_count;
  return added;
end
$$;

-- The tables that have marks.
create function page_marked_tables() returns setof text language sql stable
begin atomic
  select distinct c.relname::text from pg_trigger t join pg_class c on c.oid = t.tgrelid
  where t.tgfoid = 'keep_page_marks'::regproc;
end;
