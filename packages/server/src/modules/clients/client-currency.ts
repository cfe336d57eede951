import { invalidField } from '../../entity/invalid-field.ts';
import type { Plan } from '../../entity/plan.ts';
import type { Row } from '../../entity/row.ts';
import { client } from './client.ts';

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
