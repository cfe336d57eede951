/// <reference path="./pg-utils.d.ts" />
import type { ClientBase, Connection, FieldDef, QueryConfig, Submittable } from 'pg';
import { prepareValue } from 'pg/lib/utils.js';

/** A statement with values, or with a name. */
export interface StatementConfig extends QueryConfig {
  /** Time limit for the response, in milliseconds. */
  readonly query_timeout: number;
}

export interface StatementResult {
  // biome-ignore lint/suspicious/noExplicitAny: rows are what the caller selects, as in the types of `pg`
  readonly rows: any[];
}

/** The columns of a result. */
export interface Columns {
  readonly list: readonly { readonly name: string; readonly parse: (text: string) => unknown }[];
  /** A row in which all columns are null. Copies of it share its hidden class. */
  readonly empty: Readonly<Record<string, unknown>>;
}

/** What `pg` knows of a connection, beyond its types. */
type StatementConnection = Connection & { readonly parsedStatements: Readonly<Record<string, string>> };

/**
 * Runs a statement of the extended protocol. Unlike the queries of `pg`, one with a name describes its columns once per connection:
 * reading the description of fifty columns takes longer than everything else about a row. The server rejects a prepared statement
 * whose columns have changed.
 *
 * @param described the columns of the named statements of the connection
 */
export function runStatement(
  client: ClientBase,
  statement: StatementConfig,
  described: Map<string, Columns>,
): Promise<StatementResult> {
  return new Promise((resolve, reject) => {
    client.query(
      new Statement(client, statement, described, (error, rows) =>
        error === null ? resolve({ rows: rows ?? [] }) : reject(error),
      ),
    );
  });
}

/** The object that `pg` submits, and then calls with the messages of the server. */
class Statement implements Submittable {
  readonly name: string | undefined;
  readonly text: string;
  readonly query_timeout: number;
  /** `pg` replaces it to stop its timer. */
  callback: (error: unknown, rows?: unknown[]) => void;
  readonly #client: ClientBase;
  readonly #values: (string | Buffer | null)[];
  readonly #described: Map<string, Columns>;
  #rows: unknown[] = [];
  #columns: Columns | undefined;
  #failure: { readonly error: unknown } | undefined;

  constructor(
    client: ClientBase,
    { name, text, values = [], query_timeout }: StatementConfig,
    described: Map<string, Columns>,
    callback: (error: unknown, rows?: unknown[]) => void,
  ) {
    this.name = name;
    this.text = text;
    this.query_timeout = query_timeout;
    this.callback = callback;
    this.#client = client;
    this.#values = values.map((value: unknown) => prepareValue(value));
    this.#described = described;
    this.#columns = name === undefined ? undefined : described.get(name);
  }

  submit(connection: Connection): void {
    const { parsedStatements } = connection as StatementConnection;
    const { name = '', text } = this;
    const { stream } = connection;
    // All messages are sent together.
    stream.cork();
    if (name === '' || parsedStatements[name] === undefined) connection.parse({ name, text, types: [] }, true);
    connection.bind({ statement: name, values: this.#values }, true);
    if (this.#columns === undefined) connection.describe({ type: 'P' }, true);
    connection.execute({}, true);
    connection.sync();
    stream.uncork();
  }

  handleRowDescription({ fields }: { readonly fields: readonly FieldDef[] }): void {
    this.#columns = {
      list: fields.map(({ name, dataTypeID }) => ({ name, parse: this.#client.getTypeParser(dataTypeID, 'text') })),
      empty: Object.fromEntries(fields.map(({ name }) => [name, null])),
    };
    if (this.name !== undefined) this.#described.set(this.name, this.#columns);
  }

  handleDataRow({ fields: texts }: { readonly fields: readonly (string | null)[] }): void {
    if (this.#columns === undefined || this.#failure !== undefined) return;
    const { list, empty } = this.#columns;
    const row = { ...empty };
    try {
      for (let index = 0; index < list.length; index++) {
        const [column, text] = [list[index], texts[index]];
        if (column !== undefined && typeof text === 'string') row[column.name] = column.parse(text);
      }
    } catch (error) {
      this.#failure = { error };
    }
    this.#rows.push(row);
  }

  handleCommandComplete(): void {}

  handleEmptyQuery(): void {}

  handleReadyForQuery(): void {
    // What a statement has read would remain until the next full collection: V8 keeps those of a connection as a chain.
    const rows = this.#rows;
    this.#rows = [];
    if (this.#failure === undefined) this.callback(null, rows);
    else this.callback(this.#failure.error);
  }

  handleError(error: unknown): void {
    this.callback(error);
  }
}
