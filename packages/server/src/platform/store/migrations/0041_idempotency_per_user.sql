-- A key is bound to the API user, not to one operation of that user. Where a user has sent a key to several operations in the
-- last day, the first use is kept.
call lift_protection('idempotency_key');
delete from idempotency_key later using idempotency_key earlier
  where later.tenant_id = earlier.tenant_id and later.api_user_id = earlier.api_user_id and later.key = earlier.key
    and (later.created_at, later.operation) > (earlier.created_at, earlier.operation);
alter table idempotency_key drop constraint idempotency_key_api_user_id_operation_key_unique;
alter table idempotency_key add constraint idempotency_key_api_user_id_key_unique primary key (tenant_id, api_user_id, key);
call restore_protection('idempotency_key');
