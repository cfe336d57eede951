-- Requests that count towards limits, by key and for a window of time, for all processes together. The columns are those of the library
-- that counts. A crash of the server may lose them.
-- locks: none

create unlogged table request_count (
  key text collate "C" primary key,
  points integer not null default 0,
  -- The end of the window, in milliseconds since 1970.
  expire bigint
) with (fillfactor = 50);
