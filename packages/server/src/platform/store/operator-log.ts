import { sql } from 'kysely';
import { newId } from './new-id.ts';
import type { Transaction } from './session.ts';

/** An action of an operator that belongs to no tenant. Actions for a tenant are in its audit log. */
export interface OperatorAct {
  /** The command. */
  readonly operation: string;
  /** The object of the action: the ID of a signing key, the name of a tenant. */
  readonly subject: string;
  /** Plain JSON, without secrets. */
  readonly details?: unknown;
}

/** Writes the action to the append-only log, in the transaction of the change. It requires the rights of the owner. */
export async function recordOperatorAct(transaction: Pick<Transaction, 'all'>, act: OperatorAct): Promise<void> {
  const { operation, subject, details = null } = act;
  await transaction.all(sql`
    insert into operator_log (id, operation, subject, details)
    values (${newId()}, ${operation}, ${subject}, ${JSON.stringify(details)}::jsonb)`);
}
