import type { Service } from '../entity/service.ts';
import { transact } from '../entity/transact.ts';
import type { UnitOfWork } from '../entity/unit-of-work.ts';
import type { Tenant } from '../platform/auth/caller.ts';
import type { Transaction } from '../platform/store/store.ts';

/** The origin of a change by the service itself, for the audit log. */
export interface SystemOrigin {
  /** The acting part, such as `job finish-batch` or `clock expire-links`. */
  readonly operation: string;
  /** The ID of the job, which its log lines contain. */
  readonly requestId: string;
}

/**
 * Runs one transaction of the service itself for a tenant, audited as the system.
 *
 * @param beforeCommit runs last in the transaction; if it throws, nothing is written.
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
