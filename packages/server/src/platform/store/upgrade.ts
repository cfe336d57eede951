import { declareLeakproof } from './leakproof.ts';
import { silentLog } from './limits.ts';
import { type MigrationProgress, migrate, pendingMigrations, readMigrations } from './migrate.ts';
import { parseMigration } from './migration-file.ts';
import { ensureServiceRole } from './role.ts';
import { asOwner, migrationsRequireSessions, openEngine, type StoreOptions } from './store.ts';

/** A migration that the database lacks. */
export interface PlannedMigration {
  readonly name: string;
  /** As the file says; undefined in files from before migrations said it. */
  readonly locks: string | undefined;
  readonly inTransaction: boolean;
}

/** What upgrading a database reports. */
export interface UpgradeReport extends MigrationProgress {
  /** The migrations that are about to be applied; empty if the database has all. */
  planned(migrations: readonly PlannedMigration[]): void;
}

/**
 * Applies the migrations that the database lacks.
 *
 * @param onlyPlan whether to report the plan and apply nothing.
 * @throws DatabaseUnavailable, DatabaseError, each with a sentence for the operator
 */
export async function upgradeDatabase(
  options: StoreOptions & { readonly onlyPlan: boolean },
  report: UpgradeReport,
): Promise<void> {
  const log = options.log ?? silentLog;
  const engine = await openEngine(options, log);
  try {
    const migrations = await readMigrations();
    const pending = await pendingMigrations(engine.pool, migrations);
    report.planned(
      pending.map((name) => {
        const { locks, inTransaction } = parseMigration(migrations.get(name) ?? '');
        return { name, locks, inTransaction };
      }),
    );
    if (options.onlyPlan) return;
    if (pending.length > 0 && options.pooler === 'transaction') throw new Error(migrationsRequireSessions);
    await asOwner(engine, ensureServiceRole);
    await migrate(engine.pool, migrations, report);
    await asOwner(engine, (client) => declareLeakproof(client, log));
  } finally {
    await engine.close();
  }
}
