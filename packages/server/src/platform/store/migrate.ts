import { readdir, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CompiledQuery, Kysely, PostgresDialect } from 'kysely';
import { Migrator } from 'kysely/migration';
import type { Pool } from 'pg';
import { sourceFile } from '../source-file.ts';
import { DatabaseError, translateError } from './errors.ts';

/** The files of `migrations/`: name (sorted, without extension) and SQL. There are no down migrations. */
export type Migrations = ReadonlyMap<string, string>;

const folder = fileURLToPath(new URL('migrations', sourceFile('platform/store/migrate.ts')));
const table = 'schema_migration';
/** Selects the names of the migrations that the database has. */
export const namesOfMigrations = `select name from ${table} order by name`;

export async function readMigrations(): Promise<Migrations> {
  const files = (await readdir(folder)).filter((file) => file.endsWith('.sql')).sort();
  return new Map(
    await Promise.all(
      files.map(async (file) => [basename(file, '.sql'), await readFile(join(folder, file), 'utf8')] as const),
    ),
  );
}

/**
 * Brings the schema up to date in one transaction. Several processes can start concurrently: one migrates, the others
 * wait.
 *
 * @throws DatabaseError if a newer version of this program has migrated the database, or a migration fails
 */
export async function migrate(pool: Pool, migrations: Migrations): Promise<void> {
  // Kysely inspects the whole catalogue first; a start without migrations must not wait for that.
  const done = await migrationsDone(pool);
  const unknown = done.filter((name) => !migrations.has(name));
  if (unknown.length > 0) {
    throw new DatabaseError(
      `The database is newer than this program: it has ${unknown.join(', ')}. Start the version that made it, or a later one.`,
    );
  }
  if (done.length === migrations.size) return;
  const migrator = new Migrator({
    db: new Kysely<unknown>({ dialect: new PostgresDialect({ pool }) }),
    provider: { getMigrations: async () => Object.fromEntries([...migrations].map(toMigration)) },
    migrationTableName: table,
    migrationLockTableName: `${table}_lock`,
  });
  const { error, results } = await migrator.migrateToLatest();
  if (error === undefined) return;
  const failed = results?.find((result) => result.status === 'Error');
  const reason = translateError(error, false);
  throw new DatabaseError(
    `The schema could not be brought up to date${failed ? ` (${failed.migrationName})` : ''}: ${reason instanceof Error ? reason.message : reason}`,
    reason instanceof DatabaseError ? reason.sqlState : undefined,
  );
}

async function migrationsDone(pool: Pool): Promise<string[]> {
  const { rows: found } = await pool.query<{ exists: boolean }>('select to_regclass($1) is not null as exists', [
    table,
  ]);
  if (!found[0]?.exists) return [];
  const { rows } = await pool.query<{ name: string }>(namesOfMigrations);
  return rows.map((row) => row.name);
}

function toMigration([name, text]: readonly [string, string]) {
  const up = async (database: Kysely<unknown>): Promise<void> => {
    await database.executeQuery(CompiledQuery.raw(text));
  };
  return [name, { up }] as const;
}
