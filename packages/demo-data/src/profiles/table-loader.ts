import { once } from 'node:events';
import type { ContentStorage } from '@financial-automation/server/platform/storage/storage';
import { compiler } from '@financial-automation/server/platform/store/session';
import type { Query, Store, Transaction } from '@financial-automation/server/platform/store/store';
import { sql } from 'kysely';
import pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { instantText } from './calendar.ts';

/** A value of a column: a list of texts for an array, an object or a list of objects for `jsonb`. */
export type Value = string | number | boolean | null | readonly string[] | JsonObject | readonly JsonObject[];
type JsonObject = { readonly [name: string]: unknown };
/** Columns by their names. All rows of a load have the same columns in the same order. */
export type Row = { readonly [column: string]: Value };
/** A row of an entity: first its ID and its time of creation in milliseconds since 1970, then the other columns. */
export type EntityRow = Row & { readonly id: string; readonly createdAt: number };

/** The rows of a table by position, which costs less for millions of rows. */
interface TableRows {
  readonly columns: readonly string[];
  readonly rows: Iterable<readonly Value[]>;
}

/** Fills tables of one tenant. */
export interface Loader {
  readonly tenantId: number;
  /** Whether triggers update sums during the load. A bulk load calculates them at the end. */
  readonly keepsSums: boolean;
  /** Loads rows of an entity; they have their ID as their `systemRef`, and by default are as they were created. */
  entities(table: string, rows: Iterable<EntityRow>): Promise<void>;
  /** Loads rows of a table that is not an entity. */
  rows(table: string, rows: Iterable<Row>): Promise<void>;
  /** Reads. */
  all<Row>(query: Query<Row>): Promise<Row[]>;
  /** Changes rows. */
  run(statement: Query<unknown>): Promise<void>;
  /** Does work whose rows refer to each other, so that they are loaded in one transaction. */
  step<Result>(work: () => Promise<Result>): Promise<Result>;
  /** Maximum number of bills to load in one step. */
  readonly billsOfStep: number;
  /** Between steps: tells the planner about the rows of earlier ones, or else it assumes empty tables. */
  updateStatistics(): Promise<void>;
  /** Returns the last number of a counter, which calls of the API cannot change before the end of the step. */
  lastNumber(counter: string): Promise<number>;
}

/** Reports progress: a table and its number of rows, or another step and its size. */
export type Report = (step: string, count: number, seconds: number) => void;

/** The target of a load: `databaseUrl` on PostgreSQL, only the store if the database is embedded. */
export interface Place {
  readonly store: Pick<Store, 'read' | 'write' | 'system'>;
  readonly databaseUrl: string | undefined;
  /** The storage of the content of files; without it they cannot be downloaded. */
  readonly storage?: ContentStorage;
}

/** Loads rows in one transaction: if it fails or the process ends, nothing is loaded. */
export async function load(
  { store, databaseUrl }: Place,
  tenantId: number,
  report: Report,
  work: (loader: Loader) => Promise<void>,
): Promise<void> {
  if (databaseUrl === undefined) {
    await store.write(tenantId, async (transaction) => {
      await work(new RowLoader(transaction, tenantId, report));
      await transaction.all(forgetPlans);
    });
    return;
  }
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    await client.query('begin');
    await client.query(`select set_config('app.tenant_id', $1, true)`, [String(tenantId)]);
    await client.query(`set local synchronous_commit = off; set local work_mem = '256MB'`);
    const loader = new CopyLoader(client, tenantId, report, 'checked');
    await work(loader);
    await loader.all(forgetPlans);
    await client.query('commit');
  } finally {
    await client.end();
  }
}

/**
 * Foreign keys and rules are checked with cached plans. A plan from when a table was almost empty scans the whole table
 * for each row.
 */
export const forgetPlans = sql`discard plans`;

export abstract class BaseLoader implements Loader {
  readonly tenantId: number;
  abstract readonly keepsSums: boolean;
  readonly #report: Report;

