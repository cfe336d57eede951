import { readdir, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Pool, PoolClient } from 'pg';
import { databaseClock } from '../database-clock.ts';
import { sourceFile } from '../source-file.ts';
import { DatabaseError, translateError } from './errors.ts';
import { type MigrationFile, parseMigration } from './migration-file.ts';

/** The files of `migrations/`: name (sorted, without extension) and SQL. There are no down migrations. */
export type Migrations = ReadonlyMap<string, string>;

const folder = fileURLToPath(new URL('migrations', sourceFile('platform/store/migrate.ts')));
/** The first migration: the files of `migrations/baseline/`, which create the schema of an empty database. */
const baseline = '0718_baseline';
/** The last migration from before the baseline. A database that has it has the schema of the baseline. */
const lastBefore = '0717_work_of_engagements';
/** What such a database gets instead of the baseline. The version before does not notice it. */
const nothing = '-- locks: none\n';
/** The migrations that a program must know to use the database. */
const required = 'schema_migration';
/**
 * The migrations that the version before does not notice: they are held to rules and remove nothing. That version does not read
 * this table, so it can run beside them, and start again after them.
 */
const expansions = 'schema_expansion';

/** A migration that the database has. */
interface DoneMigration {
  readonly name: string;
  readonly isRequired: boolean;
}

function tableOf(text: string): string {
  const { locks, contracts } = parseMigration(text);
  return locks !== undefined && contracts === undefined ? expansions : required;
}

/** Selects the names of the migrations that the database has, from those of the two tables that exist. */
function selectDone(tables: readonly string[]): string {
  return tables.map((table) => `select name, ${table === required} as "isRequired" from ${table}`).join(' union all ');
}

/** Returns the migrations that the database has. @param run runs a statement as the owner of the tables */
export async function doneMigrations(run: (text: string) => Promise<{ rows: unknown[] }>): Promise<DoneMigration[]> {
  const { rows: found } = await run(
    `select name from unnest(array['${required}', '${expansions}']) name where to_regclass(name) is not null`,
  );
  if (found.length === 0) return [];
  const { rows } = await run(selectDone((found as { name: string }[]).map(({ name }) => name)));
  return rows as DoneMigration[];
}

export async function readMigrations(): Promise<Migrations> {
  const later = await sqlFiles(folder);
  const subjects = await sqlFiles(join(folder, 'baseline'));
  return new Map([[baseline, [...subjects.values()].join('\n')], ...later]);
}

async function sqlFiles(directory: string): Promise<Map<string, string>> {
  const files = (await readdir(directory)).filter((file) => file.endsWith('.sql')).sort();
  const texts = files.map(
    async (file) => [basename(file, '.sql'), await readFile(join(directory, file), 'utf8')] as const,
  );
  return new Map(await Promise.all(texts));
}

/** What a run of migrations reports while it works. */
export interface MigrationProgress {
  started(name: string, index: number, total: number): void;
  /** Another process migrates the database; this one waits. */
  waits(): void;
  /** A lock was not available in time. The migration is tried again. */
  retries(name: string, attempt: number): void;
  batch(name: string, rows: number): void;
  ended(name: string, milliseconds: number): void;
}

const silent: MigrationProgress = { started() {}, waits() {}, retries() {}, batch() {}, ended() {} };

/** How long a migration waits for a lock, and how often it tries. */
export interface LockPatience {
  /** In milliseconds. Meanwhile, whoever needs a conflicting lock waits behind the migration. */
  readonly timeout: number;
  readonly attempts: number;
}

export const standardPatience: LockPatience = { timeout: 500, attempts: 40 };

/**
 * Returns the names of the migrations that the database lacks, in order.
 *
 * @throws DatabaseError if a newer version of this program has migrated the database
 */
export async function pendingMigrations(pool: Pool, migrations: Migrations): Promise<string[]> {
  const done = fromBaseline(await doneMigrations((text) => pool.query(text)));
  const unknown = newerMigrations(done, migrations).filter(({ isRequired }) => isRequired);
  if (unknown.length > 0) {
    const names = unknown.map(({ name }) => name).sort();
    throw new DatabaseError(
      `The database is newer than this program: it has ${names.join(', ')}. Start the version that migrated it, or a later one.`,
    );
  }
  return without(migrations, done);
}

/** The migrations of a database that this program does not know. It knows those from before the baseline, which replaces them. */
export function newerMigrations(done: readonly DoneMigration[], migrations: Migrations): readonly DoneMigration[] {
  return done.filter(({ name }) => name >= baseline && !migrations.has(name));
}

/**
 * Returns the migrations of a database from the baseline on. A database from before it has earlier ones, which it replaces.
 *
 * @throws DatabaseError if such a database lacks one of them
 */
function fromBaseline(done: readonly DoneMigration[]): readonly DoneMigration[] {
  const later = done.filter(({ name }) => name >= baseline);
  if (done.length === 0 || later.some(({ name }) => name === baseline) || isFromBefore(done)) return later;
  throw new DatabaseError(
    `The database is from a version before 1.0.0 that this program cannot upgrade: it lacks ${lastBefore}. Export its tenants with that version, and import them into a new database.`,
  );
}

function isFromBefore(done: readonly DoneMigration[]): boolean {
  return done.some(({ name }) => name === lastBefore);
}

function without(migrations: Migrations, done: readonly DoneMigration[]): string[] {
  const present = new Set(done.map(({ name }) => name));
  return [...migrations.keys()].filter((name) => !present.has(name)).sort();
}

