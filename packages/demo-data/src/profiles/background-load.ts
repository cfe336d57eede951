import { createHash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { Query, Store } from '@financial-automation/server/platform/store/store';
import { sql } from 'kysely';
import { counterOf, readCounter } from './counters.ts';
import { BaseLoader, chunksOf, forgetPlans, RowLoader, type Value } from './table-loader.ts';

/** Counters of a load: its steps that are done, and the numbers that it found. */
const counterPrefix = 'demo_data.';
export const stepsDone = `${counterPrefix}steps`;
export const rowsDigest = `${counterPrefix}rows`;

/** Number of rows of a step that nothing else refers to, so that calls of the API wait for a short time. */
const rowsOfStep = 500;

/** The pause after a step, as a share of its time. A call uses the database several times, and would otherwise wait for a step each time. */
const pauseShare = 0.5;

/** Another version, which has other rows, began a load that was interrupted. */
export class LoadOfOtherVersion extends Error {
  override readonly name = 'LoadOfOtherVersion';
}

/**
 * Loads in many short transactions, so that the service serves calls meanwhile: the embedded database does one thing at a
 * time. Counters of the tenant keep which steps are done, so a load that was interrupted continues where it was.
 */
export class BackgroundLoader extends BaseLoader {
  readonly keepsSums = true;
  override readonly billsOfStep = 4;
  readonly #store: Pick<Store, 'read' | 'write' | 'system'>;
  readonly #done: number;
  readonly #signal: AbortSignal;
  readonly #rows = createHash('sha256');
  #steps = 0;
  /** The transaction of the current step; `skipped` if the step was done by an earlier run. */
  #current: RowLoader | 'skipped' | undefined;

  constructor(store: Pick<Store, 'read' | 'write' | 'system'>, tenantId: number, done: number, signal: AbortSignal) {
    super(tenantId, () => undefined);
    this.#signal = signal;
    this.#store = store;
    this.#done = done;
  }

  all = <Row>(query: Query<Row>): Promise<Row[]> =>
    this.#current instanceof RowLoader
      ? this.#current.all(query)
      : this.#store.read(this.tenantId, (session) => session.all(query));

  override run = async (statement: Query<unknown>): Promise<void> => {
    if (this.#current === undefined) return this.step(() => this.run(statement));
    if (this.#current !== 'skipped') await this.#current.run(statement);
  };

  override async step<Result>(work: () => Promise<Result>): Promise<Result> {
    this.#signal.throwIfAborted();
    this.#steps++;
    try {
      if (this.#steps <= this.#done) {
        this.#current = 'skipped';
        const result = await work();
        if (this.#steps === this.#done) await this.#checkRows();
        return result;
      }
      const start = performance.now();
      const result = await this.#store.write(this.tenantId, async (transaction) => {
        this.#current = new RowLoader(transaction, this.tenantId, () => undefined);
        const result = await work();
        await transaction.all(counterOf(this.tenantId, stepsDone, this.#steps));
        await transaction.all(sql`
          insert into tenant_counter (tenant_id, name, value) values (${this.tenantId}, ${rowsDigest}, ${this.#digest()})
          on conflict (tenant_id, name) do update set value = excluded.value`);
        await transaction.all(forgetPlans);
        return result;
      });
      await pause((performance.now() - start) * pauseShare);
      return result;
    } finally {
      this.#current = undefined;
    }
  }

  /** A digest of all rows so far, as a number that a counter can keep. */
  #digest(): number {
    return this.#rows.copy().digest().readUInt32BE() >>> 1;
  }

  /** @throws LoadOfOtherVersion if the steps that are done would have other rows now */
  async #checkRows(): Promise<void> {
    if ((await readCounter(this, rowsDigest)) === this.#digest()) return;
    throw new LoadOfOtherVersion('Another version of the service began to load the data, and this one has other rows.');
  }

  /** Table by table, so that none holds the embedded database for long. */
  override async updateStatistics(): Promise<void> {
    const tables = await this.#store.system((transaction) =>
      transaction.all<{ name: string }>(
        sql`select relname as name from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace`,
      ),
    );
    for (const { name } of tables) {
      this.#signal.throwIfAborted();
      await this.#store.system((transaction) => transaction.all(sql`analyze ${sql.table(name)}`));
    }
  }

  /** In every run the number that the first one found, so that all have the same rows. */
  override async lastNumber(counter: string): Promise<number> {
    const kept = `${counterPrefix}${counter}`;
    if (this.#current === 'skipped') return (await readCounter(this, kept)) ?? 0;
    const last = await super.lastNumber(counter);
    await this.run(counterOf(this.tenantId, kept, last));
    return last;
  }

  async insert(table: string, columns: readonly string[], rows: Iterable<readonly Value[]>): Promise<number> {
    if (this.#current !== undefined) {
      const all = [...rows];
      this.#rows.update(JSON.stringify([table, columns, all]));
      if (this.#current !== 'skipped') await this.#current.insert(table, columns, all);
      return all.length;
    }
    let count = 0;
    for (const part of chunksOf(rows, rowsOfStep)) {
      count += part.length;
      await this.step(async () => void (await this.insert(table, columns, part)));
    }
    return count;
  }
}