  constructor(tenantId: number, report: Report) {
    this.tenantId = tenantId;
    this.#report = report;
  }

  entities(table: string, rows: Iterable<EntityRow>): Promise<void> {
    return this.#load(table, () => withBaseColumns(byPosition(table, rows)));
  }

  rows(table: string, rows: Iterable<Row>): Promise<void> {
    return this.#load(table, () => byPosition(table, rows));
  }

  async #load(table: string, read: () => TableRows): Promise<void> {
    const start = performance.now();
    const { columns, rows } = read();
    const count = columns.length === 0 ? 0 : await this.insert(table, columns, rows);
    this.#report(table, count, (performance.now() - start) / 1000);
  }

  abstract readonly all: Loader['all'];
  readonly billsOfStep: number = Number.POSITIVE_INFINITY;

  run: Loader['run'] = async (statement) => {
    await this.all(statement);
  };

  step<Result>(work: () => Promise<Result>): Promise<Result> {
    return work();
  }

  /** Nothing by default: what is loaded in one transaction has no steps to speed up. */
  async updateStatistics(): Promise<void> {}

  async lastNumber(counter: string): Promise<number> {
    const [row] = await this.all<{ value: number }>(sql`
      insert into tenant_counter (tenant_id, name, value) values (${this.tenantId}, ${counter}, 0)
      on conflict (tenant_id, name) do update set value = tenant_counter.value returning value`);
    return row?.value ?? 0;
  }

  /** @returns the number of rows */
  abstract insert(table: string, columns: readonly string[], rows: Iterable<readonly Value[]>): Promise<number>;
}

/**
 * Returns the values of rows in the order of the columns of the first one; no columns without rows.
 *
 * @throws Error while reading, if a row has other columns.
 */
function byPosition(table: string, rows: Iterable<Row>): TableRows {
  const iterator = rows[Symbol.iterator]();
  const first = iterator.next();
  const columns = first.done === true ? [] : Object.keys(first.value);
  function* values(): Generator<readonly Value[]> {
    for (let next = first; next.done !== true; next = iterator.next()) {
      const own = Object.keys(next.value);
      if (own.length !== columns.length || own.some((name, index) => name !== columns[index]))
        throw new Error(`A row of ${table} has the columns ${own.join(', ')} instead of ${columns.join(', ')}.`);
      yield Object.values(next.value);
    }
  }
  return { columns, rows: values() };
}

/** Adds the system fields of an entity. */
function withBaseColumns({ columns, rows }: TableRows): TableRows {
  const [id, createdAt, ...own] = columns;
  if (id === undefined) return { columns, rows };
  if (id !== 'id' || createdAt !== 'createdAt') throw new Error('A row of an entity starts with its id and createdAt.');
  const isUpdated = own.includes('updated_at');
  const base = ['id', 'system_ref', 'created_at', ...(isUpdated ? [] : ['updated_at'])];
  return { columns: [...base, ...own], rows: withBaseValues(rows, isUpdated) };
}

function* withBaseValues(rows: Iterable<readonly Value[]>, isUpdated: boolean): Generator<readonly Value[]> {
  for (const [id = null, createdAt, ...values] of rows) {
    const at = instantText(Number(createdAt));
    yield isUpdated ? [id, id, at, ...values] : [id, id, at, at, ...values];
  }
}

/** Number of rows per statement. */
const chunk = 2_000;

/** Uses `insert`, for the embedded database. */
export class RowLoader extends BaseLoader {
  readonly keepsSums = true;
  readonly #transaction: Transaction;

  constructor(transaction: Transaction, tenantId: number, report: Report) {
    super(tenantId, report);
    this.#transaction = transaction;
  }

  all = <Row>(query: Query<Row>): Promise<Row[]> => this.#transaction.all(query);

