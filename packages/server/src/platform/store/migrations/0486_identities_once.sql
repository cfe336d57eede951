-- without transaction
-- locks: share update exclusive on api_user

drop index concurrently if exists api_user_identity_unique;
create unique index concurrently api_user_identity_unique on api_user (tenant_id, identity);
