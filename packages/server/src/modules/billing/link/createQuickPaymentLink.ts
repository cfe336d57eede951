import { isInMinorUnits } from '../../../contract/currency.ts';
import { millisecondsOf } from '../../../contract/durations.ts';
import type { Input } from '../../../contract/handler.ts';
import { invalid } from '../../../contract/problem.ts';
import { Rejection } from '../../../contract/rejection.ts';
import type { Handler } from '../../../entity/context.ts';
import { wholeAmountOnly } from '../../../entity/minor-units.ts';
import type { Plan } from '../../../entity/plan.ts';
import type { Row } from '../../../entity/row.ts';
import { checkBound } from '../../../entity/row-bounds.ts';
import { type Decimal, parseDecimal, sum, zero } from '../../../platform/decimal.ts';
import { writtenRow } from '../../../query/entity-tag.ts';
import { checkNotArchived, client, unknownClientRef } from '../../clients/index.ts';
import { invoice } from '../invoice/invoice.ts';
import { dueOf, isCreditNote, isOpen } from '../rules/balances.ts';
import { newLinkUrl } from './link-token.ts';
import { quickPaymentLink } from './payment-link.ts';

type Body = Input<'createQuickPaymentLink'>['body'];

/** Creates a link to a page on which a client pays once, for specific invoices, an amount or a note. */
export const createQuickPaymentLink: Handler<'createQuickPaymentLink'> = (context, { body }) =>
  context.write(async (unit) => {
    const url = newLinkUrl(context.service.config.publicUrl);
    const id = await unit.plan((plan) => createLink(plan, context.caller.apiUserId, url, body));
    const written = await writtenRow(unit, context, quickPaymentLink, id);
    const headers = { Location: `/gql/v1/quick_payment_link/${id}`, ETag: written.tag };
    return { status: 201, headers, body: written.row };
  });

/**
 * @param id predefined in demo data.
 * @returns the ID of the link
 */
export function createLink(plan: Plan, apiUserId: string, url: string, body: Body, id?: string): string {
  const { clientRef, invoiceIds = [], note = null } = body;
  const owner = plan.find(client, 'clientRef', clientRef);
  if (owner === undefined) throw unknownClientRef(clientRef, 'body');
  if (!owner.active)
    throw new Rejection('INVALID_STATE', 'The client is inactive and cannot be used in new rows.', '/clientRef');
  checkNotArchived(owner, '/clientRef');
  const chosen = plan.each(invoiceIds, (invoiceId, index) =>
    payableInvoice(plan, owner, invoiceId, `/invoiceIds/${index}`),
  );
  const [first] = chosen;
  const other = chosen.findIndex(({ currency }) => currency !== first?.currency);
  if (other > 0)
    throw invalid(`/invoiceIds/${other}`, 'CURRENCY', 'All invoices of a link must have the same currency.');
  const currency = first?.currency ?? owner.currency;
  const values = {
    url,
    clientId: owner.id,
    invoices: chosen.map((one) => ({ invoiceId: one.id, amountDueAtCreation: dueOf(one) })),
    amount: amountOf(body, chosen, currency),
    currency,
    note,
    expiresAt: Temporal.Instant.from(plan.now)
      .add({ milliseconds: millisecondsOf('paymentLink') })
      .toString({ smallestUnit: 'millisecond' }),
    createdByApiUserId: apiUserId,
  };
  return plan.insert(quickPaymentLink, values, id === undefined ? {} : { id }).row.id;
}

/** Returns an invoice that can be paid. It is locked until the link exists, so that a payment invalidates the link. */
function payableInvoice(plan: Plan, owner: Row<'Client'>, id: string, pointer: string): Row<'Invoice'> {
  const row = plan.getForShare(invoice, id);
  if (row?.active !== true)
    throw new Rejection('REFERENCE_NOT_FOUND', 'No active invoice with this ID exists.', pointer);
  if (row.clientId !== owner.id) throw invalid(pointer, 'CLIENT', 'The invoice belongs to another client.');
  if (!isOpen(row))
    throw new Rejection(
      'INVALID_STATE',
      `The invoice cannot be paid: ${isCreditNote(row) ? 'it is a credit note' : `its status is ${row.status}`}.`,
      pointer,
    );
  return row;
}

/** The amount to pay; null if the payer enters it. */
function amountOf({ amount }: Body, chosen: readonly Row<'Invoice'>[], currency: string): Decimal | null {
  const due = sum(chosen.map(dueOf));
  const requested = amount === undefined ? due : parseDecimal(amount);
  if (amount === undefined) checkBound(quickPaymentLink, 'amount', due, '/invoiceIds');
  else if (!isInMinorUnits(requested, currency)) throw invalid('/amount', 'CURRENCY', wholeAmountOnly(currency));
  if (chosen.length === 0) return amount === undefined ? null : requested;
  if (requested.gt(due))
    throw invalid('/amount', 'MAXIMUM', `The amount exceeds the ${due.toFixed(2)} ${currency} due on these invoices.`);
  const pending = sum(chosen.map(({ amountPending }) => amountPending));
  const open = due.minus(pending);
  if (requested.lte(open)) return requested;
  const other = open.gt(zero) ? `, or create a link for at most ${open.toFixed(2)} ${currency}` : '';
  throw new Rejection(
    'INVALID_STATE',
    `Payments of ${pending.toFixed(2)} ${currency} are pending on these invoices. Wait for their result${other}.`,
    amount === undefined ? '/invoiceIds' : '/amount',
  );
}
