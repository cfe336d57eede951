-- Sessions of the console that somebody ended by signing out. A cookie that was copied before is of no use after it.
-- locks: none

create table ended_session (
  tenant_id integer not null,
  id text collate "C" not null,
  -- When the session would have ended by itself: the row can be removed then.
  expires_at timestamptz(3) not null,
  primary key (tenant_id, id)
);
call protect_tenant_table('ended_session', 'select, insert, delete');
