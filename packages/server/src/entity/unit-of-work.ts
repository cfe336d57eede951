import { channel } from 'node:diagnostics_channel';
import { type ItemRejection, isItemRejection, together } from '../contract/rejection.ts';
import { UniqueViolation } from '../platform/store/errors.ts';
import { timeOf } from '../platform/store/session.ts';
import type { Transaction } from '../platform/store/store.ts';
import { applyChanges, RejectedRows } from './apply.ts';
import { type TrackedRow, writeAuditAndEvents } from './audit-and-events.ts';
import { LoadedRows, LockOrderViolation } from './loaded-rows.ts';
import type { AnyEntity, Entity } from './model.ts';
import { NewKeys } from './new-keys.ts';
import { PendingRows } from './pending-rows.ts';
import type { Origin, Plan } from './plan.ts';
import { PlanRun } from './plan-run.ts';
import { NotLoaded } from './planned-rows.ts';
import { checkAllDefined } from './registry.ts';
import type { AnyStoredRow, EntityType, StoredRow } from './row.ts';
import { readStored } from './select.ts';

/** The result of an item of a bulk request. */
export type ItemOutcome<Result> = { readonly result: Result } | { readonly rejection: ItemRejection };

interface Item<Input> {
  readonly input: Input;
  readonly index: number;
}

/** Items, and the function that plans the changes of each of them. */
interface Work<Input, Result> {
  readonly items: readonly Item<Input>[];
  readonly plan: (plan: Plan, input: Input, index: number) => Result;
}

/** Some items were rejected, so none is written. */
class RejectedItems extends Error {
  override readonly name = 'RejectedItems';
  readonly outcomes: readonly ItemOutcome<unknown>[];

  constructor(outcomes: readonly ItemOutcome<unknown>[]) {
    super('Some items were rejected.');
    this.outcomes = outcomes;
  }
}

function isRejected(outcome: ItemOutcome<unknown>): boolean {
  return 'rejection' in outcome;
}

function isDuplicate(outcome: ItemOutcome<unknown>): boolean {
  return 'rejection' in outcome && outcome.rejection.code === 'DUPLICATE_REF';
}

/** Each plan that has finished, with the number of its runs, for tests. */
const finishedPlans = channel('financial-automation:plan');

/** A plan that still requests rows after this many runs is a defect. `docs/plans.md` explains the runs. */
const maxRuns = 100;
/** Maximum number of times that locks are acquired again because a plan requires more of them out of order. */
const maxAttempts = 20;

/**
 * One transaction of changes to entities. They are planned in memory, then applied with one statement per table. Before
 * the commit, one audit row and one event are written for each changed row; several changes of a row count as one.
 */
export class UnitOfWork {
  readonly transaction: Transaction;
  readonly origin: Origin;
  /** The timestamp of all changes in this transaction. */
  readonly now: string;
  /** Whether events were written. */
  hasEvents = false;
  readonly #loaded: LoadedRows;
  readonly #keys: NewKeys;
  /** The rows that this transaction has changed, with their previous state. */
  #tracked = new Map<string, TrackedRow>();
  /** Rows with sums that the database keeps, and of which this transaction may have changed something, as they were before it. */
  #summed = new Map<string, TrackedRow>();
  /** Rows as they are stored after the changes; cleared by further changes. */
  readonly #stored = new Map<string, Map<string, AnyStoredRow>>();

  constructor(transaction: Transaction, origin: Origin, isRehearsal = false) {
    checkAllDefined();
    this.transaction = transaction;
    this.origin = origin;
    this.now = new Date(timeOf(transaction)).toISOString();
    this.#loaded = new LoadedRows(transaction, this.tenantId);
    this.#keys = new NewKeys(transaction, this.tenantId, isRehearsal);
  }

  get tenantId(): number {
    return this.origin.tenant.id;
  }

  /**
   * Plans changes and applies them.
   *
   * @throws Rejection if a rule or the database rejects a change; nothing is written then.
   */
  async plan<Result>(work: (plan: Plan) => Result): Promise<Result> {
    const [result] = await this.allOrNone([undefined], work);
    return result as Result;
  }

  /**
   * Plans and applies the changes of all items, or of none.
   *
   * @throws Rejection that lists every rejected item.
   */
  async allOrNone<Input, Result>(
    inputs: readonly Input[],
    plan: (plan: Plan, input: Input, index: number) => Result,
  ): Promise<Result[]> {
    const outcomes = await this.#run(workOn(inputs, plan), 'all');
    const rejections = outcomes.flatMap((outcome) => ('rejection' in outcome ? [outcome.rejection] : []));
    const [first, ...others] = rejections;
    if (first !== undefined) throw together([first, ...others]);
    return outcomes.flatMap((outcome) => ('result' in outcome ? [outcome.result] : []));
  }

  /**
   * Plans and applies the changes of items in their order. A rejected item changes nothing and does not affect others.
   */
  async items<Input, Result>(
    inputs: readonly Input[],
    plan: (plan: Plan, input: Input, index: number) => Result,
  ): Promise<readonly ItemOutcome<Result>[]> {
    return inputs.length === 0 ? [] : this.#run(workOn(inputs, plan), 'each');
  }

