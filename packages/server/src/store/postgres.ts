import pg from 'pg';
import { watchConnections } from './connection.ts';
import { type Engine, limits, type StoreLog, sessionSettings } from './engine.ts';
import { DatabaseError, DatabaseUnavailable, reasonOf } from './errors.ts';
import { resultTypes } from './result-types.ts';

const oldestVersion = 15;

/**
 * A pool of connections to a PostgreSQL server.
 * @throws DatabaseUnavailable when it cannot be reached; DatabaseError when it is older than version 15
 */
export async function openPostgres(databaseUrl: string, poolSize: number, log: StoreLog): Promise<Engine> {
  const pool = new pg.Pool({
    connectionString: databaseUrl,
    max: poolSize,
    application_name: 'financial-automation-api',
    connectionTimeoutMillis: limits.connect,
    idleTimeoutMillis: 60_000,
    keepAlive: true,
    types: resultTypes,
  });
  watchConnections(pool, log);
  try {
    await checkVersion(pool);
  } catch (error) {
    await pool.end();
    throw error;
  }
  return { name: 'postgres', pool, connectionSetup: sessionSettings, close: () => pool.end() };
}

async function checkVersion(pool: pg.Pool): Promise<void> {
  let version: number;
  try {
    const { rows } = await pool.query<{ version: number }>(
      `select current_setting('server_version_num')::integer / 10000 as version`,
    );
    version = rows[0]?.version ?? 0;
  } catch (error) {
    throw new DatabaseUnavailable(`The PostgreSQL server cannot be reached (${reasonOf(error)}).`);
  }
  if (version < oldestVersion) {
    throw new DatabaseError(`The PostgreSQL server is version ${version}; ${oldestVersion} or newer is needed.`);
  }
}
