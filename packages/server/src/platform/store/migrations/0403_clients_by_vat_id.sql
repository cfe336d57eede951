-- without transaction
-- locks: share update exclusive on client

drop index concurrently if exists client_vat_id_index;
create index concurrently client_vat_id_index on client (tenant_id, vat_id, id) where (vat_id is not null);
