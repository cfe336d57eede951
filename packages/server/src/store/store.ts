import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import type { PoolClient } from 'pg';
import { beginAsOwner, bindTenant, run, withConnection } from './connection.ts';
import type { Engine, StoreLog } from './engine.ts';
import { TransactionConflict } from './errors.ts';
import { declareLeakproof } from './leakproof.ts';
import { migrate, readMigrations } from './migrate.ts';
import { openPglite } from './pglite.ts';
import { openPostgres } from './postgres.ts';
import { ensureServiceRole } from './role.ts';
import { OpenSession, OpenTransaction, type Session, type Transaction } from './session.ts';
import { StatementNames } from './statement-names.ts';

export interface StoreOptions {
  /** A PostgreSQL server, version 15 or newer. Without it the store is PGlite in `dataDir`. */
  databaseUrl?: string;
  /** Where PGlite keeps its data; made at the first start. */
  dataDir?: string;
  /** How many connections to a server; PGlite has one. */
  poolSize?: number;
  log?: StoreLog;
}

export type { Query, Session, Transaction } from './session.ts';

/**
 * The one way to the database. Each call has a connection of its own for as long as its work lasts, bound to the tenant
 * before the work sees it; calls do not nest.
 */
export interface Store {
  readonly engine: 'pglite' | 'postgres';
  /**
   * Single reads for a tenant, without a transaction: each statement sees what is committed when it starts. When the
   * connection turns out to be dead, `work` begins again on another one, so it only reads.
   */
  read<Result>(tenantId: number, work: (session: Session) => Promise<Result>): Promise<Result>;
  /**
   * One transaction for a tenant; it commits when `work` has ended and rolls back when it throws. On a conflict with
   * another transaction the whole of `work` runs again, up to five times in all, so it does nothing outside of it.
   */
  write<Result>(tenantId: number, work: (transaction: Transaction) => Promise<Result>): Promise<Result>;
  /**
   * One transaction as the owner of the tables, without a tenant: for `tenant`, `signing_key` and the like.
   * Rows of tenants are out of reach here (unless the database user is a superuser): go through `write` for each tenant.
   */
  system<Result>(work: (transaction: Transaction) => Promise<Result>): Promise<Result>;
  /** @throws DatabaseUnavailable when the database does not answer */
  ready(): Promise<void>;
  /** Waits for the work under way. */
  close(): Promise<void>;
}

/**
 * Opens the database and brings its schema up to date.
 * @throws DatabaseUnavailable, DatabaseError or DirectoryInUse, each with a sentence for the operator
 */
export async function openStore(options: StoreOptions): Promise<Store> {
  const { databaseUrl, dataDir, poolSize = 10, log = silent } = options;
  const engine = await openEngine(databaseUrl, dataDir, poolSize, log);
  try {
    await prepare(engine, log);
  } catch (error) {
    await engine.close();
    throw error;
  }
  return new EngineStore(engine);
}

const silent: StoreLog = { info() {}, warn() {} };

function openEngine(
  databaseUrl: string | undefined,
  dataDir: string | undefined,
  poolSize: number,
  log: StoreLog,
): Promise<Engine> {
  if (databaseUrl !== undefined) return openPostgres(databaseUrl, poolSize, log);
  if (dataDir !== undefined) return openPglite(dataDir, log);
  throw new Error('The store needs a database URL or a data directory.');
}

async function prepare(engine: Engine, log: StoreLog): Promise<void> {
  const asOwner = async (work: (client: PoolClient) => Promise<void>): Promise<void> => {
    const client = await engine.pool.connect();
    await work(client).finally(() => client.release());
  };
  await asOwner(ensureServiceRole);
  await migrate(engine.pool, await readMigrations());
  await asOwner((client) => declareLeakproof(client, log));
}

const mostAttempts = 5;

class EngineStore implements Store {
  readonly #engine: Engine;
  readonly #names = new StatementNames();
  /** Set while work is under way in this chain of calls. */
  readonly #occupied = new AsyncLocalStorage<{ over: boolean }>();

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  get engine(): 'pglite' | 'postgres' {
    return this.#engine.name;
  }

  read<Result>(tenantId: number, work: (session: Session) => Promise<Result>): Promise<Result> {
    return this.#withConnection(async (client) => {
      await bindTenant(client, tenantId);
      const session = new OpenSession(client, this.#names);
      try {
        return await work(session);
      } finally {
        await session.close();
      }
    });
  }

  async write<Result>(tenantId: number, work: (transaction: Transaction) => Promise<Result>): Promise<Result> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#withConnection(async (client) => {
          await bindTenant(client, tenantId);
          return await this.#transact(client, 'begin', work);
        });
      } catch (error) {
        if (!(error instanceof TransactionConflict) || attempt === mostAttempts) throw error;
        // Those that collided must not meet again.
        await pause(Math.random() * 20 * 2 ** attempt);
      }
    }
  }

  system<Result>(work: (transaction: Transaction) => Promise<Result>): Promise<Result> {
    return this.#withConnection((client) => this.#transact(client, beginAsOwner, work));
  }

  ready(): Promise<void> {
    return withConnection(this.#engine, async (client) => {
      await run(client, { text: 'select 1' });
    });
  }

  close(): Promise<void> {
    return this.#engine.close();
  }

  async #transact<Result>(
    client: PoolClient,
    begin: string,
    work: (transaction: Transaction) => Promise<Result>,
  ): Promise<Result> {
    await run(client, { text: begin });
    const transaction = new OpenTransaction(client, this.#names);
    let result: Result;
    try {
      result = await work(transaction);
      await transaction.close();
      if (transaction.doom !== undefined) throw transaction.doom;
    } catch (error) {
      await transaction.close();
      // Where this fails too, the connection is dropped, and the server rolls back; the first error is the one to tell.
      await run(client, { text: 'rollback' }).catch(() => undefined);
      throw transaction.doom ?? error;
    }
    const { command } = await run(client, { text: 'commit' });
    // The server answers COMMIT of a failed transaction with ROLLBACK, without an error.
    if (command !== 'COMMIT') {
      throw new Error('Nothing was written: a statement had failed, and the work went on without a savepoint.');
    }
    return result;
  }

  /** Waiting for a second connection while holding one comes to an end only if others let go; on PGlite, never. */
  async #withConnection<Result>(work: (client: PoolClient) => Promise<Result>): Promise<Result> {
    if (this.#occupied.getStore()?.over === false) {
      throw new Error('The store is already at work in this call: use the session or transaction that was given.');
    }
    return withConnection(this.#engine, (client) => {
      const here = { over: false };
      return this.#occupied
        .run(here, () => work(client))
        .finally(() => {
          here.over = true;
        });
    });
  }
}
