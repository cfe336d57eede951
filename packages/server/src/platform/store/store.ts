import { AsyncLocalStorage, AsyncResource } from 'node:async_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import type { Pool, PoolClient } from 'pg';
import { continueAs, type Subject } from './binding.ts';
import { type Connection, type RunResult, withConnection } from './connection.ts';
import type { Engine } from './engine.ts';
import { commitFailure, DatabaseError, TransactionConflict } from './errors.ts';
import { declareLeakproof } from './leakproof.ts';
import { type Limits, type StoreLog, silentLog, standardLimits } from './limits.ts';
import type { Listener } from './listener.ts';
import { checkMigrated, type Migrations, migrate, pendingMigrations, readMigrations } from './migrate.ts';
import { openPglite } from './pglite.ts';
import { openPostgres } from './postgres.ts';
import { ensureServiceRole } from './role.ts';
import { SchemaCheck } from './schema-check.ts';
import { firstSavepoint, OpenSession, OpenTransaction, type Session, type Transaction } from './session.ts';
import type { Standbys } from './standbys/index.ts';
import { StatementNames } from './statement-names.ts';
import { Statistics } from './statistics.ts';

export interface StoreOptions {
  /** A PostgreSQL server, version 15 or newer. Without it the store is PGlite in `dataDir`. */
  databaseUrl?: string;
  /** The data directory of PGlite; created at the first start. */
  dataDir?: string;
  /** Number of connections to a server; PGlite has one. */
  poolSize?: number;
  /**
   * `transaction`: the server is reached through a pooler in transaction mode, such as PgBouncer. Role and tenant are
   * then sent with each transaction, which requires more round trips.
   */
  pooler?: 'transaction' | undefined;
  /** Standbys of the server for reads that may run there, with as many connections each. */
  standbyUrls?: readonly string[];
  /** False for a further server, beside the one whose time decides. */
  isClock?: boolean;
  /**
   * `check`: a server that lacks migrations is rejected. `apply`, the default: they are applied. PGlite, which no other
   * process can use, is always migrated.
   */
  migrations?: 'apply' | 'check';
  /** Overrides of the default limits. */
  limits?: Partial<Limits>;
  log?: StoreLog;
}

export type { Query, Session, Transaction } from './session.ts';

/**
 * The only access to the database. Each call uses its own connection for the duration of its work, which is bound to the
 * tenant first; calls cannot be nested.
 */
