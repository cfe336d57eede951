import type { Query, Store } from '../../../server/src/platform/store/store.ts';
import { counterOf, readCounter } from './counters.ts';
import { BaseLoader, chunksOf, forgetPlans, RowLoader, type Value } from './table-loader.ts';

/** Counters of a load: its steps that are done, and the numbers that it found. */
const counterPrefix = 'demo_data.';
export const stepsDone = `${counterPrefix}steps`;

/** Number of rows of a step that nothing else refers to, so that calls of the API wait for a short time. */
const rowsOfStep = 500;

/**
 * Loads in many short transactions, so that the service answers calls meanwhile: the embedded database does one thing at a
 * time. Counters of the tenant keep which steps are done, so a load that was interrupted continues where it was.
 */
export class BackgroundLoader extends BaseLoader {
  readonly keepsSums = true;
  override readonly billsOfStep = 40;
  readonly #store: Pick<Store, 'read' | 'write'>;
  readonly #done: number;
  readonly #signal: AbortSignal;
  #steps = 0;
  /** The transaction of the current step; `skipped` if the step was done by an earlier run. */
  #current: RowLoader | 'skipped' | undefined;

  constructor(store: Pick<Store, 'read' | 'write'>, tenantId: number, done: number, signal: AbortSignal) {
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
        return await work();
      }
      return await this.#store.write(this.tenantId, async (transaction) => {
        this.#current = new RowLoader(transaction, this.tenantId, () => undefined);
        const result = await work();
        await transaction.all(counterOf(this.tenantId, stepsDone, this.#steps));
        await transaction.all(forgetPlans);
        return result;
      });
    } finally {
      this.#current = undefined;
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

  protected async insert(table: string, columns: readonly string[], rows: Iterable<readonly Value[]>): Promise<number> {
    if (this.#current === 'skipped') return [...rows].length;
    if (this.#current !== undefined) {
      const all = [...rows];
      await this.#current.rows(table, columns, all);
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
