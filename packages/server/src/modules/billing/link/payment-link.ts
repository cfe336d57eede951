import { sql } from 'kysely';
import { command } from '../../../entity/command.ts';
import { embedValue } from '../../../entity/embed.ts';
import { defineEntity } from '../../../entity/entity.ts';
import type { Lookup } from '../../../entity/loaded-rows.ts';
import type { Plan } from '../../../entity/plan.ts';
import type { Row } from '../../../entity/row.ts';
import { sum } from '../../../platform/decimal.ts';
import { invoice } from '../invoice/invoice.ts';
import { dueOf, isOpen } from '../rules/balances.ts';
import { hashOf } from './link-token.ts';

/** The number of the invoice that a row refers to. */
export const invoiceNumber = embedValue('Invoice', 'invoiceId', 'invoiceNumber', { onChange: 'label' });

/** A link to a page on which a client pays once. It is restricted to its invoices, amount or note. */
export const quickPaymentLink = defineEntity('QuickPaymentLink', {
  table: 'quick_payment_link',
  embeds: { clientRef: embedValue('Client', 'clientId', 'clientRef', { onChange: 'label' }) },
  owned: {
    invoices: {
      table: 'quick_payment_link_invoice',
      owner: 'quick_payment_link_id',
      embeds: { invoiceNumber },
    },
  },
  rules: {
    complete({ values, previous, privateColumns }) {
      if (previous !== undefined) return;
      privateColumns.token_hash = `\\x${hashOf(values.url.slice(values.url.lastIndexOf('/') + 1)).toString('hex')}`;
    },
    beforeRemoval({ values }) {
      values.status = 'CANCELLED';
    },
  },
});

/** The IDs of the active links for an invoice, by the ID of the invoice. */
const activeLinks: Lookup<readonly string[]> = {
  name: 'active payment links',
  async load(transaction, tenantId, invoiceIds) {
    const rows = await transaction.all<{ invoiceId: string; ids: readonly string[] }>(sql`
      select chosen.invoice_id as "invoiceId", array_agg(link.id::text) as ids
      from quick_payment_link_invoice chosen
      join quick_payment_link link on link.tenant_id = chosen.tenant_id and link.id = chosen.quick_payment_link_id
      where chosen.tenant_id = ${tenantId} and chosen.invoice_id = any(${invoiceIds}) and link.status = 'ACTIVE'
      group by 1`);
    return new Map(rows.map(({ invoiceId, ids }) => [invoiceId, ids]));
  },
};

/** Loads the links of several invoices at once, before each invoice is changed. */
export function readLinks(plan: Plan, invoiceIds: readonly string[]): void {
  plan.each(invoiceIds, (id) => plan.lookup(activeLinks, id));
}

/** Invalidates the links for an invoice if the amount due no longer covers their amounts, in the name of the command that runs. */
export function invalidateLinks(plan: Plan, invoiceId: string): void {
  plan.each(plan.lookup(activeLinks, invoiceId) ?? [], (id) => {
    const link = plan.getForUpdate(quickPaymentLink, id);
    if (link?.status === 'ACTIVE' && !isCovered(plan, link)) plan.set(quickPaymentLink, id, { status: 'INVALIDATED' });
  });
}

/** Whether all invoices of a link are open, and the amount due on them covers its amount. */
export function isCovered(
  plan: Plan,
  { invoices, amount }: Pick<Row<'QuickPaymentLink'>, 'invoices' | 'amount'>,
): boolean {
  const rows = plan.each(invoices, ({ invoiceId }) => plan.get(invoice, invoiceId));
  const open = rows.filter((row) => row !== undefined).filter(isOpen);
  if (open.length < invoices.length) return false;
  return amount === null || open.length === 0 || sum(open.map(dueOf)).gte(amount);
}

/** A payer has submitted a payment: nobody else can pay by the link until there is a result. */
export const reserveLink = command('paymentSubmitted', (plan, id: string) =>
  plan.set(quickPaymentLink, id, { status: 'PROCESSING' }),
);

/** The payment of a link is completed, or accepted by a bank that completes it later. */
export const completeLink = command('paymentCompleted', useLink);
export const acceptLink = command('paymentAccepted', useLink);

function useLink(plan: Plan, id: string, paymentId: string): void {
  plan.set(quickPaymentLink, id, { status: 'USED', paymentId, usedAt: plan.now });
}

/** The payment was declined: another payer can use the link. */
export const releaseLink = command('paymentDeclined', (plan, id: string) =>
  plan.set(quickPaymentLink, id, { status: 'ACTIVE' }),
);

/** The amount of the link was no longer due when its payment had a result. */
export const withdrawLink = command('amountNoLongerDue', (plan, id: string) =>
  plan.set(quickPaymentLink, id, { status: 'INVALIDATED' }),
);

export const expireLink = command('expired', (plan, id: string) =>
  plan.set(quickPaymentLink, id, { status: 'EXPIRED' }),
);