export interface Store {
  readonly engine: 'pglite' | 'postgres';
  /**
   * Runs reads for a tenant, without a transaction: each statement sees what is committed when it starts. If the
   * connection is broken, `work` runs again on another one, so it must only read.
   *
   * @param from `standby`: on a standby that has everything that was committed before the call; if there is none, on the
   * primary, which is the default
   * @throws TimeBudgetExceeded if all of `work` takes longer than the limit of reads
   */
  read<Result>(
    tenantId: number,
    work: (session: Session) => Promise<Result>,
    from?: 'primary' | 'standby',
  ): Promise<Result>;
  /**
   * Runs one transaction for a tenant; it commits after `work` and rolls back if it throws. On a conflict with another
   * transaction, all of `work` runs again, up to `maxAttempts` times, so it must have no other effects.
   *
   * @throws DatabaseUnavailable if nothing was written; OutcomeUnknown if the connection broke during the commit
   */
  write<Result>(tenantId: number, work: (transaction: Transaction) => Promise<Result>): Promise<Result>;
  /**
   * Runs one transaction as the owner of the tables, without a tenant: for `tenant`, `signing_key` and similar tables. It
   * cannot access rows of tenants (unless the database user is a superuser): use `write` for each tenant.
   */
  system<Result>(work: (transaction: Transaction) => Promise<Result>): Promise<Result>;
  /** Runs one statement like `system`. */
  readonly owner: Pick<Session, 'all' | 'first'>;
  /**
   * Runs one transaction that starts as the owner of the tables, who inserts a tenant, and continues for that tenant: `work`
   * gets what was inserted.
   */
  writeNew<Inserted, Result>(
    insert: (transaction: Transaction) => Promise<OfTenant<Inserted>>,
    work: (transaction: Transaction, inserted: Inserted) => Promise<Result>,
  ): Promise<Result>;
  /**
   * Runs reads of one moment, however long they take. They start as the owner of the tables, who finds the tenant, and continue
   * for that tenant: `work` gets what was found.
   */
  snapshot<Found, Result>(
    find: (transaction: Transaction) => Promise<OfTenant<Found>>,
    work: (transaction: Transaction, found: Found) => Promise<Result>,
  ): Promise<Result>;
  /**
   * Runs statements as the owner of the tables, in one transaction. Several statements, separated by semicolons, must have no
   * values.
   *
   * @typeParam Row what the text selects
   */
  ownerStatements<Row = Record<string, unknown>>(text: string, values?: readonly unknown[]): Promise<{ rows: Row[] }>;
  /** Receives notifications of a channel, which transactions send when they commit. Some may be missed. */
  listen(channel: string, onNotification: (payload: string) => void): Promise<Listener>;
  /**
   * Notifies listeners on a channel: in this process immediately, in other processes shortly afterwards. It does not
   * block the caller, whereas notifications that transactions send make their commits wait for each other.
   */
  notify(channel: string, payload: string): void;
  /**
   * @throws DatabaseUnavailable if the database does not respond, or a newer version of this program has migrated it; WrongClock if its
   * clock differs from that of this process
   */
  ready(): Promise<void>;
  /** Standbys that reads use; undefined without any. */
  readonly standbys?: Pick<Standbys, 'states' | 'observe'> | undefined;
  /** All databases with tenants; only this one, unless it has a directory. */
  readonly cells: readonly Cell[];
  /** The database with the number. @throws DatabaseUnavailable if it was unavailable when it was last checked */
  cell(number: number): Store;
  /** The database of a tenant. @throws DatabaseUnavailable like `cell` */
  cellOf(tenantId: number): Store;
  /** Returns the memory that large work has taken in an embedded database, which opens again. */
  freeMemory?(): Promise<void>;
  /** Waits for work in progress. */
  close(): Promise<void>;
}

/** What the owner of the tables has found or inserted, and the tenant that a transaction continues for. */
export interface OfTenant<Value> {
  readonly tenantId: number;
  readonly value: Value;
}

/** A database with tenants. */
export interface Cell {
  /** 0 is the database with the directory. */
  readonly number: number;
  readonly name: string;
  /** Undefined while it has not been opened. */
  readonly store: Store | undefined;
  readonly isReady: boolean;
}

/** The name of the database with the directory. */
export const homeCell = 'home';

/**
 * Opens the database and brings its schema up to date, or checks that it is.
 *
 * @throws DatabaseUnavailable, DatabaseError or DirectoryInUse, each with a sentence for the operator
 */
export async function openStore(options: StoreOptions): Promise<Store> {
  const { log = silentLog } = options;
  const engine = await openEngine(options, log);
  const migrations = await readMigrations();
  try {
    await prepare(engine, migrations, options, log);
  } catch (error) {
    await engine.close();
    throw error;
  }
  return new EngineStore(engine, new SchemaCheck(engine, migrations));
}

/** Opens the database as it is. */
export function openEngine(options: StoreOptions, log: StoreLog): Promise<Engine> {
  const { databaseUrl, dataDir, poolSize = 10, pooler, standbyUrls = [], isClock = true } = options;
  const limits = { ...standardLimits, ...options.limits };
  if (databaseUrl !== undefined)
    return openPostgres({ databaseUrl, poolSize, pooler, standbyUrls, isClock }, limits, log);
  if (dataDir !== undefined) return openPglite(dataDir, limits, log);
  throw new Error('The store needs a database URL or a data directory.');
}

async function prepare(
  engine: Engine,
  migrations: Migrations,
  { migrations: mode = 'apply', pooler }: StoreOptions,
  log: StoreLog,
): Promise<void> {
  await asOwner(engine, ensureServiceRole);
  if (mode === 'check' && engine.name === 'postgres') await checkMigrated(engine.pool, migrations);
  else {
    const pending = await pendingMigrations(engine.pool, migrations);
    if (pending.length > 0 && pooler === 'transaction') throw new DatabaseError(migrationsRequireSessions);
    await migrate(engine.pool, migrations);
    const isNew = pending.length === migrations.size;
    if (pending.length > 0 && !isNew) log.info(`Database migrated to ${pending.at(-1)}.`);
  }
  await asOwner(engine, (client) => declareLeakproof(client, log));
}

