-- without transaction
-- locks: access exclusive on client

drop index concurrently if exists client_merged_into_id_index;
create index concurrently client_merged_into_id_index on client (tenant_id, merged_into_id) where merged_into_id is not null;

call lift_protection('client');

alter table client validate constraint client_merged_into_id_other;
alter table client validate constraint client_merged_into_id_inactive;
alter table client validate constraint client_merged_into_id_reference;

call restore_protection('client');
