import { invalidField } from '../../../entity/invalid-field.ts';
import type { Plan } from '../../../entity/plan.ts';
import type { Row } from '../../../entity/row.ts';
import type { PendingChange } from '../../../entity/rules.ts';
import { checkClientCurrency, client, onlyOrg } from '../../clients/index.ts';
import { org } from '../../reference/index.ts';

type PaymentChange = PendingChange<'Payment'>;
type PaymentRow = Row<'Payment'>;

/** The client of a payment; undefined while its payer is unknown. */
export function clientOf({ clientId }: PaymentRow, plan: Plan): Row<'Client'> | undefined {
  return clientId === null ? undefined : plan.get(client, clientId);
}

/** The currency of a payment that names none: of its client, otherwise of the org that received it. */
export function currencyOf(values: PaymentRow, plan: Plan): string {
  const { orgId } = values;
  const holder = clientOf(values, plan) ?? (orgId === null ? undefined : plan.get(org, orgId));
  return holder?.currency ?? plan.tenant.currency;
}

/** Completes the org of an unknown payer's money. @throws Rejection if the payment does not say whether its payer is known. */
export function completePayer({ values, input }: PaymentChange, plan: Plan): void {
  if (input.clientId === undefined)
    throw invalidField('clientId', 'clientId is required. Send null if the payer is unknown.');
  checkOrg(values, plan);
  if (values.clientId !== null) return;
  if (values.method === 'CREDIT') throw invalidField('clientId', 'A credit is granted to a client. Send its clientId.');
  values.orgId ??= onlyOrg(plan);
}

function checkOrg(values: PaymentRow, plan: Plan): void {
  const owner = clientOf(values, plan);
  if (values.orgId !== null && owner !== undefined && owner.orgId !== values.orgId)
    throw invalidField('clientId', 'The client belongs to another org than the one that received the payment.');
}

/** Sets the client of a payment whose payer was unknown. */
export function identify({ values, previous }: PaymentChange, plan: Plan): void {
  if (previous?.clientId !== null) return;
  checkOrg(values, plan);
  checkClientCurrency(clientOf(values, plan), values.currency);
}
