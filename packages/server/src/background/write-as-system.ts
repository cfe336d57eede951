import type { Tenant } from '../auth/caller.ts';
import { transact } from '../entity/transact.ts';
import type { UnitOfWork } from '../entity/unit-of-work.ts';
import type { Service } from '../service.ts';
import type { Transaction } from '../store/store.ts';

/** Why the service acts by itself, for the audit. */
export interface SystemOrigin {
  /** What acts, such as `job finish-batch` or `clock expire-links`. */
  readonly operation: string;
  /** The id of the job, by which its lines are found in the log. */
  readonly requestId: string;
}

/**
 * One transaction of the service's own for a tenant, audited as the system's.
 *
 * @param beforeCommit runs last in the transaction, after everything is written; where it throws, nothing is.
 */
export function writeAsSystem<T>(
  { store, vault }: Pick<Service, 'store' | 'vault'>,
  tenant: Tenant,
  origin: SystemOrigin,
  work: (unit: UnitOfWork) => Promise<T>,
  beforeCommit: (transaction: Transaction) => Promise<void>,
): Promise<T> {
  return transact(store, { tenant, caller: undefined, ...origin, vault }, work, beforeCommit);
}
