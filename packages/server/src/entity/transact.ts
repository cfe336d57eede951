import { sql } from 'kysely';
import type { Store, Transaction } from '../platform/store/store.ts';
import { eventsRecorded } from '../platform/store/trace.ts';
import type { Origin } from './plan.ts';
import { UnitOfWork } from './unit-of-work.ts';

/** A transaction that did all of its work and must not remain. */
class Rehearsed extends Error {
  override readonly name = 'Rehearsed';
  readonly result: unknown;

  constructor(result: unknown) {
    super('The transaction was a rehearsal, and is rolled back.');
    this.result = result;
  }
}

/**
 * Does all that `transact` does, and checks what is otherwise checked at the commit; then nothing of it remains.
 *
 * @returns the result that `transact` would return.
 */
export async function rehearse<Result>(
  store: Store,
  origin: Origin,
  work: (unit: UnitOfWork) => Promise<Result>,
): Promise<Result> {
  try {
    return await store.write(origin.tenant.id, async (transaction) => {
      const unit = new UnitOfWork(transaction, origin, true);
      const result = await work(unit);
      await unit.flushAuditAndEvents();
      await transaction.all(sql`set constraints all immediate`);
      throw new Rehearsed(result);
    });
  } catch (error) {
    if (error instanceof Rehearsed) return error.result as Result;
    throw error;
  }
}

/**
 * Runs one transaction of changes for a tenant, with its audit rows and events.
 *
 * @param beforeCommit runs last in the transaction; if it throws, nothing is written.
 */
export async function transact<Result>(
  store: Store,
  origin: Origin,
  work: (unit: UnitOfWork) => Promise<Result>,
  beforeCommit?: (transaction: Transaction) => Promise<void>,
): Promise<Result> {
  const { result, hasEvents } = await store.write(origin.tenant.id, async (transaction) => {
    const done = await runUnit(transaction, origin, work);
    await beforeCommit?.(transaction);
    return done;
  });
  if (hasEvents) store.cellOf(origin.tenant.id).notify(eventsRecorded, String(origin.tenant.id));
  return result;
}

/**
 * Runs one transaction that starts as the owner of the tables, and continues with changes of a tenant.
 *
 * @param first runs as the owner, and returns what `work` requires, and what its changes are recorded with.
 */
export async function transactAfter<Found, Result>(
  store: Store,
  first: (transaction: Transaction) => Promise<{ readonly origin: Origin; readonly found: Found }>,
  work: (unit: UnitOfWork, found: Found) => Promise<Result>,
): Promise<Result> {
  const { result, tenantId } = await store.writeNew(
    async (transaction) => {
      const value = await first(transaction);
      return { tenantId: value.origin.tenant.id, value };
    },
    async (transaction, { origin, found }) => {
      const { result } = await runUnit(transaction, origin, (unit) => work(unit, found));
      return { result, tenantId: origin.tenant.id };
    },
  );
  store.notify(eventsRecorded, String(tenantId));
  return result;
}

async function runUnit<Result>(
  transaction: Transaction,
  origin: Origin,
  work: (unit: UnitOfWork) => Promise<Result>,
): Promise<{ readonly result: Result; readonly hasEvents: boolean }> {
  const unit = new UnitOfWork(transaction, origin);
  const result = await work(unit);
  await unit.flushAuditAndEvents();
  return { result, hasEvents: unit.hasEvents };
}
