import { expect, test } from 'vitest';
import { parseMigration } from './migration-file.ts';

test('parseMigration › reads what the comments at the start say', () => {
  expect(parseMigration('-- Why.\n-- locks: share on client\n-- without transaction\n\nselect 1;')).toMatchObject({
    locks: 'share on client',
    inTransaction: false,
  });
  expect(parseMigration('select 1;\n-- locks: none\n-- without transaction\n')).toMatchObject({
    locks: undefined,
    inTransaction: true,
  });
});

test('parseMigration › splits statements, but not texts, comments and bodies of functions', () => {
  const body = 'create function f() returns text language sql as $a$ select 1; select $$;$$; $a$';
  const text = `-- one; two\nselect ';''', ";" ; ${body};\n-- in batches\ndelete from a -- ;\n where b;\nselect 2`;
  expect(parseMigration(text).statements).toEqual([
    { text: `select ';''', ";"`, inBatches: false },
    { text: body, inBatches: false },
    { text: 'delete from a \n where b', inBatches: true },
    { text: 'select 2', inBatches: false },
  ]);
});