/** Runs statements as the owner of the tables, on one connection. */
export async function asOwner(engine: Engine, work: (client: PoolClient) => Promise<void>): Promise<void> {
  const client = await engine.pool.connect();
  await work(client).finally(() => client.release());
}

export const migrationsRequireSessions =
  'Migrations require a connection to the PostgreSQL server itself: run "operator migrate" with its address in DATABASE_URL, and without DATABASE_POOLER.';

const maxAttempts = 8;

/** Time during which notifications for other processes are collected, in milliseconds. */
const notifyDelay = 5;

class EngineStore implements Store {
  readonly #engine: Engine;
  readonly #schema: SchemaCheck;
  readonly #names: StatementNames | undefined;
  readonly #statistics = new Statistics((work) => this.system(work));
  readonly #listeners = new Map<string, Set<(payload: string) => void>>();
  readonly #unsent = new Map<string, Set<string>>();
  /** Set while work is in progress in this chain of calls. */
  readonly #occupied = new AsyncLocalStorage<{ over: boolean }>();

  constructor(engine: Engine, schema: SchemaCheck) {
    this.#engine = engine;
    this.#schema = schema;
    this.#names = engine.binding.keepsStatements ? new StatementNames() : undefined;
  }

  get engine(): 'pglite' | 'postgres' {
    return this.#engine.name;
  }

  get cells(): readonly Cell[] {
    return [{ number: 0, name: homeCell, store: this, isReady: true }];
  }

  cell(): Store {
    return this;
  }

  cellOf(): Store {
    return this;
  }

  get standbys(): Standbys | undefined {
    return this.#engine.standbys;
  }

