import type { Pool } from 'pg';

/** What the store needs of a database, whichever of the two it is. Nobody outside this folder sees it. */
export interface Engine {
  readonly name: 'pglite' | 'postgres';
  /** Connections as the user who owns the tables; `binding.ts` takes their rights away before a request sees one. */
  readonly pool: Pool;
  /** Statements that make a connection fit for use, run once on each. */
  readonly connectionSetup: string;
  close(): Promise<void>;
}

/** Where the store writes what an operator should know; a pino logger fits. */
export interface StoreLog {
  info(message: string): void;
  warn(message: string): void;
}

/**
 * Limits in milliseconds. No request needs them; they keep one that went wrong from holding a connection or a lock for
 * ever. The client-side limit is the longest: it is for a server that has gone without closing the connection.
 */
export const limits = {
  connect: 5_000,
  lock: 10_000,
  statement: 30_000,
  idleInTransaction: 60_000,
  answer: 40_000,
} as const;

/** Session settings of both engines. They are set by statement, since PGlite takes none at connection start. */
export const sessionSettings = [
  `set statement_timeout = ${limits.statement}`,
  `set lock_timeout = ${limits.lock}`,
  `set idle_in_transaction_session_timeout = ${limits.idleInTransaction}`,
  `set timezone = 'UTC'`,
  `set datestyle = 'ISO'`,
].join('; ');
