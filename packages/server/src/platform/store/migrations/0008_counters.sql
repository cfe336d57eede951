-- Numbers that people read: the last one that was assigned, by column (`client.client_ref`). Gaps are allowed here; invoice
-- numbers, which may have none, have a counter of their own.
create table tenant_counter (
  tenant_id integer not null,
  name text collate "C" not null,
  value integer not null,
  primary key (tenant_id, name)
);
call protect_tenant_table('tenant_counter', 'select, insert, update');
