import type { Pool, PoolClient, QueryConfig, QueryResult } from 'pg';
import type { ClockReading } from '../database-clock.ts';
import {
  DatabaseError,
  DatabaseUnavailable,
  endsConnection,
  OutcomeUnknown,
  reasonOf,
  StatementTimeout,
  TimeBudgetExceeded,
  translateError,
} from './errors.ts';
import type { StoreLog } from './limits.ts';
import { type Columns, runStatement, type StatementResult } from './statement.ts';

/** The end of a time budget. */
export interface Deadline {
  /** In milliseconds of `performance.now()`. */
  readonly at: number;
  /** The whole budget, in milliseconds. */
  readonly budget: number;
}

export interface ConnectionLimits {
  /** Time limit of a statement, in milliseconds. */
  readonly statement: number;
  /**
   * Additional time for the server to end the statement itself, in milliseconds. Then the connection is closed, and with
   * it a thread of PGlite, which cannot end a statement otherwise.
   */
  readonly grace: number;
}

/** The command is only known of statements without a name and without values. */
export type RunResult = StatementResult & Partial<Pick<QueryResult, 'command'>>;

/** A connection of the pool, with its state. */
export class Connection {
  /** The tenant that the binding has set on the connection, which it keeps in the pool. */
  bound:
    | {
        readonly tenantId: number | undefined;
        readonly at: number;
        readonly clockOffset?: number | undefined;
        /** Whether the tenant is about to leave the database, so that each use must check whether it has. */
        readonly isMoving?: boolean;
      }
    | undefined;
  /** The `statement_timeout` that the binding has set on it for reads, in milliseconds. */
  statementTimeout: { readonly milliseconds: number; readonly isLocal: boolean } | undefined;
  /** Whether it has been used before. */
  isUsed = false;
  /** Whether it is broken or in an unknown state: it must not return to the pool. */
  lost = false;
  /** Whether the server has responded to a statement in the current use. */
  responded = false;
  readonly #client: PoolClient;
  readonly #limits: ConnectionLimits;
  /** The columns of its named statements. */
  readonly #described = new Map<string, Columns>();

  constructor(client: PoolClient, limits: ConnectionLimits) {
    this.#client = client;
    this.#limits = limits;
    client.on('error', () => {
      this.lost = true;
    });
  }

  /**
   * Runs one statement.
   *
   * @throws DatabaseError, typed. Errors that leave the connection in an unknown state also remove it from the pool.
   * TimeBudgetExceeded if the statement is not done by the deadline
   */
  async run(statement: QueryConfig, deadline?: Deadline): Promise<RunResult> {
    // A connection that did not respond in time would not respond to a rollback either.
    if (this.lost) throw new DatabaseUnavailable('The connection to the database is lost.');
    if (deadline !== undefined) await this.#shorten(deadline);
    const limit = deadline === undefined ? this.#limits.statement : timeUntil(deadline);
    try {
      const limited = { ...statement, query_timeout: limit + this.#limits.grace };
      const isSimple = statement.name === undefined && (statement.values ?? []).length === 0;
      const result: RunResult = await (isSimple
        ? this.#client.query(limited)
        : runStatement(this.#client, limited, this.#described));
      this.responded = true;
      return result;
    } catch (error) {
      const failure = translateError(error, this.lost);
      if (endsConnection(failure)) this.lost = true;
      else this.responded = true;
      if (deadline !== undefined && failure instanceof StatementTimeout) throw new TimeBudgetExceeded(deadline.budget);
      throw failure;
    }
  }

  /**
   * Sets the server's timeout for the next statement to the deadline. In steps of a tenth of the budget, because it is a
   * setting of the connection, and quick reads must not pay a round trip for it.
   */
  async #shorten(deadline: Deadline): Promise<void> {
    if (this.statementTimeout === undefined) return;
    const step = Math.ceil(deadline.budget / 10);
    const milliseconds = Math.min(deadline.budget, Math.ceil(timeUntil(deadline) / step) * step);
    const { isLocal } = this.statementTimeout;
    if (this.statementTimeout.milliseconds === milliseconds) return;
    await this.run({ text: `set ${isLocal ? 'local' : 'session'} statement_timeout = ${milliseconds}` });
    this.statementTimeout = { milliseconds, isLocal };
  }

  release(): void {
    this.isUsed = true;
    this.responded = false;
    this.#client.release(this.lost);
  }
}

/** @throws TimeBudgetExceeded if it has passed */
function timeUntil(deadline: Deadline): number {
  const left = Math.ceil(deadline.at - performance.now());
  if (left <= 0) throw new TimeBudgetExceeded(deadline.budget);
  return left;
}

const connections = new WeakMap<PoolClient, Connection>();

/**
 * Handles errors of a pool and of each of its connections from the start: an error event without a listener would end the
 * process, and a broken connection must not be reused. The pool itself removes connections that break while idle.
 */
export function watchConnections(pool: Pool, limits: ConnectionLimits, log: StoreLog): void {
  pool.on('error', (error) => log.warn(`Database connection lost (${reasonOf(error)}).`));
  pool.on('connect', (client) => connections.set(client, new Connection(client, limits)));
}

/** A connection that broke in the pool is detected within this time, in milliseconds. */
const brokenShowsWithin = 1_000;

/**
 * Provides a connection to `work`. If the connection broke in the pool, before its first statement had a response, it is
 * replaced, and `work` runs again: nothing has happened yet.
 *
 * @throws DatabaseUnavailable if no connection is available
 */
export async function withConnection<Result>(
  pool: Pool,
  work: (connection: Connection) => Promise<Result>,
): Promise<Result> {
  for (;;) {
    const connection = await checkOut(pool);
    const lentAt = performance.now();
    try {
      return await work(connection);
    } catch (error) {
      const brokeInPool = connection.isUsed && connection.lost && !connection.responded;
      const isTimeout = error instanceof StatementTimeout || error instanceof TimeBudgetExceeded;
      if (
        !brokeInPool ||
        isTimeout ||
        error instanceof OutcomeUnknown ||
        performance.now() - lentAt > brokenShowsWithin
      )
        throw error;
    } finally {
      connection.release();
    }
  }
}

/** SQL of the time of a database, in milliseconds since 1970. */
export const databaseTime = `date_part('epoch', clock_timestamp()) * 1000`;

/** @returns the time of the database. @throws DatabaseUnavailable if it does not respond */
export function checkConnection(pool: Pool): Promise<ClockReading> {
  return withConnection(pool, async (connection) => {
    const requestedAt = performance.now();
    const { rows } = await connection.run({ text: `select ${databaseTime} as time` });
    return { database: rows[0].time, requestedAt, arrivedAt: performance.now() };
  });
}

async function checkOut(pool: Pool): Promise<Connection> {
  let client: PoolClient;
  try {
    client = await pool.connect();
  } catch (error) {
    if (error instanceof DatabaseError) throw error;
    throw new DatabaseUnavailable(`No connection to the database is available (${reasonOf(error)}).`);
  }
  const connection = connections.get(client);
  if (connection === undefined) throw new Error('The pool is not watched.');
  return connection;
}
