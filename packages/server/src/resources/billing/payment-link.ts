import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import { type Decimal, sum } from '../../entity/decimal.ts';
import { embedValue } from '../../entity/embed.ts';
import { defineEntity } from '../../entity/entity.ts';
import type { Lookup } from '../../entity/loaded-rows.ts';
import type { Plan } from '../../entity/plan.ts';

/** A page on which a client pays once. It is locked to what it was made for. */
export const quickPaymentLink = defineEntity('QuickPaymentLink', {
  table: 'quick_payment_link',
  embeds: { clientRef: embedValue('Client', 'clientId', 'clientRef', { onChange: 'label' }) },
  owned: {
    invoices: {
      table: 'quick_payment_link_invoice',
      owner: 'quick_payment_link_id',
      computed: { invoiceNumber: invoiceNumberOf },
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

/** What the database finds a link by: looking for the token itself would show in its time how much of it is right. */
export function hashOf(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

/** SQL of the number of the invoice that a row refers to. */
export function invoiceNumberOf(row: string) {
  return sql`(select i.invoice_number from invoice i
    where i.tenant_id = ${sql.ref(`${row}.tenant_id`)} and i.id = ${sql.ref(`${row}.invoice_id`)})`;
}

/** The IDs of the links that can be paid, by the ID of an invoice that they were made for. */
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

/** Reads the links of several invoices at once, before each of these is changed. */
export function readLinks(plan: Plan, invoiceIds: readonly string[]): void {
  plan.together(...invoiceIds.map((id) => () => plan.lookup(activeLinks, id)));
}

/**
 * Invalidates the links that an invoice was chosen for, where what is due no longer covers their amount.
 *
 * @param dueOn what is due on an invoice now; undefined where nothing can be paid on it any more.
 */
export function invalidateLinks(
  plan: Plan,
  invoiceId: string,
  event: 'paymentApplied' | 'invoiceVoided' | 'invoiceWrittenOff',
  dueOn: (invoiceId: string) => Decimal | undefined,
): void {
  for (const id of plan.lookup(activeLinks, invoiceId) ?? []) invalidateUncovered(plan, id, event, dueOn);
}

/** Invalidates a link that can be paid where what is due no longer covers its amount. */
export function invalidateUncovered(
  plan: Plan,
  id: string,
  event: 'paymentApplied' | 'invoiceVoided' | 'invoiceWrittenOff',
  dueOn: (invoiceId: string) => Decimal | undefined,
): void {
  const link = plan.getForUpdate(quickPaymentLink, id);
  if (link?.status !== 'ACTIVE') return;
  const dues = link.invoices.map((chosen) => dueOn(chosen.invoiceId));
  const isCovered =
    dues.every((due) => due !== undefined) &&
    (link.amount === null ||
      link.invoices.length === 0 ||
      sum(dues.filter((due) => due !== undefined)).gte(link.amount));
  if (!isCovered) plan.update(quickPaymentLink, id, {}, { system: { status: 'INVALIDATED' }, event });
}
