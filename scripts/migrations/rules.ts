import { type MigrationFile, parseMigration } from '../../packages/server/src/platform/store/migration-file.ts';

/**
 * Returns what is wrong with the names of migrations. Four digits and a subject; each number once, so that two branches that take the same one
 * notice it when they are merged, and no process applies them in another order.
 */
export function misnumbered(names: readonly string[]): string[] {
  const numbers = names.map((name) => name.slice(0, 4));
  return names.flatMap((name, index) => {
    if (!/^\d{4}_[a-z][a-z0-9_]*$/.test(name))
      return [`${name}: a name is four digits and a subject, such as 0230_page_bytes.`];
    return numbers.indexOf(numbers[index] ?? '') < index
      ? [`${name}: another migration has its number. Take the next one.`]
      : [];
  });
}

/** A statement, and what it is about. */
interface Statement {
  /** In lower case, with single spaces, and without texts and the bodies of functions. */
  readonly text: string;
  readonly inBatches: boolean;
}

interface Context {
  readonly file: MigrationFile;
  readonly statements: readonly Statement[];
  /** Tables that this file creates: nobody uses them yet. */
  readonly created: ReadonlySet<string>;
  /** New names of tables that this file renames while another table or a view takes the old name: it serves the version before. */
  readonly replaced: ReadonlySet<string>;
}

/** Returns what is wrong with a statement, or nothing. */
type Rule = (statement: Statement, context: Context) => string | undefined;

/** Returns the reasons why a migration would keep requests waiting, or break the version that still runs beside it. */
export function violationsOf(text: string): string[] {
  const file = parseMigration(text);
  const statements = file.statements.flatMap(asStatements);
  const created = new Set(
    statements.flatMap(({ text: one }) => one.match(/^create table (?:if not exists )?(\w+)/)?.[1] ?? []),
  );
  const views = statements.flatMap(({ text: one }) => one.match(/^create view (\w+)/)?.[1] ?? []);
  const replaced = new Set(
    statements.flatMap(({ text: one }) => {
      const [, from = '', to = ''] = /^alter table (\w+) rename to (\w+)$/.exec(one) ?? [];
      return file.inTransaction && (created.has(from) || views.includes(from)) ? [to] : [];
    }),
  );
  const context = { file, statements, created, replaced };
  return [
    ...headerViolations(file),
    ...statements.flatMap((statement) => rules.flatMap((rule) => rule(statement, context) ?? [])),
  ];
}

function headerViolations({ locks }: MigrationFile): string[] {
  const mode = '(?:share|share update exclusive|share row exclusive|exclusive|access exclusive) on \\w+';
  if (locks !== undefined && new RegExp(`^(?:none|${mode}(?:, ${mode})*)$`).test(locks)) return [];
  return [
    'The comments at the start must say its locks, such as "-- locks: share row exclusive on client", or "-- locks: none".',
  ];
}

function asStatements({ text, inBatches }: { text: string; inBatches: boolean }): Statement[] {
  // The statements of an anonymous block run now; those of a function run later.
  const block = /^do\b[^$]*\$(\w*)\$([\s\S]*)\$\1\$/i.exec(text)?.[2];
  if (block !== undefined)
    return parseMigration(block.replace(/^\s*(?:declare[\s\S]*?)?begin\b/i, '')).statements.flatMap(asStatements);
  const plain = text
    .replace(/\$(\w*)\$[\s\S]*?\$\1\$/g, '$$$$')
    .replace(/'(?:[^']|'')*'/g, "''")
    .replace(/\s+/g, ' ')
    .toLowerCase();
  return [{ text: plain, inBatches }];
}

