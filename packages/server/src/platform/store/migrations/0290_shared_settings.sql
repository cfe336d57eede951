-- Settings that must be the same in all processes. Those of a process that starts are compared with them.
-- locks: none

create table shared_setting (
  name text collate "C" not null primary key,
  value text collate "C" not null
);
