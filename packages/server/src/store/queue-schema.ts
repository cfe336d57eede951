import type { PoolClient } from 'pg';
import { DatabaseError, translateError } from './errors.ts';

/**
 * The version of the queue's tables that the installed `pg-boss` expects. Copied here, so that a start does not load the
 * library.
 */
export const queueSchemaVersion = 46;

const schema = 'pgboss';

/**
 * Creates or upgrades the tables of the job queue. Processes can start concurrently. If there is nothing to do, it takes
 * one statement.
 *
 * @throws DatabaseError if a newer version of this program has upgraded the tables
 */
export async function ensureQueueSchema(client: PoolClient): Promise<void> {
  const version = await installedVersion(client);
  if (version === queueSchemaVersion) return;
  if (version !== undefined && version > queueSchemaVersion) {
    throw new DatabaseError(
      `The job queue in the database is newer than this program (version ${version} of its tables, not ${queueSchemaVersion}). Start the version that made it, or a later one.`,
    );
  }
  const { getConstructionPlans, getMigrationPlans } = await import('pg-boss');
  try {
    await client.query(version === undefined ? getConstructionPlans(schema) : getMigrationPlans(schema, version));
  } catch (error) {
    await client.query('rollback');
    // Of two processes that do the same, the second one fails.
    if ((await installedVersion(client)) === queueSchemaVersion) return;
    throw translateError(error, false);
  }
}

const undefinedTable = '42P01';

async function installedVersion(client: PoolClient): Promise<number | undefined> {
  try {
    const { rows } = await client.query<{ version: number }>(`select version from ${schema}.version`);
    return rows[0]?.version;
  } catch (error) {
    const failure = translateError(error, false);
    if (failure instanceof DatabaseError && failure.sqlState === undefinedTable) return undefined;
    throw failure;
  }
}
