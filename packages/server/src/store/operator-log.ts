import { sql } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import type { Transaction } from './session.ts';

/** What an operator did that belongs to no tenant. What belongs to one is in its audit log. */
export interface OperatorAct {
  /** The command. */
  readonly operation: string;
  /** What it was done to: the id of a signing key, the name of a tenant. */
  readonly subject: string;
  /** Plain JSON, without secrets. */
  readonly details?: unknown;
}

/** Writes the act to the append-only log, in the transaction of the change. It takes the rights of the owner. */
export async function recordOperatorAct(transaction: Transaction, act: OperatorAct): Promise<void> {
  const { operation, subject, details = null } = act;
  await transaction.all(sql`
    insert into operator_log (id, operation, subject, details)
    values (${uuidv7()}, ${operation}, ${subject}, ${JSON.stringify(details)}::jsonb)`);
}