  async insert(table: string, columns: readonly string[], rows: Iterable<readonly Value[]>): Promise<number> {
    const names = sql.join(columns.map((name) => sql.ref(name)));
    let count = 0;
    for (const part of chunksOf(rows, chunk)) {
      const objects = part.map((row) => Object.fromEntries(columns.map((name, index) => [name, row[index]])));
      await this.#transaction.all(forgetPlans);
      await this.#transaction.all(sql`
        insert into ${sql.table(table)} (tenant_id, ${names})
        select ${this.tenantId}, ${names}
        from jsonb_populate_recordset(null::${sql.table(table)}, ${JSON.stringify(objects)}::jsonb)`);
      count += part.length;
    }
    return count;
  }
}

export function* chunksOf<Row>(rows: Iterable<Row>, size: number): Generator<Row[]> {
  let part: Row[] = [];
  for (const row of rows) {
    part.push(row);
    if (part.length < size) continue;
    yield part;
    part = [];
  }
  if (part.length > 0) yield part;
}

/**
 * Uses `COPY`. Row-level security prevents copying rows into a table of tenants: they are copied to a temporary table and
 * inserted from there, in one statement, so that triggers update sums once. A bulk load disables it.
 */
export class CopyLoader extends BaseLoader {
  readonly keepsSums: boolean;
  readonly #client: pg.Client;

  constructor(client: pg.Client, tenantId: number, report: Report, way: 'checked' | 'bulk') {
    super(tenantId, report);
    this.keepsSums = way === 'checked';
    this.#client = client;
  }

  all = async <Row>(query: Query<Row>): Promise<Row[]> => {
    const { sql: text, parameters } = query.compile(compiler);
    return (await this.#client.query({ text, values: [...parameters] })).rows;
  };

  async insert(table: string, columns: readonly string[], rows: Iterable<readonly Value[]>): Promise<number> {
    const names = columns.join(', ');
    if (!this.keepsSums) return this.#copy(`${table} (${names}, tenant_id)`, rows, `\t${this.tenantId}`);
    await this.#client.query(`create temp table copied on commit drop as select ${names} from ${table} limit 0`);
    const count = await this.#copy('copied', rows, '');
    await this.all(forgetPlans);
    await this.#client.query(
      `insert into ${table} (tenant_id, ${names}) select ${this.tenantId}, ${names} from copied`,
    );
    await this.#client.query('drop table copied');
    return count;
  }

  /** @param ending appended to every line. */
  async #copy(target: string, rows: Iterable<readonly Value[]>, ending: string): Promise<number> {
    const stream = this.#client.query(copyFrom(`copy ${target} from stdin`));
    const failure = once(stream, 'error').then(([error]) => {
      throw error;
    });
    failure.catch(() => undefined);
    for (const text of linesOf(rows, ending))
      if (!stream.write(text)) await Promise.race([once(stream, 'drain'), failure]);
    stream.end();
    await Promise.race([once(stream, 'finish'), failure]);
    return stream.rowCount;
  }
}

/** The rows in the text format of COPY, in chunks. */
function* linesOf(rows: Iterable<readonly Value[]>, ending: string): Generator<string> {
  let lines = '';
  for (const row of rows) {
    lines += `${row.map(copyText).join('\t')}${ending}\n`;
    if (lines.length < 65_536) continue;
    yield lines;
    lines = '';
  }
  if (lines !== '') yield lines;
}

function copyText(value: Value): string {
  if (value === null) return '\\N';
  if (typeof value === 'string') return escaped(value);
  if (typeof value !== 'object') return String(value);
  const isArray = Array.isArray(value) && value.every((item) => typeof item === 'string');
  return escaped(isArray ? `{${value.join(',')}}` : JSON.stringify(value));
}

const special: Readonly<Record<string, string>> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' };

function escaped(text: string): string {
  return /[\\\t\n\r]/.test(text) ? text.replaceAll(/[\\\t\n\r]/g, (character) => special[character] ?? '') : text;
}
