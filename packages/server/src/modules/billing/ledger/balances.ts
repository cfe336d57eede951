import { Rejection } from '../../../contract/rejection.ts';
import type { Plan } from '../../../entity/plan.ts';
import type { Row } from '../../../entity/row.ts';
import { checkNotArchived, client } from '../../clients/index.ts';
import { job } from '../../projects/index.ts';

/** @throws Rejection `INVALID_STATE` if the client can no longer be billed. */
export function checkBillable(owner: Row<'Client'>): void {
  if (!owner.active)
    throw new Rejection('INVALID_STATE', 'The client is deleted. Nothing can be billed to it.', '/clientId');
  checkNotArchived(owner, '/clientId');
}

/**
 * Locks the rows whose balances change with a document. Database triggers update them later, so they are locked here, in
 * the lock order.
 */
export function lockBalances(plan: Plan, clientIds: Iterable<string>, jobIds: Iterable<string> = []): void {
  plan.getManyForUpdate(job, new Set(jobIds));
  plan.getManyForUpdate(client, new Set(clientIds));
}
