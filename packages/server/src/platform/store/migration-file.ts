/** One statement of a migration, without the comments around it. */
export interface MigrationStatement {
  readonly text: string;
  /** Whether it runs again, each time in its own transaction, until it affects no row. */
  readonly inBatches: boolean;
}

/** What a migration says about itself in the comments at its start, and its statements. */
export interface MigrationFile {
  /**
   * The locks that it takes on tables that existed before, such as `share on time_entry, access exclusive on client`, or
   * `none`. Locks that conflict neither with reads nor with writes of rows need not be named. Undefined in earlier files.
   */
  readonly locks: string | undefined;
  /** False: each statement runs on its own, because it cannot run in a transaction, or locks would be held for too long. */
  readonly inTransaction: boolean;
  /** The first version that works without what it removes; undefined if it removes nothing. */
  readonly contracts: string | undefined;
  readonly statements: readonly MigrationStatement[];
}

export function parseMigration(text: string): MigrationFile {
  const header = /^(?:--.*\n|\n)*/.exec(text)?.[0] ?? '';
  return {
    locks: /^-- locks: (.+)$/m.exec(header)?.[1],
    inTransaction: !/^-- without transaction$/m.test(header),
    contracts: /^-- contracts: (.+)$/m.exec(header)?.[1],
    statements: statementsOf(text),
  };
}

/** Comments, texts, quoted names, and the bodies of functions: a semicolon inside of them ends no statement. */
const opaque = /--[^\n]*|'(?:[^']|'')*'|"[^"]*"|\$(\w*)\$[\s\S]*?\$\1\$|;/g;

function statementsOf(text: string): MigrationStatement[] {
  const found: MigrationStatement[] = [];
  let statement = '';
  let inBatches = false;
  let from = 0;
  const end = () => {
    if (statement.trim() !== '') found.push({ text: statement.trim(), inBatches });
    statement = '';
    inBatches = false;
  };
  for (const match of text.matchAll(opaque)) {
    const [part] = match;
    statement += text.slice(from, match.index);
    from = match.index + part.length;
    if (part === ';') end();
    else if (!part.startsWith('--')) statement += part;
    else if (part.trim() === '-- in batches') inBatches = true;
  }
  statement += text.slice(from);
  end();
  return found;
}
