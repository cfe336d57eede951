-- Records that are written in the background, many in one request.
-- locks: share row exclusive on api_user, share row exclusive on file

create table record_batch (
  tenant_id integer not null,
  id uuid not null,
  total integer not null,
  created integer not null default 0,
  updated integer not null default 0,
  unchanged integer not null default 0,
  failed integer not null default 0,
  -- The first of them.
  failures jsonb not null default '[]',
  result_file_id uuid,
  created_by_api_user_id uuid not null,
  created_at timestamptz(3) not null default tenant_now(),
  finished_at timestamptz(3),
  constraint record_batch_total_range check (created + updated + unchanged + failed between 0 and total),
  constraint record_batch_finished_at_agrees check (
    (finished_at is null) = (result_file_id is null) and (finished_at is null or created + updated + unchanged + failed = total)),
  primary key (tenant_id, id),
  constraint record_batch_created_by_api_user_id_reference foreign key (tenant_id, created_by_api_user_id) references api_user (tenant_id, id),
  constraint record_batch_result_file_id_reference foreign key (tenant_id, result_file_id) references file (tenant_id, id)
);
call protect_tenant_table('record_batch', 'select, insert, update');

-- The records of an unfinished batch as they were sent, with their results. The file has the results of a finished one.
create table record_batch_item (
  tenant_id integer not null,
  record_batch_id uuid not null,
  index integer not null,
  entry jsonb not null,
  result jsonb,
  primary key (tenant_id, record_batch_id, index),
  constraint record_batch_item_record_batch_id_reference foreign key (tenant_id, record_batch_id) references record_batch (tenant_id, id)
);
call protect_tenant_table('record_batch_item', 'select, insert, update, delete');