  read: Store['read'] = async (tenantId, work, from = 'primary') => {
    const { pool, standbys } = this.#engine;
    const onPrimary = () => this.#readFrom(pool, tenantId, work);
    if (from === 'primary' || standbys === undefined) return onPrimary();
    return standbys.read((standby) => this.#readFrom(standby, tenantId, work), onPrimary);
  };

  #readFrom<Result>(pool: Pool, tenantId: number, work: (session: Session) => Promise<Result>): Promise<Result> {
    const { binding, limits } = this.#engine;
    return this.#withConnection((connection) => {
      const deadline = { at: performance.now() + limits.read, budget: limits.read };
      return binding.read(connection, tenantId, async () => {
        const session = new OpenSession(connection, this.#names, deadline);
        try {
          return await work(session);
        } finally {
          await session.close();
        }
      });
    }, pool);
  }

  async write<Result>(tenantId: number, work: (transaction: Transaction) => Promise<Result>): Promise<Result> {
    for (let attempt = 1; ; attempt++) {
      try {
        const result = await this.#withConnection((connection) => this.#transact(connection, { tenantId }, work));
        this.#statistics.wrote();
        return result;
      } catch (error) {
        if (!(error instanceof TransactionConflict) || attempt === maxAttempts) throw error;
        // A random delay prevents the same conflict again.
        await pause(Math.random() * 20 * 2 ** attempt);
      }
    }
  }

  system: Store['system'] = (work) => this.#withConnection((connection) => this.#transact(connection, 'owner', work));
  readonly owner: Store['owner'] = {
    all: (query) => this.system((transaction) => transaction.all(query)),
    first: (query) => this.system((transaction) => transaction.first(query)),
  };
  writeNew: Store['writeNew'] = (insert, work) => this.#continued(false, insert, work);
  snapshot: Store['snapshot'] = (find, work) => this.#continued(true, find, work);

  /** Runs one transaction as the owner, and then as a tenant. */
  #continued<Value, Result>(
    isSnapshot: boolean,
    first: (transaction: Transaction) => Promise<OfTenant<Value>>,
    work: (transaction: Transaction, value: Value) => Promise<Result>,
  ): Promise<Result> {
    return this.#withConnection((connection) => {
      const both = async (transaction: Transaction) => {
        const { tenantId, value } = await first(transaction);
        await continueAs(connection, tenantId);
        return work(transaction, value);
      };
      return this.#transact(connection, 'owner', both, isSnapshot);
    });
  }

  ownerStatements<Row>(text: string, values: readonly unknown[] = []): Promise<{ rows: Row[] }> {
    const { binding } = this.#engine;
    return this.#withConnection(async (connection) => {
      let commits = false;
      try {
        if (values.length === 0) {
          commits = true;
          const all: RunResult | RunResult[] = await binding.begin(connection, 'owner', `${text}; commit`);
          return { rows: [all].flat().flatMap(({ rows }) => rows) };
        }
        await binding.begin(connection, 'owner');
        const { rows } = await connection.run({ text, values: [...values] });
        commits = true;
        await connection.run({ text: 'commit' });
        return { rows };
      } catch (error) {
        await connection.run({ text: 'rollback' }).catch(() => undefined);
        throw commits ? commitFailure(error, connection.lost) : error;
      }
    });
  }

  async listen(channel: string, onNotification: (payload: string) => void): Promise<Listener> {
    // On PGlite, a notification arrives while the sending transaction still has its connection; the listener must not run
    // in its context.
    const bound = AsyncResource.bind(onNotification);
    const listener = await this.#engine.listen(channel, bound);
    const here = this.#listeners.getOrInsertComputed(channel, () => new Set()).add(bound);
    return {
      close: async () => {
        here.delete(bound);
        await listener.close();
      },
    };
  }

  notify(channel: string, payload: string): void {
    const here = this.#listeners.get(channel);
    if (here !== undefined && here.size > 0) for (const onNotification of here) onNotification(payload);
    else if (this.engine === 'postgres') this.#notifyOthers(channel, payload);
  }

  #notifyOthers(channel: string, payload: string): void {
    const waiting = this.#unsent.get(channel);
    if (waiting !== undefined) return void waiting.add(payload);
    const unsent = new Set([payload]);
    this.#unsent.set(channel, unsent);
    setTimeout(() => {
      this.#unsent.delete(channel);
      const statement = 'select pg_notify($1, payload) from unnest($2::text[]) payload';
      this.ownerStatements(statement, [channel, [...unsent]]).catch(() => undefined);
    }, notifyDelay).unref();
  }

  async ready(): Promise<void> {
    await this.#engine.check();
    this.#schema.verify();
  }

  async freeMemory(): Promise<void> {
    await this.#engine.freeMemory?.();
  }

  close(): Promise<void> {
    return this.#engine.close();
  }

  async #transact<Result>(
    connection: Connection,
    subject: Subject,
    work: (transaction: Transaction) => Promise<Result>,
    isSnapshot = false,
  ): Promise<Result> {
    const aside = subject === 'owner' ? undefined : this.#engine.aside?.(subject.tenantId);
    const transaction = new OpenTransaction(connection, this.#names, aside);
    let result: Result;
    try {
      await this.#engine.binding.begin(connection, subject, `savepoint ${firstSavepoint}`, isSnapshot);
      result = await work(transaction);
      await transaction.close();
      if (transaction.fatalError !== undefined) throw transaction.fatalError;
    } catch (error) {
      await transaction.close();
      // If this fails too, the connection is closed, and the server rolls back; the first error is the one to report.
      await connection.run({ text: 'rollback' }).catch(() => undefined);
      throw transaction.fatalError ?? error;
    }
    const { command } = await connection.run({ text: 'commit' }).catch((error: unknown) => {
      throw isSnapshot ? error : commitFailure(error, connection.lost);
    });
    // The server responds to COMMIT of a failed transaction with ROLLBACK, without an error.
    if (command !== 'COMMIT') {
      throw new Error('Nothing was written: a statement had failed, and the work went on without a savepoint.');
    }
    return result;
  }

  /** Waiting for a second connection while holding one can deadlock; on PGlite, it always does. */
  async #withConnection<Result>(
    work: (connection: Connection) => Promise<Result>,
    pool: Pool = this.#engine.pool,
  ): Promise<Result> {
    if (this.#occupied.getStore()?.over === false) {
      throw new Error('The store is already in use in this call: use the session or transaction that was passed.');
    }
    return withConnection(pool, (connection) => {
      const here = { over: false };
      return this.#occupied
        .run(here, () => work(connection))
        .finally(() => {
          here.over = true;
        });
    }).catch(async (error: unknown) => {
      throw await this.#schema.causeOf(error);
    });
  }
}
