import pg from 'pg';
import { type ClockReading, clockFault, databaseClock, otherClockFault } from '../database-clock.ts';
import { bindConnections, bindTransactions } from './binding.ts';
import { connectFailure, firstClient } from './connect-failure.ts';
import { checkConnection, databaseTime, watchConnections, withConnection } from './connection.ts';
import type { Engine } from './engine.ts';
import { DatabaseError, ServerAway, WrongClock } from './errors.ts';
import { type Limits, type StoreLog, silentLog } from './limits.ts';
import { listenOnOwnConnection } from './listener.ts';
import { resultTypes } from './result-types.ts';
import { Standbys } from './standbys/index.ts';

const oldestVersion = 15;
const applicationName = 'financial-automation-api';

/** How often the clock of the server is read, in milliseconds. */
const clockReadEvery = 4_000;

/** How many connections run statements beside open transactions, and how long one may wait for a lock, in milliseconds. */
const maxSideConnections = 2;
const maxSideQueryMs = 1_000;

/** A server that has not ended a statement within this time after its limit is unreachable, in milliseconds. */
const grace = 5_000;

/** Limits of what is only asked of a standby, or about it: a slow response means that the primary reads. In milliseconds. */
const standbyLimits = { connect: 1_000, probe: 1_000, grace: 250 };

/** The connection to the server. */
export interface PostgresOptions {
  readonly databaseUrl: string;
  readonly poolSize: number;
  /** `transaction`: through a pooler that assigns each transaction to another connection of the server. */
  readonly pooler: 'transaction' | undefined;
  /** Standbys for reads, reached in the same way. */
  readonly standbyUrls?: readonly string[];
  /** Whether the time of this server decides; otherwise it is compared with that of the one that does. */
  readonly isClock?: boolean;
}

/**
 * Opens a pool of connections to a PostgreSQL server.
 *
 * @throws DatabaseError with a sentence for the operator; ServerAway if the server may be there in a moment
 */
export async function openPostgres(options: PostgresOptions, limits: Limits, log: StoreLog): Promise<Engine> {
  const { databaseUrl, poolSize, pooler, standbyUrls = [], isClock = true } = options;
  const readClock = (reading: ClockReading) => {
    if (isClock) databaseClock.follow(reading);
    return isClock ? clockFault(reading) : otherClockFault(reading);
  };
  readClock(await inspect(databaseUrl, pooler, limits.firstConnect));
  const pool = openPool(databaseUrl, poolSize, limits, log);
  // Checks have a connection of their own, so that they do not queue behind requests.
  const probe = openPool(databaseUrl, 1, limits, log);
  const asides = openPool(databaseUrl, maxSideConnections, limits, log);
  const standbys = standbyUrls.length === 0 ? undefined : openStandbys(options, standbyUrls, limits, log);
  // Those that do not respond are left out, which must not delay the start.
  void standbys?.start();
  const check = async () => {
    const fault = readClock(await checkConnection(probe));
    if (fault !== undefined) throw new WrongClock(fault);
  };
  // Whoever needs the database reports what is wrong with it.
  const readings = setInterval(() => void check().catch(() => undefined), clockReadEvery).unref();
  return {
    name: 'postgres',
    pool,
    limits,
    standbys,
    aside: (tenantId) => (statement) => runAside(asides, limits, tenantId, statement),
    binding: pooler === 'transaction' ? bindTransactions(limits) : bindConnections(limits),
    async listen(channel, onNotification) {
      // A pooler in transaction mode forwards no notifications, so listeners poll instead.
      if (pooler === 'transaction') return { close: async () => undefined };
      return listenOnOwnConnection(databaseUrl, channel, onNotification, limits, log);
    },
    check,
    async close() {
      clearInterval(readings);
      await standbys?.close();
      await Promise.all([pool.end(), probe.end(), asides.end()]);
    },
  };
}

function openStandbys(
  { databaseUrl, poolSize }: PostgresOptions,
  standbyUrls: readonly string[],
  limits: Limits,
  log: StoreLog,
): Standbys {
  // Probes report what happens to standbys.
  const probeLimits = { connect: standbyLimits.connect, statement: standbyLimits.probe };
  const probe = (url: string) => openPool(url, 1, probeLimits, silentLog, standbyLimits.grace);
  const pools = standbyUrls.map((url) => {
    const readLimits = { connect: standbyLimits.connect, statement: limits.statement };
    return { reads: openPool(url, poolSize, readLimits, silentLog, standbyLimits.grace), probe: probe(url) };
  });
  return new Standbys(pools, probe(databaseUrl), limits.standby, log);
}

