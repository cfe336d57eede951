-- without transaction
-- locks: share update exclusive on client, share update exclusive on contact, share update exclusive on engagement, share update exclusive on expense_entry, share update exclusive on job, share update exclusive on staff, share update exclusive on task, share update exclusive on time_entry

drop index concurrently if exists client_search_index;
create index concurrently client_search_index on client using gin (tenant_id, search_text(name) gin_trgm_ops, search_text(legal_name) gin_trgm_ops);
drop index concurrently if exists contact_search_index;
create index concurrently contact_search_index on contact using gin (tenant_id, search_text(display_name) gin_trgm_ops, search_text(last_name) gin_trgm_ops, search_text(first_name) gin_trgm_ops);
drop index concurrently if exists staff_search_index;
create index concurrently staff_search_index on staff using gin (tenant_id, search_text(display_name) gin_trgm_ops, search_text(last_name) gin_trgm_ops, search_text(first_name) gin_trgm_ops);
drop index concurrently if exists job_search_index;
create index concurrently job_search_index on job using gin (tenant_id, search_text(name) gin_trgm_ops);
drop index concurrently if exists task_search_index;
create index concurrently task_search_index on task using gin (tenant_id, search_text(name) gin_trgm_ops);
drop index concurrently if exists engagement_search_index;
create index concurrently engagement_search_index on engagement using gin (tenant_id, search_text(name) gin_trgm_ops);
drop index concurrently if exists time_entry_search_index;
create index concurrently time_entry_search_index on time_entry using gin (tenant_id, search_text(description) gin_trgm_ops, search_text(internal_note) gin_trgm_ops);
drop index concurrently if exists expense_entry_search_index;
create index concurrently expense_entry_search_index on expense_entry using gin (tenant_id, search_text(description) gin_trgm_ops);
