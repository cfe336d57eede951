import { withConnection } from './connection.ts';
import type { Engine } from './engine.ts';
import { DatabaseError, DatabaseUpgraded, isTemporary } from './errors.ts';
import { doneMigrations, type Migrations, newerMigrations } from './migrate.ts';

/** How often readiness checks look for migrations, in milliseconds. */
const lookEvery = 2_000;
/** SQLSTATE of an object that is not in the required state. */
const outOfDate = '55000';

/**
 * Detects that a newer version of this program has migrated the database while this process runs. If that only added to the schema,
 * the process remains ready, so that it can serve until it is replaced.
 */
export class SchemaCheck {
  readonly #engine: Engine;
  readonly #known: Migrations;
  /** Those that this program must know, and those that it should not notice. */
  #unknown: readonly string[] = [];
  #unnoticed: readonly string[] = [];
  #lookedAt = -Infinity;

  constructor(engine: Engine, known: Migrations) {
    this.#engine = engine;
    this.#known = known;
  }

  /**
   * Looks for migrations from time to time, without waiting for the result: readiness must not depend on a free connection.
   *
   * @throws DatabaseUpgraded if there were newer ones at the last look
   */
  verify(): void {
    if (performance.now() - this.#lookedAt > lookEvery) void this.#look();
    if (this.#unknown.length > 0) throw new DatabaseUpgraded(this.#unknown, outOfDate);
  }

  /**
   * Returns the error to report for a failure. Statements that fail unexpectedly are no defect if a newer version has changed
   * what they use.
   */
  async causeOf(error: unknown): Promise<unknown> {
    if (!isUnexpected(error)) return error;
    await this.#look();
    const unknown = [...this.#unknown, ...this.#unnoticed];
    return unknown.length === 0 ? error : new DatabaseUpgraded(unknown, error.sqlState ?? outOfDate);
  }

  /** Never rejects. */
  async #look(): Promise<void> {
    this.#lookedAt = performance.now();
    try {
      await withConnection(this.#engine.pool, async (connection) => {
        const done = await doneMigrations(async (text) => {
          const results = [await this.#engine.binding.begin(connection, 'owner', `${text}; commit`)].flat();
          return { rows: results.flatMap(({ rows }) => rows).filter((row) => 'name' in row) };
        });
        const unknown = newerMigrations(done, this.#known);
        this.#unknown = unknown.filter(({ isRequired }) => isRequired).map(({ name }) => name);
        this.#unnoticed = unknown.filter(({ isRequired }) => !isRequired).map(({ name }) => name);
      });
    } catch {
      // The database is unavailable, which other checks report.
    }
  }
}

/** Whether nothing handles the error, so that it would count as a defect. */
function isUnexpected(error: unknown): error is DatabaseError {
  if (!(error instanceof DatabaseError) || 'constraint' in error) return false;
  return !isTemporary(error);
}
