import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import { type Decimal, sum } from '../../../contract/decimal.ts';
import { embedValue } from '../../../entity/embed.ts';
import { defineEntity } from '../../../entity/entity.ts';
import type { Lookup } from '../../../entity/loaded-rows.ts';
import type { Plan } from '../../../entity/plan.ts';
import type { Row } from '../../../entity/row.ts';

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

/** The hash by which the database finds a link: a search for the token itself would leak by its timing. */
export function hashOf(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

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
  plan.together(...invoiceIds.map((id) => () => plan.lookup(activeLinks, id)));
}

/**
 * Invalidates the links for an invoice if the amount due no longer covers their amount.
 *
 * @param dueOn the amount due on an invoice; undefined if it can no longer be paid.
 */
export function invalidateLinks(
  plan: Plan,
  invoiceId: string,
  event: 'paymentApplied' | 'invoiceVoided' | 'invoiceWrittenOff',
  dueOn: (invoiceId: string) => Decimal | undefined,
): void {
  for (const id of plan.lookup(activeLinks, invoiceId) ?? []) invalidateUncovered(plan, id, event, dueOn);
}

/** Invalidates an active link if the amount due no longer covers its amount. */
function invalidateUncovered(
  plan: Plan,
  id: string,
  event: 'paymentApplied' | 'invoiceVoided' | 'invoiceWrittenOff',
  dueOn: (invoiceId: string) => Decimal | undefined,
): void {
  const link = plan.getForUpdate(quickPaymentLink, id);
  if (link?.status !== 'ACTIVE' || isCovered(link, dueOn)) return;
  plan.update(quickPaymentLink, id, {}, { system: { status: 'INVALIDATED' }, event });
}

/** Whether all invoices of a link are open, and the amount due on them covers its amount. */
export function isCovered(
  { invoices, amount }: Pick<Row<'QuickPaymentLink'>, 'invoices' | 'amount'>,
  dueOn: (invoiceId: string) => Decimal | undefined,
): boolean {
  const dues = invoices.map(({ invoiceId }) => dueOn(invoiceId));
  const open = dues.filter((due) => due !== undefined);
  return open.length === dues.length && (amount === null || dues.length === 0 || sum(open).gte(amount));
}