/** @throws DatabaseError if the database lacks migrations, or has those of a newer version */
export async function checkMigrated(pool: Pool, migrations: Migrations): Promise<void> {
  const pending = await pendingMigrations(pool, migrations);
  const [first = ''] = pending;
  if (pending.length === 0) return;
  const what = pending.length === 1 ? `the migration ${first}` : `${pending.length} migrations, from ${first} on`;
  throw new DatabaseError(
    `The database lacks ${what}: run "operator migrate" of this version, or set MIGRATE_AT_START=on.`,
  );
}

/**
 * Brings the schema up to date, each migration in its own transaction. A run that was interrupted is continued by the next
 * one. Several processes can start concurrently: one migrates, the others wait.
 *
 * @throws DatabaseError if a newer version of this program has migrated the database, or a migration fails
 */
export async function migrate(
  pool: Pool,
  migrations: Migrations,
  progress: MigrationProgress = silent,
  patience: LockPatience = standardPatience,
): Promise<void> {
  if ((await pendingMigrations(pool, migrations)).length === 0) return;
  const client = await pool.connect();
  try {
    await lock(client, progress);
    try {
      for (const table of [required, expansions]) {
        await client.query(
          `create table if not exists ${table} (name varchar(255) primary key, timestamp varchar(255) not null)`,
        );
      }
      const done = await doneMigrations((text) => client.query(text));
      const pending = without(migrations, fromBaseline(done));
      for (const [index, name] of pending.entries()) {
        const startedAt = performance.now();
        progress.started(name, index, pending.length);
        const text = name === baseline && isFromBefore(done) ? nothing : migrations.get(name);
        await apply({ client, name, progress, patience }, text ?? '');
        progress.ended(name, performance.now() - startedAt);
      }
    } finally {
      await client.query('reset lock_timeout; reset statement_timeout').catch(() => undefined);
      await client.query('select pg_advisory_unlock($1)', [lockId]).catch(() => undefined);
    }
  } finally {
    client.release();
  }
}

/** The lock of migrations, which earlier versions take, too. It ends with the connection. */
const lockId = '3853314791062309107';
/** How often the lock is tried, in milliseconds. A transaction that waits for it would block `create index concurrently`. */
const tryLockEvery = 100;

async function lock(client: PoolClient, progress: MigrationProgress): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const { rows } = await client.query<{ locked: boolean }>('select pg_try_advisory_lock($1) as locked', [lockId]);
    if (rows[0]?.locked === true) return;
    if (attempt === 1) progress.waits();
    await pause(tryLockEvery);
  }
}

interface Application {
  readonly client: PoolClient;
  readonly name: string;
  readonly progress: MigrationProgress;
  readonly patience: LockPatience;
}

async function apply(application: Application, text: string): Promise<void> {
  const { client, name } = application;
  const file = parseMigration(text);
  try {
    if (file.inTransaction) await withRetries(application, () => applyAtOnce(application, text));
    else await applyStatements(application, file, text);
  } catch (error) {
    await client.query('rollback').catch(() => undefined);
    const reason = translateError(error, false);
    throw new DatabaseError(
      `The schema could not be brought up to date (${name}): ${reason instanceof Error ? reason.message : reason}`,
      reason instanceof DatabaseError ? reason.sqlState : undefined,
    );
  }
}

async function applyAtOnce({ client, name, patience }: Application, text: string): Promise<void> {
  await client.query(`begin; set local lock_timeout = ${patience.timeout}; set local statement_timeout = 0`);
  await client.query(text);
  await record(client, name, text);
  await client.query('commit');
}

async function applyStatements(application: Application, { statements }: MigrationFile, text: string): Promise<void> {
  const { client, name, progress, patience } = application;
  for (const { text: statement, inBatches } of statements) {
    // It waits for transactions that run, without blocking others.
    const timeout = /\bconcurrently\b/i.test(statement) ? 0 : patience.timeout;
    await client.query(`set lock_timeout = ${timeout}; set statement_timeout = 0`);
    const run = (text: string) => withRetries(application, () => client.query(text));
    if (!inBatches) {
      await run(statement);
      continue;
    }
    const most = Number(/\blimit (\d+)/i.exec(statement)?.[1]);
    for (let limit = Math.ceil(most / smallestPart); ; ) {
      const startedAt = performance.now();
      const rows = (await run(statement.replace(/\blimit \d+/i, `limit ${limit}`))).rowCount ?? 0;
      if (rows === 0) break;
      progress.batch(name, rows);
      const isLong = performance.now() - startedAt > maxBatchMs;
      limit = Math.ceil(isLong ? Math.max(limit / 2, most / smallestPart) : Math.min(limit * 2, most));
    }
  }
  await record(client, name, text);
}

function record(client: PoolClient, name: string, text: string) {
  return client.query(`insert into ${tableOf(text)} (name, timestamp) values ($1, $2)`, [
    name,
    databaseClock.date().toISOString(),
  ]);
}

/** After a longer batch, the next ones are smaller: who writes the same rows waits for its end. */
const maxBatchMs = 100;
/** The part of the limit of a batch that it has at least, because finding the rows takes time, too. */
const smallestPart = 16;

const lockNotAvailable = '55P03';

/** Tries again after a growing, random pause, in which those who waited behind the migration get their turn. */
async function withRetries<Result>(
  { client, name, progress, patience }: Application,
  work: () => Promise<Result>,
): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      await client.query('rollback');
      const isLocked = error instanceof Error && 'code' in error && error.code === lockNotAvailable;
      if (!isLocked || attempt >= patience.attempts) throw error;
      progress.retries(name, attempt + 1);
      await pause(patience.timeout * Math.min(attempt, 10) * (0.5 + Math.random()));
    }
  }
}
