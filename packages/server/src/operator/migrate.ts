import { Vault } from '../platform/auth/vault.ts';
import { type Config, databaseOf } from '../platform/process/config.ts';
import { type PlannedMigration, type UpgradeReport, upgradeDatabase } from '../platform/store/upgrade.ts';
import { counted } from './counted.ts';
import { cellsIn } from './databases/index.ts';

/**
 * Applies the migrations that the database of a server lacks, and then the other databases of its directory, and prints what it does.
 *
 * @param onlyPlan whether to print the plan and apply nothing.
 * @throws Error with a sentence if the database is embedded, unavailable or has another master key, or a migration fails.
 */
export async function migrateDatabase(config: Config, onlyPlan: boolean, print: (line: string) => void): Promise<void> {
  if (config.databaseUrl === undefined)
    throw new Error('The embedded database is migrated whenever it is opened. Set DATABASE_URL to migrate a server.');
  const log = { info: print, warn: print };
  const options = { ...databaseOf(config), log, onlyPlan };
  // Before anything changes, because a wrong master key is found here.
  const others = await cellsIn(options, new Vault(config.masterKeys));
  await upgradeDatabase(options, reportTo(print, onlyPlan));
  for (const { name, url } of others) {
    print(`Database ${name}:`);
    await upgradeDatabase({ ...options, databaseUrl: url, standbyUrls: [] }, reportTo(print, onlyPlan));
  }
}

function reportTo(print: (line: string) => void, onlyPlan: boolean): UpgradeReport {
  return {
    planned(migrations) {
      if (migrations.length === 0) return print('The database is up to date.');
      print(`${counted(migrations.length, 'migration is', 'migrations are')} pending:`);
      for (const migration of migrations) print(`  ${describeMigration(migration)}`);
      if (onlyPlan) print('Nothing was changed. Run the command without --plan to apply them.');
    },
    started: (name, index, total) => print(`[${index + 1}/${total}] ${name} …`),
    waits: () => print('Another process migrates the database. Waiting for it …'),
    retries: (name, attempt) => print(`  ${name} did not get a lock in time: attempt ${attempt} …`),
    batch: (name, rows) => print(`  ${name}: ${counted(rows, 'row')}`),
    ended: (_name, milliseconds) => print(`  done in ${(milliseconds / 1000).toFixed(1)} s`),
  };
}

export function describeMigration({ name, locks, inTransaction }: PlannedMigration): string {
  const parts = [
    ...(locks === undefined ? [] : [`locks: ${locks}`]),
    ...(inTransaction ? [] : ['without transaction']),
  ];
  return parts.length === 0 ? name : `${name} (${parts.join('; ')})`;
}