  /** Returns rows as they are stored now, by ID. */
  async stored<Type extends EntityType>(
    entity: Entity<Type>,
    ids: readonly string[],
  ): Promise<ReadonlyMap<string, StoredRow<Type>>>;
  async stored(entity: AnyEntity, ids: readonly string[]): Promise<ReadonlyMap<string, AnyStoredRow>>;
  async stored(entity: AnyEntity, ids: readonly string[]): Promise<ReadonlyMap<string, unknown>> {
    const known = this.#storedOf(entity);
    const missing = ids.filter((id) => !known.has(id));
    if (missing.length > 0) {
      for (const row of await readStored(this.transaction, this.tenantId, entity, missing)) known.set(row.id, row);
    }
    return known;
  }

  /** Returns a row as it is stored now. @throws Error if it does not exist. */
  async storedRow<Type extends EntityType>(entity: Entity<Type>, id: string): Promise<StoredRow<Type>> {
    return presentRow(await this.stored(entity, [id]), { entity, id });
  }

  /** Returns rows as they are stored now, in the order of the IDs. @throws Error if one does not exist. */
  async storedRows<Type extends EntityType>(entity: Entity<Type>, ids: readonly string[]): Promise<StoredRow<Type>[]> {
    const stored = await this.stored(entity, ids);
    return ids.map((id) => presentRow(stored, { entity, id }));
  }

  /** Writes the audit rows and events of all changes. The owner of the transaction calls it before the commit. */
  async flushAuditAndEvents(): Promise<void> {
    const changes: (TrackedRow & { after: AnyStoredRow })[] = [];
    await this.#trackSums();
    for (const tracked of Map.groupBy(this.#tracked.values(), ({ entity }) => entity.key).values()) {
      const [first] = tracked;
      if (first === undefined) continue;
      const ids = tracked.map(({ id }) => id);
      const stored = await this.stored(first.entity, ids);
      for (const change of tracked) changes.push({ ...change, after: presentRow(stored, change) });
    }
    const events = await writeAuditAndEvents(this.transaction, this.origin, this.now, changes);
    this.hasEvents ||= events > 0;
    this.#tracked.clear();
    this.#summed.clear();
  }

  /** A sum that has changed is a change of its row like any other. The database has given the row another version. */
  async #trackSums(): Promise<void> {
    const untracked = [...this.#summed.values()].filter(({ id }) => !this.#tracked.has(id));
    for (const rows of Map.groupBy(untracked, ({ entity }) => entity.key).values()) {
      const [first] = rows;
      if (first === undefined) continue;
      const stored = await this.stored(
        first.entity,
        rows.map(({ id }) => id),
      );
      for (const row of rows)
        if (presentRow(stored, row).version !== row.before?.version) this.#tracked.set(row.id, row);
    }
  }

  /**
   * Plans and applies items after a savepoint. If the database rejects a row, all changes are rolled back, and the items
   * are attempted again in parts. If a lock was required out of order, all changes are rolled back too, and all locks are
   * acquired again in order.
   */
  async #run<Input, Result>(work: Work<Input, Result>, scope: 'each' | 'all'): Promise<ItemOutcome<Result>[]> {
    const tracked = [...this.#tracked];
    const summed = [...this.#summed];
    let inParts = false;
    this.#loaded.startAttempt();
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.transaction.savepoint(async () => {
          if (attempt > 1) await this.#loaded.lockAgain();
          return inParts ? this.#applyInParts(work, scope) : this.#applyAtOnce(work, scope);
        });
      } catch (error) {
        this.#tracked = new Map(tracked);
        this.#summed = new Map(summed);
        this.#stored.clear();
        this.#loaded.forgetAttempt();
        this.#keys.forget();
        if (error instanceof RejectedItems) return error.outcomes as ItemOutcome<Result>[];
        if (error instanceof RejectedRows) inParts = true;
        else if (!(error instanceof LockOrderViolation) || attempt === maxAttempts) throw error;
      }
    }
  }