/**
 * Sends a whole transaction in one message, so that the server ends it also if this process does not go on. It need not be on the disk
 * before a later one is, and does not wait for anybody who keeps its row.
 */
function runAside(pool: pg.Pool, limits: Limits, tenantId: number, statement: string) {
  const settings = `set local synchronous_commit = off; set local lock_timeout = ${maxSideQueryMs}`;
  return withConnection(pool, async (connection) => {
    try {
      const results = await bindTransactions(limits).begin(
        connection,
        { tenantId },
        `${settings}; ${statement}; commit`,
      );
      return [results].flat().flatMap(({ rows }) => rows);
    } catch (error) {
      await connection.run({ text: 'rollback' }).catch(() => undefined);
      throw error;
    }
  });
}

function openPool(
  databaseUrl: string,
  max: number,
  limits: Pick<Limits, 'connect' | 'statement'>,
  log: StoreLog,
  graceTime = grace,
): pg.Pool {
  const pool = new pg.Pool({
    connectionString: databaseUrl,
    max,
    application_name: applicationName,
    connectionTimeoutMillis: limits.connect,
    idleTimeoutMillis: 60_000,
    keepAlive: true,
    types: resultTypes,
  });
  watchConnections(pool, { statement: limits.statement, grace: graceTime }, log);
  return pool;
}

async function inspect(databaseUrl: string, pooler: PostgresOptions['pooler'], limit: number): Promise<ClockReading> {
  const first = firstClient(databaseUrl, limit, applicationName);
  const second = firstClient(databaseUrl, limit, applicationName);
  const started = performance.now();
  try {
    await first.connect();
    const reading = await checkServer(first);
    if (pooler !== undefined) return reading;
    await second.connect();
    await checkConnections([first, second]);
    return reading;
  } catch (error) {
    throw connectFailure(error, first, performance.now() - started, limit);
  } finally {
    await Promise.all([first.end(), second.end()]);
  }
}

interface ServerState {
  readonly version: number;
  readonly time: number;
  readonly isStandby: boolean;
  readonly readOnly: 'on' | 'off';
  readonly encoding: string;
  readonly schema: string | null;
}

/** @returns the time of the server. @throws DatabaseError if the service cannot use the database */
async function checkServer(client: pg.Client): Promise<ClockReading> {
  const requestedAt = performance.now();
  const { rows } = await client.query<ServerState>(
    `select current_setting('server_version_num')::integer / 10000 as version, ${databaseTime} as time,
      pg_is_in_recovery() as "isStandby", current_setting('transaction_read_only') as "readOnly",
      current_setting('server_encoding') as encoding, current_schema() as schema`,
  );
  const arrivedAt = performance.now();
  const [state] = rows;
  if (state === undefined) throw new Error('A select without a table returned no row.');
  const { version, time, isStandby, readOnly, encoding, schema } = state;
  if (version < oldestVersion)
    throw new DatabaseError(
      `The PostgreSQL server has version ${version}, and the service needs ${oldestVersion} or later. Upgrade the server, or set DATABASE_URL to another one.`,
    );
  if (isStandby)
    throw new ServerAway(
      'The PostgreSQL server is a standby. Promote it, or set DATABASE_URL to its primary; READ_DATABASE_URL names standbys.',
    );
  if (readOnly === 'on')
    throw new DatabaseError(
      'The database rejects writes: default_transaction_read_only is on. Run ALTER DATABASE … RESET default_transaction_read_only, and the same for the user (ALTER ROLE).',
    );
  if (encoding !== 'UTF8')
    throw new DatabaseError(
      `The database has the encoding ${encoding}, in which not all texts can be stored. Create one with: CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0`,
    );
  if (schema !== 'public')
    throw new DatabaseError(
      `The search_path of the user of DATABASE_URL leads to ${schema === null ? 'no schema' : `the schema ${schema}`}, and the tables are in public. Run ALTER ROLE … RESET search_path, and the same for the database (ALTER DATABASE).`,
    );
  return { database: time, requestedAt, arrivedAt };
}

/** Two concurrent connections have two server processes of their own. A pooler switches them. */
async function checkConnections(clients: readonly pg.Client[]): Promise<void> {
  const ownerOf = new Map<number, pg.Client>();
  for (let round = 1; round <= 3; round++) {
    for (const client of clients) {
      const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
      const pid = rows[0]?.pid ?? 0;
      const owner = ownerOf.get(pid) ?? client;
      ownerOf.set(pid, owner);
      if (owner === client && ownerOf.size <= clients.length) continue;
      throw new DatabaseError(
        'DATABASE_URL leads to a pooler that assigns each transaction to another connection of the server. Set DATABASE_POOLER=transaction, or connect to the server itself.',
      );
    }
  }
}
