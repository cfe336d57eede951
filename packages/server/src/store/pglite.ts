import { existsSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { PGlite, type PGliteOptions } from '@electric-sql/pglite';
import { btree_gin } from '@electric-sql/pglite/contrib/btree_gin';
import { pg_trgm } from '@electric-sql/pglite/contrib/pg_trgm';
import { createPgConfig } from '@electric-sql/pglite/node-postgres';
import pg from 'pg';
import { watchConnections } from './connection.ts';
import { type Engine, limits, type StoreLog, sessionSettings } from './engine.ts';
import { lockDirectory } from './lock.ts';
import { resultTypes } from './result-types.ts';

const settings = {
  // One connection needs neither 128 MB of buffers nor compiled expressions; together they halve the memory.
  shared_buffers: '16MB',
  jit: 'off',
  // There is no autovacuum here to sort new names into the trigram indexes; the list of unsorted ones stays short.
  gin_pending_list_limit: '256kB',
};

const options: PGliteOptions = {
  extensions: { btree_gin, pg_trgm },
  startParams: [
    ...PGlite.defaultStartParams,
    ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
  ],
  // For the short life of initdb the same, and small log segments: there is less to write at the first start.
  initDbStartParams: ['-c', 'shared_buffers=16MB', '--wal-segsize=1'],
};

/**
 * PostgreSQL inside this process, on a directory of its own.
 * @throws DirectoryInUse when another process has it open
 */
export async function openPglite(dataDir: string, log: StoreLog): Promise<Engine> {
  const lock = lockDirectory(dataDir);
  try {
    const database = join(dataDir, 'database');
    if (!existsSync(database)) await createDatabase(database, log);
    const pglite = await PGlite.create(database, options);
    log.warn(
      `The database in ${dataDir} outlives a crash of this process, but not a power failure or a crash of the machine: PGlite does not flush to disk. Use PostgreSQL where that matters.`,
    );
    const pool = openPool(pglite, log);
    return {
      name: 'pglite',
      pool,
      // A connection that broke off in a transaction leaves it open: every "connection" here is the one session.
      connectionSetup: `rollback; ${sessionSettings}`,
      async close() {
        try {
          await pool.end();
          await pglite.close();
        } finally {
          lock.release();
        }
      },
    };
  } catch (error) {
    lock.release();
    throw error;
  }
}

/** Made beside its place and moved there when it is whole, so that a start that was broken off leaves nothing behind. */
async function createDatabase(database: string, log: StoreLog): Promise<void> {
  log.info(`Creating the database in ${database}. This takes a few seconds, at the first start only.`);
  const unfinished = `${database}.unfinished`;
  await rm(unfinished, { recursive: true, force: true });
  const pglite = await PGlite.create(unfinished, options);
  await pglite.close();
  await rename(unfinished, database);
}

function openPool(pglite: PGlite, log: StoreLog): pg.Pool {
  const pool = new pg.Pool({
    ...createPgConfig(pglite),
    connectionTimeoutMillis: limits.connect,
    idleTimeoutMillis: 0,
    types: resultTypes,
  });
  watchConnections(pool, log);
  return pool;
}
