import type { Store, Transaction } from '../platform/store/store.ts';
import { eventsRecorded } from '../platform/store/trace.ts';
import type { Origin } from './plan.ts';
import { UnitOfWork } from './unit-of-work.ts';

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
  let hasEvents = false;
  const result = await store.write(origin.tenant.id, async (transaction) => {
    const unit = new UnitOfWork(transaction, origin);
    const result = await work(unit);
    await unit.flushAuditAndEvents();
    await beforeCommit?.(transaction);
    hasEvents = unit.hasEvents;
    return result;
  });
  if (hasEvents) store.notify(eventsRecorded, String(origin.tenant.id));
  return result;
}
