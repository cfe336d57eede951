import { EventEmitter } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, readdir, readFile, rename, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { Worker } from 'node:worker_threads';
import pg from 'pg';
import { sourceFile } from '../source-file.ts';
import { bindConnections } from './binding.ts';
import { checkConnection, watchConnections, withConnection } from './connection.ts';
import type { Engine } from './engine.ts';
import { reasonOf } from './errors.ts';
import type { Limits, StoreLog } from './limits.ts';
import { lockDirectory } from './lock.ts';
import { PgliteSocket, PgliteThread, type WorkerInput } from './pglite-socket.ts';
import { resultTypes } from './result-types.ts';

/** Pause after a failure to open the database, in milliseconds. */
const pauseAfterFailure = 1_000;

/** Interval for checking the size of the write-ahead log, in milliseconds, and its maximum size, in bytes. */
const checkpointInterval = 10_000;
const checkpointDistance = 16 * 1024 * 1024;

/**
 * Opens PostgreSQL inside this process, on its own directory. It runs in a thread, which is terminated if a statement
 * takes too long or PostgreSQL stops, and restarted by the next call.
 *
 * @throws DirectoryInUse if another process has it open; DatabaseUnavailable if it does not open
 */
export async function openPglite(dataDir: string, limits: Limits, log: StoreLog): Promise<Engine> {
  const lock = lockDirectory(dataDir);
  await chmod(dataDir, 0o700);
  try {
    const directory = join(dataDir, 'database');
    const wasm = await compilePglite();
    if (!existsSync(directory)) await createDatabase({ directory, wasm }, log);
    const { pool, listen, check, close } = await openDatabase({ directory, wasm }, limits, log);
    log.warn(
      `The database in ${dataDir} survives a crash of this process, but not a power failure or a crash of the machine: PGlite does not flush to disk. Use PostgreSQL where that matters.`,
    );
    const checkpoints = setInterval(() => {
      checkpointIfDue(pool).catch((error) => log.warn(`Checkpoint failed: ${reasonOf(error)}`));
    }, checkpointInterval);
    checkpoints.unref();
    return {
      name: 'pglite',
      pool,
      limits,
      binding: bindConnections(limits),
      listen,
      check,
      // The memory of WebAssembly only grows. The next call opens the database again, in a new thread.
      freeMemory: async () => (await pool.connect()).release(true),
      async close() {
        clearInterval(checkpoints);
        await close().finally(() => lock.release());
      },
    };
  } catch (error) {
    lock.release();
    throw error;
  }
}

/** Compiled once per process: a restarted thread is ready in half the time. */
let compiled: Promise<WebAssembly.Module> | undefined;

function compilePglite(): Promise<WebAssembly.Module> {
  const folder = dirname(createRequire(import.meta.url).resolve('@electric-sql/pglite'));
  compiled ??= readFile(join(folder, 'pglite.wasm')).then((bytes) => WebAssembly.compile(bytes));
  return compiled;
}

function startThread(input: WorkerInput): Worker {
  return new Worker(sourceFile('platform/store/pglite-worker.ts'), { workerData: input });
}

/** Created in a temporary place and moved when it is complete, so that an interrupted start leaves nothing behind. */
async function createDatabase({ directory, wasm }: WorkerInput, log: StoreLog): Promise<void> {
  log.info(`Creating the database in ${directory}. This takes a few seconds, at the first start only.`);
  const unfinished = `${directory}.unfinished`;
  await rm(unfinished, { recursive: true, force: true });
  const thread = new PgliteThread(Promise.resolve(startThread({ directory: unfinished, wasm })));
  await thread.opened;
  thread.close();
  await thread.ended;
  await restrictAccess(unfinished);
  await rename(unfinished, directory);
}

/** PGlite creates database files that everyone can read and write, whatever the umask. */
async function restrictAccess(directory: string): Promise<void> {
  for (const entry of await readdir(directory, { recursive: true, withFileTypes: true })) {
    await chmod(join(entry.parentPath, entry.name), entry.isDirectory() ? 0o700 : 0o600);
  }
}

/** Creates a pool of one connection: PGlite has no more, so all work queues in the pool. */
async function openDatabase(
  input: WorkerInput,
  limits: Limits,
  log: StoreLog,
): Promise<Pick<Engine, 'pool' | 'listen' | 'check' | 'close'>> {
  let failure: { readonly error: unknown; readonly at: number } | undefined;
  const openAfter = (previous: Promise<void>): PgliteThread => {
    const thread = new PgliteThread(
      previous.then(() => {
        if (failure !== undefined && performance.now() - failure.at < pauseAfterFailure) throw failure.error;
        failure = undefined;
        return startThread(input);
      }),
    );
    thread.opened.catch((error) => {
      failure ??= { error, at: performance.now() };
    });
    return thread;
  };

  const notifications = new EventEmitter();
  /**
   * A restarted thread does not know the listeners. Notifications in between are lost, so an empty notification signals
   * this. The connection is not used before: it runs one statement at a time.
   */
  const listenAgain = async (client: pg.ClientBase): Promise<void> => {
    client.on('notification', ({ channel, payload = '' }) => notifications.emit(channel, payload));
    for (const channel of notifications.eventNames()) {
      const isListening = await client.query(`listen ${String(channel)}`).then(
        () => true,
        () => false,
      );
      if (isListening) notifications.emit(channel, '');
    }
  };

  let latest = openAfter(Promise.resolve());
  await latest.opened;
  const pool = new pg.Pool({
    max: 1,
    stream: () => {
      if (latest.isSpent) latest = openAfter(latest.ended);
      const socket = new PgliteSocket(latest);
      socket.once('connect', () =>
        socket.once('error', (error) => log.warn(`PGlite ended: ${reasonOf(error)} Reopening on the next call.`)),
      );
      return socket;
    },
    ssl: false,
    user: 'postgres',
    database: 'postgres',
    // The first connection waits while the modules of the service are loaded, which takes long on a busy machine.
    connectionTimeoutMillis: Math.max(limits.connect, limits.firstConnect),
    idleTimeoutMillis: 0,
    types: resultTypes,
    onConnect: listenAgain,
  });
  watchConnections(pool, { statement: limits.statement, grace: 0 }, log);
  let isInUse = false;
  pool.on('acquire', () => {
    isInUse = true;
  });
  pool.on('release', () => {
    isInUse = false;
  });
  return {
    pool,
    async listen(channel, onNotification) {
      notifications.on(channel, onNotification);
      await pool.query(`listen ${channel}`);
      return { close: async () => void notifications.off(channel, onNotification) };
    },
    // Work that has the connection shows that the database is open: a statement that exceeds its limit ends the thread.
    check: async () => {
      // It has the clock of this process.
      if (!isInUse) await checkConnection(pool);
    },
    async close() {
      await pool.end();
      if (!latest.isSpent) latest.close();
      await latest.ended;
    },
  };
}

/**
 * Runs a checkpoint if the write-ahead log has grown long. PGlite never does so while it is open: the log would fill the
 * disk, and each start after a crash would replay all of it.
 *
 * @returns whether it was due
 */
export function checkpointIfDue(pool: pg.Pool): Promise<boolean> {
  return withConnection(pool, async (connection) => {
    const { rows } = await connection.run({
      text: `select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), redo_lsn) > ${checkpointDistance} as due
        from pg_control_checkpoint()`,
    });
    if (rows[0]?.due !== true) return false;
    // The role of requests is not allowed to run a checkpoint.
    await connection.run({ text: 'begin; set local role none; checkpoint; commit' });
    return true;
  });
}
