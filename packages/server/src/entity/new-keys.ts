import { sql } from 'kysely';
import { columnOf } from '../contract/fields.ts';
import { lastNumber, nextNumber, returnNumbers, takeNumbers } from '../platform/store/counter.ts';
import { newId } from '../platform/store/new-id.ts';
import type { Transaction } from '../platform/store/store.ts';
import type { AnyEntity } from './model.ts';
import type { PendingRows } from './pending-rows.ts';
import type { AnyRow } from './row.ts';

/** References for people, such as `C-00042`, numbered by a counter. */
export interface ReferenceNumber {
  /** The counter; references can have a separate one for each year, for example. */
  readonly counter: string;
  readonly entity: AnyEntity;
  /** The unique fields with the reference. A number that a caller has already set in one of them is skipped. */
  readonly fields: readonly string[];
  readonly format: (number: number) => string;
  /** The first number; 1 without it. */
  readonly first?: number;
  /** The field and the value of the rows among which the fields are unique; all rows of the tenant without it. */
  readonly within?: readonly [field: string, value: string];
  /** Whether numbers have no gaps. All who create such rows then wait for each other until they commit. */
  readonly isGapless?: boolean;
}

/**
 * The IDs and references that a plan assigns to new rows. A plan runs several times before it is applied, so each run
 * gets the same ones, as many as the last run requires. Until references are allocated, a plan uses an empty text, so
 * that one run requests all of them.
 */
export class NewKeys {
  readonly #transaction: Transaction;
  readonly #tenantId: number;
  readonly #isRehearsal: boolean;
  /** The numbers that a rehearsal uses, by counter: the last of each. */
  readonly #rehearsed = new Map<string, number>();
  readonly #gapless = new Set<string>();
  #ids: string[] = [];
  #usedIds = 0;
  readonly #allocated = new Map<string, { readonly number: number; readonly text: string }[]>();
  readonly #references = new Set<string>();
  #used = new Map<string, number>();
  #requested = new Map<string, { readonly reference: ReferenceNumber; count: number }>();
  #isCareful = false;

  /** @param isRehearsal whether nothing remains of the transaction, also no number that was taken */
  constructor(transaction: Transaction, tenantId: number, isRehearsal: boolean) {
    this.#transaction = transaction;
    this.#tenantId = tenantId;
    this.#isRehearsal = isRehearsal;
  }

  /** Called when a plan starts again. */
  restart(): void {
    this.#usedIds = 0;
    this.#used = new Map();
    this.#requested = new Map();
  }

  id(): string {
    const id = this.#ids[this.#usedIds] ?? newId();
    this.#ids[this.#usedIds] = id;
    this.#usedIds += 1;
    return id;
  }

  reference(reference: ReferenceNumber): string {
    const { counter } = reference;
    const used = this.#used.get(counter) ?? 0;
    this.#used.set(counter, used + 1);
    const next = this.#allocated.get(counter)?.[used];
    if (next !== undefined) return next.text;
    this.#requested.getOrInsertComputed(counter, () => ({ reference, count: 0 })).count += 1;
    return '';
  }

  /** Whether this reference was allocated here, so that normally no row has it. */
  isNewReference(reference: string): boolean {
    return reference === '' || this.#references.has(reference);
  }

  get hasRequests(): boolean {
    return this.#requested.size > 0;
  }

  /** Allocates the references that the plan requested. */
  async loadRequested(pending: PendingRows): Promise<void> {
    for (const { reference, count } of this.#requested.values()) {
      const allocated = this.#allocated.getOrInsertComputed(reference.counter, () => []);
      for (const one of await this.#allocate(reference, count, pending)) {
        allocated.push(one);
        this.#references.add(one.text);
      }
    }
  }

  /** Called when the plan is applied: its keys are used. */
  consume(): void {
    for (const [counter, used] of this.#used) this.#allocated.get(counter)?.splice(0, used);
    this.#ids = [];
    this.restart();
  }

  /** The number of references in use for each counter, for `undoTo`. */
  mark(): ReadonlyMap<string, number> {
    return new Map(this.#used);
  }

  /** Makes the keys of a failed part of the plan available again. */
  undoTo(mark: ReadonlyMap<string, number>): void {
    this.#used = new Map(mark);
  }

  /** Returns unused references to counters without gaps, which are still locked. Others are for later rows of the transaction. */
  async returnUnused(): Promise<void> {
    for (const counter of this.#gapless) {
      const first = this.#allocated.get(counter)?.at(0);
      if (first !== undefined) await returnNumbers(this.#transaction, this.#tenantId, counter, first.number);
      this.#allocated.delete(counter);
    }
  }

  /** Called after a rollback to before any of the references was allocated. */
  forget(): void {
    this.#allocated.clear();
    this.#references.clear();
    this.restart();
  }

  /** From here on, checks whether a row has a reference before it is used: a new one may have been the duplicate. */
  lookForTaken(): void {
    this.#isCareful = true;
  }

  async #allocate(reference: ReferenceNumber, count: number, pending: PendingRows) {
    const { entity, fields, format } = reference;
    const free: { readonly number: number; readonly text: string }[] = [];
    while (free.length < count) {
      const missing = count - free.length;
      const first = await this.#take(reference, missing);
      const numbers = Array.from({ length: missing }, (_, index) => first + index);
      const candidates = numbers.map((number) => ({ number, text: format(number) }));
      const taken = await this.#takenAmong(
        reference,
        candidates.map(({ text }) => text),
      );
      const isPending = (text: string) =>
        fields.some((field) =>
          [...pending.withValue(entity, field, text)].some((id) => isWithin(reference, pending.get(entity, id)?.row)),
        );
      free.push(...candidates.filter(({ text }) => !taken.has(text) && !isPending(text)));
    }
    return free;
  }

  /** @returns the first of so many numbers */
  async #take({ counter, first = 1, isGapless = false }: ReferenceNumber, count: number): Promise<number> {
    const taken = [this.#transaction, this.#tenantId, counter] as const;
    if (isGapless) {
      this.#gapless.add(counter);
      return nextNumber(...taken, count, first);
    }
    if (!this.#isRehearsal) return takeNumbers(...taken, count);
    const last = this.#rehearsed.get(counter) ?? (await lastNumber(...taken));
    this.#rehearsed.set(counter, last + count);
    return last + 1;
  }

  /**
   * Callers rarely use a reference before its number is reached, so the first attempt leaves the check to the database.
   */
  async #takenAmong(
    { entity, fields, within }: ReferenceNumber,
    candidates: readonly string[],
  ): Promise<ReadonlySet<string>> {
    const taken = new Set<string>();
    if (!this.#isCareful) return taken;
    const only = within === undefined ? sql`` : sql` and ${sql.ref(columnOf(within[0]))} = ${within[1]}`;
    for (const field of fields) {
      const column = sql.ref(columnOf(field));
      const rows = await this.#transaction.all<{ reference: string }>(sql`
        select ${column} as reference from ${sql.table(entity.table)}
        where tenant_id = ${this.#tenantId} and ${column} = any(${candidates})${only}`);
      for (const { reference } of rows) taken.add(reference);
    }
    return taken;
  }
}

function isWithin({ within }: ReferenceNumber, row: AnyRow | undefined): boolean {
  return within === undefined || row?.[within[0]] === within[1];
}
