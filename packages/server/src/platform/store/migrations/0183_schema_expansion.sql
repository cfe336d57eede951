-- The names of migrations that the version before does not notice. Migrations create the table before they start; it is created here for
-- databases that have all others.
-- locks: none

create table if not exists schema_expansion (name varchar(255) primary key, timestamp varchar(255) not null);
