-- The values of fields that a custom type declares unique. The database keeps them unique by this key, which it could not
-- for values inside the JSON of a row. Only active records have rows here. A value can be longer than a key, so
-- its digest is stored.
create table custom_record_value (
  tenant_id integer not null,
  type text collate "C" not null,
  field text collate "C" not null,
  digest text collate "C" not null,
  record_id uuid not null,
  constraint custom_record_value_type_field_digest_unique primary key (tenant_id, type, field, digest),
  constraint custom_record_value_record_id_reference
    foreign key (tenant_id, record_id) references custom_record (tenant_id, id)
);
call protect_tenant_table('custom_record_value', 'select, insert, delete');
create index custom_record_value_record_id_index on custom_record_value (tenant_id, record_id);
