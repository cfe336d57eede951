-- What imports last sent for rows, as digests: a record that is sent again as it was changes nothing, whatever happened to its row since.
-- locks: none

create table imported_content (
  tenant_id integer not null,
  type text collate "C" not null,
  system_ref text collate "C" not null,
  digest bytea not null,
  constraint imported_content_key_unique primary key (tenant_id, type, system_ref)
);
call protect_tenant_table('imported_content', 'select, insert, update');
