import { expect, test } from 'vitest';
import { misnumbered, violationsOf } from './rules.ts';

const inTransaction = '-- Why.\n-- locks: none\n\n';
const onItsOwn = '-- Why.\n-- locks: none\n-- without transaction\n\n';

test.each([
  ['no locks in the header', 'create table a (id integer);', /must say its locks/],
  ['locks that are no locks', '-- locks: some\ncreate table a (id integer);', /must say its locks/],
  ['an index that blocks writes', `${inTransaction}create index i on time_entry (id);`, /must be created concurrently/],
  [
    'an index in an anonymous block',
    `${inTransaction}do $$ begin create index i on time_entry (id); end $$;`,
    /must be created concurrently/,
  ],
  [
    'a concurrent index in a transaction',
    `${inTransaction}create index concurrently i on time_entry (id);`,
    /add the line "-- without transaction"/,
  ],
  [
    'an index that an interrupted run leaves invalid',
    `${onItsOwn}create index concurrently i on time_entry (id);`,
    /leaves i invalid/,
  ],
  ['a check of all rows', `${inTransaction}alter table client add constraint c check (a > 0);`, /"not valid"/],
  [
    'a foreign key over all rows',
    `${inTransaction}alter table a add constraint c foreign key (b) references c (b);`,
    /"not valid"/,
  ],
  ['a unique key', `${inTransaction}alter table client add constraint c unique (a);`, /"using index"/],
  ['a validation in a transaction', `${inTransaction}alter table client validate constraint c;`, /validated in a file/],
  ['all rows in one statement', `${inTransaction}update client set a = 1;`, /in batches/],
  ['all rows in one statement without transaction', `${onItsOwn}delete from client;`, /in batches/],
  ['a batch without limit', `${onItsOwn}-- in batches\nupdate client set a = 1 where a is null;`, /in batches/],
  ['another type', `${inTransaction}alter table client alter column a type bigint;`, /rewrites client/],
  [
    'a generated column',
    `${inTransaction}alter table client add column b text generated always as (a) stored;`,
    /rewrites all/,
  ],
  ['a reference in a new column', `${inTransaction}alter table client add column b uuid references a;`, /"not valid"/],
  ['a volatile default', `${inTransaction}alter table client add column b uuid default uuidv7();`, /rewrites client/],
  [
    'a new column without a value',
    `${inTransaction}alter table client add column a text default '', add column b numeric(12, 2) not null;`,
    /nullable or have a default/,
  ],
  [
    'a column that must not be null',
    `${inTransaction}alter table client alter column a set not null;`,
    /reads all of client/,
  ],
  [
    'a constraint that an interrupted run leaves behind',
    `${onItsOwn}alter table client add constraint c check (a > 0) not valid;`,
    /drop the constraint if it exists/,
  ],
  [
    'a column that an interrupted run leaves behind',
    `${onItsOwn}alter table client add column a text;`,
    /add the column if it does not exist/,
  ],
  [
    'a value that the version before does not write',
    `${inTransaction}alter table client add constraint c check (a is not null and b is not null) not valid;`,
    /one release later/,
  ],
  ['a lock of a table', `${inTransaction}lock table client;`, /lock a whole table/],
  ['a column that is dropped', `${inTransaction}alter table client drop column a;`, /one release later/],
  ['a table that is renamed', `${inTransaction}alter table client rename to customer;`, /one release later/],
  [
    'a table that is renamed before a view takes its name',
    `${onItsOwn}alter table client rename to customer;\ncreate view client as select 1;`,
    /one release later/,
  ],
])('rejects %s', (_what, text, reason) => {
  expect(violationsOf(text)).toEqual([expect.stringMatching(reason)]);
});

test.each([
  [
    'what a new table has',
    `${inTransaction}create table a (id integer); create index i on a (id); alter table a add constraint c check (id > 0); update a set id = 1;`,
  ],
  [
    'an index without transaction',
    `${onItsOwn}drop index concurrently if exists i;\ncreate index concurrently i on time_entry (id);`,
  ],
  ['a constraint for new rows', `${inTransaction}alter table client add constraint c check (a > 0) not valid;`],
  [
    'a constraint that the next run replaces',
    `${onItsOwn}alter table client drop constraint if exists c; alter table client add constraint c check (a > 0) not valid;`,
  ],
  [
    'a value that must be there with another one',
    `${inTransaction}alter table client add constraint c check (a is null or b is not null) not valid;`,
  ],
  ['a validation on its own', `${onItsOwn}alter table client validate constraint c;`],
  [
    'rows in batches',
    `${onItsOwn}-- in batches\nupdate client set a = 1 where id in (select id from client where a is null limit 1000);`,
  ],
  ['a column with a constant', `${inTransaction}alter table client add column b integer not null default 0;`],
  [
    'a column that a valid constraint has proven',
    `${inTransaction}alter table client alter column a set not null; alter table client drop constraint client_a_present;`,
  ],
  [
    'a function that changes rows',
    `${inTransaction}create function f() returns void language sql as $$ update client set a = 1; delete from a; $$;`,
  ],
  [
    'a table that is renamed and loses a column, when a view takes its name',
    `${inTransaction}alter table client rename to customer; alter table customer drop column a; create view client as select 1;`,
  ],
  [
    'a removal one release later',
    `-- locks: access exclusive on client\n-- contracts: v9.9.0\nalter table client drop column a;`,
  ],
])('accepts %s', (_what, text) => {
  expect(violationsOf(text)).toEqual([]);
});

test('rejects a number that is used twice, and a name without a number', () => {
  expect(misnumbered(['0230_pages', '0231_keys'])).toEqual([]);
  expect(misnumbered(['0230_pages', '0230_keys', 'more'])).toEqual([
    expect.stringMatching(/^0230_keys: another migration has its number/),
    expect.stringMatching(/^more: a name is four digits and a subject/),
  ]);
});