const rules: readonly Rule[] = [
  ({ text }, { file, statements, created }) => {
    const index = /^create (?:unique )?index (concurrently )?(?:if not exists )?(\w+) on (?:only )?(\w+)/.exec(text);
    if (index === null || created.has(index[3] ?? '')) return undefined;
    const [, concurrently, name = '', table = ''] = index;
    if (concurrently === undefined)
      return `An index on ${table} must be created concurrently, in a file with the line "-- without transaction".`;
    if (file.inTransaction) return `The index ${name} is created concurrently: add the line "-- without transaction".`;
    const dropped = statements.some((one) => one.text === `drop index concurrently if exists ${name}`);
    return dropped
      ? undefined
      : `A run that was interrupted leaves ${name} invalid: drop it concurrently if it exists, first.`;
  },
  ({ text }, { created }) => {
    const [, table = ''] = /^alter table (?:only )?(\w+)/.exec(text) ?? [];
    if (table === '' || created.has(table) || !/\badd constraint\b/.test(text)) return undefined;
    if (/\b(?:unique|primary key) using index\b/.test(text)) return undefined;
    if (/\b(?:unique|primary key)\b/.test(text))
      return `A key of ${table} must be added "using index", with an index that an earlier migration created concurrently.`;
    if (/\bexclude\b/.test(text)) return `An exclusion constraint reads all of ${table}. Add a new table instead.`;
    return /\bnot valid$/.test(text)
      ? undefined
      : `A constraint of ${table} must be added as "not valid", and be validated by a later statement without transaction.`;
  },
  ({ text }, { file, statements }) => {
    const [, table = '', what = '', name = ''] =
      /^alter table (?:only )?(\w+) add (constraint|column) (?!if not exists )(\w+)/.exec(text) ?? [];
    if (table === '' || file.inTransaction) return undefined;
    if (what === 'column') return `A run that was interrupted has added ${name}: add the column if it does not exist.`;
    return statements.some((one) => one.text === `alter table ${table} drop constraint if exists ${name}`)
      ? undefined
      : `A run that was interrupted has added ${name}: drop the constraint if it exists, first.`;
  },
  ({ text }, { file, created }) => {
    const [, table = ''] =
      /^alter table (?:only )?(\w+) .*\badd constraint \w+ check \(.*\bis not null\b/.exec(text) ?? [];
    return table === '' || created.has(table) || file.contracts !== undefined || /\bor\b|\bcase\b|=/.test(text)
      ? undefined
      : `The version before writes rows of ${table} without a value. Require it one release later, in a file with the line "-- contracts: <version that writes it>".`;
  },
  ({ text }, { file }) =>
    /\bvalidate constraint\b/.test(text) && file.inTransaction
      ? 'A constraint must be validated in a file with the line "-- without transaction": its locks would be held meanwhile.'
      : undefined,
  ({ text, inBatches }, { file, created }) => {
    const [, table = ''] = /^(?:with\b.*? )?(?:update|delete from) (?:only )?(\w+)/.exec(text) ?? [];
    if (table === '' || created.has(table)) return undefined;
    return inBatches && !file.inTransaction && /\blimit \d+/.test(text)
      ? undefined
      : `Rows of ${table} must be changed in batches: "-- without transaction", and a statement with a limit after the line "-- in batches".`;
  },
  ({ text }, { created, statements }) => {
    const [, table = ''] = /^alter table (?:only )?(\w+)/.exec(text) ?? [];
    if (table === '' || created.has(table)) return undefined;
    if (/\balter (?:column )?\w+ (?:set data )?type\b/.test(text))
      return `Another type rewrites ${table}. Add a column, fill it in batches, and use it in the next version.`;
    if (
      /\badd (?:column )?(?:if not exists )?\w+ [^,]*\b(?:generated|references|unique|primary key|check)\b/.test(
        withoutConstraints(text),
      )
    )
      return `A generated column, or one with a constraint, reads or rewrites all of ${table}. Add the constraint as "not valid".`;
    if (
      /\badd (?:column )?(?:if not exists )?\w+ [^,]*\bdefault (?!null\b|true\b|false\b|-?\d|''|now\(\)|current_)/.test(
        text,
      )
    )
      return `A default that is not constant rewrites ${table}.`;
    // In parentheses are parts of types, such as numeric(12, 2).
    const columns = withoutConstraints(text).replaceAll(/\([^()]*\)/g, '');
    if (/\badd (?:column )?(?:if not exists )?\w+ (?![^,]*\b(?:default|generated)\b)[^,]*\bnot null\b/.test(columns))
      return `A new column of ${table} must be nullable or have a default: its rows, and those that the version before writes, have no value.`;
    if (!/\bset not null\b/.test(text)) return undefined;
    const proven = statements.some((one) => one.text.startsWith(`alter table ${table} drop constraint `));
    return proven
      ? undefined
      : `"set not null" reads all of ${table}: validate a check constraint first, and drop it in the same file as "set not null".`;
  },
  ({ text }) =>
    /^(?:lock table|cluster|vacuum full|truncate|reindex (?!.*concurrently))/.test(text)
      ? 'Statements that lock a whole table are not allowed.'
      : undefined,
  ({ text }, { file, replaced }) =>
    file.contracts === undefined &&
    !replaced.has(/^alter table \w+ rename to (\w+)$/.exec(text)?.[1] ?? '') &&
    !replaced.has(/^alter table (\w+) drop column \w+$/.exec(text)?.[1] ?? '') &&
    /^(?:drop (?:table|view|function|procedure|type)\b|alter table .*\b(?:drop column|rename)\b|alter (?:function|type) .*\brename\b)/.test(
      text,
    )
      ? 'The version before still uses what is removed or renamed. Do it one release later, in a file with the line "-- contracts: <version that does without>".'
      : undefined,
];

function withoutConstraints(text: string): string {
  return text.replaceAll(/\badd constraint\b[^,]*/g, '');
}
