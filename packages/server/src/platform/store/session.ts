import {
  type CompiledQuery,
  DummyDriver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryExecutorProvider,
} from 'kysely';
import type { QueryConfig } from 'pg';
import { databaseClock } from '../database-clock.ts';
import type { Connection, Deadline, RunResult } from './connection.ts';
import { type DatabaseUnavailable, isTemporary, type TransactionConflict } from './errors.ts';
import type { StatementNames } from './statement-names.ts';

/** A Kysely query: built by its query builder, or its `sql`. */
export interface Query<Row> {
  compile(compiler: QueryExecutorProvider): CompiledQuery<Row>;
  /** Whether it is planned for its values each time, instead of once for all values. */
  readonly isPlannedForValues?: boolean;
}

/**
 * Marks a query whose best plan depends on its values, such as one with a pattern. After a few uses of a named statement, the
 * database uses one plan for all values, which for such a query can be many times slower.
 */
export function plannedForValues<Row>(query: Query<Row>): Query<Row> {
  return { compile: (compiler) => query.compile(compiler), isPlannedForValues: true };
}

/** Reads on one connection. It ends with its work; its statements run one after the other. */
export interface Session {
  /** How far the clock of the tenant is ahead of the real one, in milliseconds; undefined where it has no clock of its own. */
  readonly clockOffset: number | undefined;
  all<Row>(query: Query<Row>): Promise<Row[]>;
  first<Row>(query: Query<Row>): Promise<Row | undefined>;
}

/** Returns the present time by the clock of the tenant, in milliseconds since 1970. */
export function timeOf({ clockOffset = 0 }: Pick<Session, 'clockOffset'>): number {
  return databaseClock.now() + clockOffset;
}

export interface Transaction extends Session {
  /**
   * Runs a part of the transaction that can fail alone: if `work` throws, its writes are undone, and the error is
   * rethrown to the caller, who may catch it and continue. Savepoints can be nested, but not concurrent.
   */
  savepoint<Result>(work: () => Promise<Result>): Promise<Result>;
  /**
   * Runs a statement for the same tenant in a transaction of its own, which has ended when this returns, whatever becomes of this
   * one. Undefined where there is only one connection.
   */
  readonly aside: Aside | undefined;
}

export type Aside = (statement: string) => Promise<readonly Readonly<Record<string, unknown>>[]>;

/** Compiles queries to SQL, without access to a database. */
export const compiler = new Kysely<unknown>({
  dialect: {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (database) => new PostgresIntrospector(database),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  },
});

/** Runs the statements of one piece of work; the store opens and closes it. */
export class OpenSession implements Session {
  readonly #connection: Connection;
  readonly #names: StatementNames | undefined;
  readonly #deadline: Deadline | undefined;
  #tail: Promise<unknown> = Promise.resolve();
  #closed = false;

  /** @param names the statements to prepare under a name; none by default */
  constructor(connection: Connection, names: StatementNames | undefined, deadline?: Deadline) {
    this.#connection = connection;
    this.#names = names;
    this.#deadline = deadline;
  }

  get clockOffset(): number | undefined {
    return this.#connection.bound?.clockOffset;
  }

  async all<Row>(query: Query<Row>): Promise<Row[]> {
    const { sql: text, parameters } = query.compile(compiler);
    const name = query.isPlannedForValues === true ? undefined : this.#names?.nameFor(text);
    const { rows } = await this.execute({ name, text, values: [...parameters] });
    return rows;
  }

  async first<Row>(query: Query<Row>): Promise<Row | undefined> {
    return (await this.all(query))[0];
  }

  /**
   * Runs one statement after the previous ones. A session that was used after its work could access the tenant that uses
   * its connection by then, so a closed one throws.
   */
  protected execute(statement: QueryConfig): Promise<RunResult> {
    const result = this.#tail.then(() => {
      if (this.#closed) throw new Error('This database session has ended: it must not be used after its work.');
      return this.#connection.run(statement, this.#deadline);
    });
    this.#tail = result.catch(() => undefined);
    return result;
  }

  /** Waits for the current statement and rejects every further one. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#tail;
  }
}

/** A transaction starts with this savepoint, so that its first one requires no round trip. */
export const firstSavepoint = 'savepoint_0';

export class OpenTransaction extends OpenSession implements Transaction {
  readonly aside: Aside | undefined;
  #savepoints = 0;
  /** Whether nothing was done since the first savepoint. */
  #isUntouched = true;
  /** Whether a statement failed, and nothing was rolled back since. */
  #hasFailed = false;
  #fatalError: TransactionConflict | DatabaseUnavailable | undefined;

  constructor(connection: Connection, names: StatementNames | undefined, aside?: Aside) {
    super(connection, names);
    this.aside = aside;
  }

  /** A conflict or a lost connection, which ends the transaction, even if the work caught it and continued. */
  get fatalError(): TransactionConflict | DatabaseUnavailable | undefined {
    return this.#fatalError;
  }

  protected override async execute(statement: QueryConfig): Promise<RunResult> {
    if (this.#fatalError !== undefined) throw this.#fatalError;
    this.#isUntouched = false;
    try {
      return await super.execute(statement);
    } catch (error) {
      this.#hasFailed = true;
      if (isTemporary(error)) this.#fatalError ??= error;
      throw error;
    }
  }

  async savepoint<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.#isUntouched) return this.#useFirstSavepoint(work);
    this.#savepoints += 1;
    const name = `savepoint_${this.#savepoints}`;
    await this.execute({ text: `savepoint ${name}` });
    try {
      const result = await work();
      await this.execute({ text: `release savepoint ${name}` });
      return result;
    } catch (error) {
      await this.#rollBack(`rollback to savepoint ${name}; release savepoint ${name}`);
      throw error;
    }
  }

  async #useFirstSavepoint<Result>(work: () => Promise<Result>): Promise<Result> {
    this.#isUntouched = false;
    try {
      const result = await work();
      // It ends with the transaction anyway, so only a failure that the work has hidden requires a round trip to report
      // it.
      if (this.#hasFailed) await this.execute({ text: `release savepoint ${firstSavepoint}` });
      return result;
    } catch (error) {
      this.#isUntouched = await this.#rollBack(`rollback to savepoint ${firstSavepoint}`);
      throw error;
    }
  }

  async #rollBack(text: string): Promise<boolean> {
    if (this.#fatalError !== undefined) return false;
    await this.execute({ text });
    this.#hasFailed = false;
    return true;
  }
}
