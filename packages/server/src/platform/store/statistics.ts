import { sql } from 'kysely';
import type { Transaction } from './session.ts';

/** How long after a look at the sizes of tables the next one follows, in milliseconds. It takes 1 ms of the database. */
const lookEvery = 5_000;

type Run = <Result>(work: (transaction: Transaction) => Promise<Result>) => Promise<Result>;

/**
 * Keeps the statistics of tables that grow. On a table of which it knows nothing or that was small, the planner can choose any index that
 * begins with the tenant, even for a row by its ID, and a connection keeps this plan until the table is analyzed. PostgreSQL does that
 * within a minute or two, in which a firm that moves in writes most of its rows; the embedded database never does.
 */
export class Statistics {
  readonly #run: Run;
  #nextLook = 0;

  /** @param run runs a transaction as the owner of the tables */
  constructor(run: Run) {
    this.#run = run;
  }

  /** Looks at the sizes of tables from time to time. */
  wrote(): void {
    if (performance.now() < this.#nextLook) return;
    this.#nextLook = Number.POSITIVE_INFINITY;
    // A write succeeds whatever becomes of the statistics. The next look tries again.
    analyzeGrown(this.#run)
      .catch(() => undefined)
      .finally(() => {
        this.#nextLook = performance.now() + lookEvery;
      });
  }
}

/** Analyzes the tables that have more than twice as many pages as when they were last analyzed. @returns their names */
export async function analyzeGrown(run: Run): Promise<string[]> {
  const grown = await run((transaction) =>
    transaction.all(sql<{ name: string }>`
      select relname as name from pg_class where relnamespace = current_schema()::regnamespace and relkind = 'r'
        and pg_relation_size(oid) > 2 * greatest(relpages, 5) * current_setting('block_size')::integer`),
  );
  // Each in its own transaction, so that calls do not wait for all of them where there is one connection.
  for (const { name } of grown)
    await run((transaction) => transaction.all(sql`analyze (skip_locked) ${sql.table(name)}`));
  return grown.map(({ name }) => name);
}