  async #applyAtOnce<Input, Result>(work: Work<Input, Result>, scope: 'each' | 'all'): Promise<ItemOutcome<Result>[]> {
    const { outcomes, pending } = await this.#settle(work);
    if (scope === 'each' || !outcomes.some(isRejected)) await this.#apply(pending, false);
    await this.#keys.returnUnused();
    return outcomes;
  }

  /**
   * Applies items in their order: all of them if that succeeds now that the plan has read concurrent changes; otherwise
   * in ever smaller parts, down to the rejected item, and in larger ones after it. A part is attempted again if the row
   * that rejected it was created after the part was planned. Other rows that were read before remain valid.
   *
   * @throws RejectedItems if all or none must be written.
   */
  async #applyInParts<Input, Result>(
    { items, plan }: Work<Input, Result>,
    scope: 'each' | 'all',
  ): Promise<ItemOutcome<Result>[]> {
    this.#keys.lookForTaken();
    const outcomes: ItemOutcome<Result>[] = [];
    let size = items.length;
    while (outcomes.length < items.length) {
      const part = items.slice(outcomes.length, outcomes.length + size);
      const settled = await this.#settle({ items: part, plan });
      const rejected = await this.#rejectionOf(settled.pending, part.length === 1);
      if (rejected === undefined) {
        outcomes.push(...settled.outcomes);
        size *= 2;
      } else if (rejected.error instanceof UniqueViolation && (await this.#loaded.findsAbsentKeys())) continue;
      else if (part.length === 1) outcomes.push({ rejection: rejected.rejection });
      else size = Math.ceil(part.length / 2);
    }
    if (scope === 'all' && outcomes.some(isRejected)) throw new RejectedItems(outcomes);
    await this.#keys.returnUnused();
    return outcomes;
  }

  /** Applies the changes, and returns the rejection by the database, if any. */
  async #rejectionOf(pending: PendingRows, isOneItem: boolean): Promise<RejectedRows | undefined> {
    const attempt = async (oneByOne: boolean): Promise<RejectedRows | undefined> => {
      try {
        await this.transaction.savepoint(() => this.#apply(pending, oneByOne));
        return undefined;
      } catch (error) {
        if (error instanceof RejectedRows) return error;
        throw error;
      }
    };
    const rejected = await attempt(false);
    // An item of several rows is written row by row, to find the rejected one.
    return rejected !== undefined && isOneItem && rejected.rows.length > 1 ? attempt(true) : rejected;
  }

  async #apply(pending: PendingRows, oneByOne: boolean): Promise<void> {
    const { tenantId, now } = this;
    const hasNewVersion = ({ id }: { readonly id: string }) => this.#tracked.has(id);
    const applied = await applyChanges(this.transaction, pending, { tenantId, now, hasNewVersion, oneByOne });
    for (const { entity, id, loaded, isImport } of applied.changed) {
      if (!entity.isAudited) continue;
      const tracked = this.#tracked.get(id);
      const before = tracked === undefined ? loaded?.stored : tracked.before;
      this.#tracked.set(id, { entity, id, before, isImport: isImport || tracked?.isImport === true });
    }
    const written = new Set(applied.changed.map(({ entity }) => entity.table));
    const isImport = applied.changed.every((change) => change.isImport);
    for (const row of this.#loaded.lockedSums(written))
      this.#summed.set(row.id, this.#summed.get(row.id) ?? { ...row, isImport });
    this.#loaded.forget();
    this.#keys.consume();
    this.#stored.clear();
    for (const [entity, rows] of applied.stored) for (const row of rows) this.#storedOf(entity).set(row.id, row);
  }

  /** Runs the plan until it has read all rows that it requires. */
  async #settle<Input, Result>({ items, plan: work }: Work<Input, Result>) {
    for (let run = 1; run <= maxRuns; run++) {
      const pending = new PendingRows();
      this.#keys.restart();
      const transaction = { origin: this.origin, now: this.now, trackedRow: (id: string) => this.#tracked.get(id) };
      const plan = new PlanRun(transaction, this.#loaded, pending, this.#keys);
      const outcomes: ItemOutcome<Result>[] = [];
      let failure: { readonly error: unknown } | undefined;
      for (const { input, index } of items) {
        const mark = pending.mark();
        const keys = this.#keys.mark();
        try {
          outcomes.push({ result: work(plan, input, index) });
        } catch (error) {
          pending.undoTo(mark);
          if (isItemRejection(error)) {
            this.#keys.undoTo(keys);
            outcomes.push({ rejection: error });
          } else if (!(error instanceof NotLoaded)) {
            failure = { error };
            break;
          }
        }
      }
      // A run with missing rows may have failed for just that reason.
      if (this.#loaded.hasRequests) await this.#loaded.loadRequested();
      else if (failure !== undefined) throw failure.error;
      // References come last: counters without gaps are locked for all transactions that create such rows.
      else if (this.#keys.hasRequests) await this.#keys.loadRequested(pending);
      // The row with the same unique value may be the one to update.
      else if (outcomes.some(isDuplicate) && (await this.#loaded.findsAbsentKeys())) continue;
      else {
        finishedPlans.publish({ runs: run });
        return { outcomes, pending };
      }
    }
    throw new Error(`${this.origin.operation}: the plan of changes does not finish.`);
  }

  #storedOf({ key }: AnyEntity): Map<string, AnyStoredRow> {
    return this.#stored.getOrInsertComputed(key, () => new Map());
  }
}

function workOn<Input, Result>(inputs: readonly Input[], plan: Work<Input, Result>['plan']): Work<Input, Result> {
  return { items: inputs.map((input, index) => ({ input, index })), plan };
}

function presentRow<Row>(
  rows: ReadonlyMap<string, Row>,
  { entity, id }: { readonly entity: AnyEntity; readonly id: string },
): Row {
  const row = rows.get(id);
  if (row === undefined) throw new Error(`${entity.type} ${id} not found.`);
  return row;
}
