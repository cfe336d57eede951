import { Rejection } from '../../contract/rejection.ts';
import { command } from '../../entity/command.ts';
import { invalidField } from '../../entity/invalid-field.ts';
import type { Plan } from '../../entity/plan.ts';
import type { Row } from '../../entity/row.ts';
import { client } from './client.ts';

/** The client of a request, identified by exactly one of the two. */
export interface ClientName {
  readonly clientId?: string;
  readonly clientRef?: string;
}

/** Creates the problem of a request for a client that does not exist. */
export function unknownClientRef(clientRef: string, location: 'query' | 'body'): Rejection {
  return new Rejection('NOT_FOUND', `No client in your tenant has the clientRef ${clientRef}.`, {
    errors: [{ in: location, pointer: '/clientRef', code: 'NOT_FOUND', detail: 'No client has this clientRef.' }],
  });
}

/** @throws Rejection `NOT_FOUND` if the request contains a `clientRef` that does not exist. */
export function checkClientRef(plan: Plan, { clientRef }: ClientName): void {
  if (clientRef !== undefined && plan.find(client, 'clientRef', clientRef) === undefined)
    throw unknownClientRef(clientRef, 'body');
}

/** @throws Rejection `INVALID_STATE` if the relationship with a client has ended, so that there is no new work for it and nothing to bill */
export function checkNotArchived(row: Pick<Row<'Client'>, 'status'> | undefined, pointer: string): void {
  if (row?.status === 'ARCHIVED')
    throw new Rejection(
      'INVALID_STATE',
      'The client is ARCHIVED. Set its status to ACTIVE or INACTIVE first.',
      pointer,
    );
}

/** Returns the client of a request for new work. @throws Rejection `REFERENCE_NOT_FOUND`, and `INVALID_STATE` if it is archived */
export function activeClient(plan: Plan, { clientId, clientRef }: ClientName): Row<'Client'> {
  const key = clientId === undefined ? 'clientRef' : 'id';
  const pointer = key === 'id' ? '/clientId' : '/clientRef';
  const found = plan.find(client, key, clientId ?? clientRef ?? '');
  checkNotArchived(found, pointer);
  if (found?.active === true) return found;
  throw new Rejection(
    'REFERENCE_NOT_FOUND',
    `No active client with this ${key === 'id' ? 'ID' : key} exists.`,
    pointer,
  );
}

/** @throws Rejection if a document is in another currency than its client */
export function checkClientCurrency(owner: Row<'Client'> | undefined, currency: string): void {
  if (owner === undefined || owner.currency === currency) return;
  throw invalidField(
    'currency',
    `The client is billed in ${owner.currency}. Omit currency, or send ${owner.currency}.`,
  );
}

/**
 * Completes the currency of a row of a client: that of the client. One that is stored in another currency remains.
 *
 * @throws Rejection if the caller sends another currency
 */
export function completeClientCurrency(
  {
    values,
    previous,
    input,
  }: {
    readonly values: { currency: string; readonly clientId: string };
    readonly previous: { readonly currency: string; readonly clientId: string } | undefined;
    readonly input: { readonly currency?: string | undefined };
  },
  plan: Plan,
): void {
  const owner = plan.get(client, values.clientId);
  const isOtherClient = values.clientId !== previous?.clientId;
  if (isOtherClient && input.currency === undefined) values.currency = owner?.currency ?? plan.tenant.currency;
  if (isOtherClient || values.currency !== previous?.currency) checkClientCurrency(owner, values.currency);
}

/** Reopens an archived or deleted client that has a balance again: what a bank reports is recorded in any case. */
export const reopenClient = command('balanceReturned', (plan, id: string) => {
  const row = plan.getForUpdate(client, id);
  if (row === undefined || (row.active && row.status !== 'ARCHIVED')) return;
  plan.set(client, id, { active: true, status: 'INACTIVE' });
});
