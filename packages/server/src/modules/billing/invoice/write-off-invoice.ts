import { Rejection } from '../../../contract/rejection.ts';
import { command } from '../../../entity/command.ts';
import { invalidField } from '../../../entity/invalid-field.ts';
import type { Plan } from '../../../entity/plan.ts';
import type { PendingChange } from '../../../entity/rules.ts';
import { type Decimal, isDecimal, parseDecimal, zero } from '../../../platform/decimal.ts';
import { org } from '../../reference/index.ts';
import { entriesOf, lastDayOf } from '../ledger/enter.ts';
import { enterRecovery, enterWriteOff } from '../ledger/invoice-entries.ts';
import { invalidateLinks } from '../link/payment-link.ts';
import { dueOf, isOpen } from '../rules/balances.ts';
import { notCredited } from './credit-note.ts';
import { invoice } from './invoice.ts';

type InvoiceChange = PendingChange<'Invoice'>;

/** An amount due is lost as bad debt, or a small rest is settled, and can no longer be paid by link; or a part of it is due again. */
export const writeOffInvoice = command('invoiceWrittenOff', (plan, change: InvoiceChange) => {
  const { id, values, previous } = change;
  const more = values.amountWrittenOff.minus(previous?.amountWrittenOff ?? zero);
  if (more.lt(zero)) enterRecovery(plan, change);
  if (!more.gt(zero)) return;
  enterWriteOff(plan, change);
  // The rest can be settled as of a day before the last payment.
  if (values.status === 'PAID') plan.set(invoice, id, { paidDate: lastDayOf(entriesOf(plan, 'RECEIVABLE', id)) });
  invalidateLinks(plan, id);
});

/**
 * The amount that a caller writes off of an open invoice altogether; undefined if it is the one before.
 *
 * @throws Rejection if the invoice is not open, nothing would be due, or a reason is missing
 */
export function partWrittenOff({ id, values, previous, input }: InvoiceChange, plan: Plan): Decimal | undefined {
  const { writeOffAmount: written } = input;
  if (previous === undefined || written === undefined || written === null) return undefined;
  const amount = isDecimal(written) ? written : parseDecimal(written);
  const more = amount.minus(previous.amountWrittenOff);
  if (more.eq(zero)) return undefined;
  const reject = (detail: string) => new Rejection('INVALID_STATE', detail, '/writeOffAmount');
  if (!isOpen(previous) || values.status !== previous.status) throw reject(partOfOpen(previous.status));
  if (more.lt(zero)) {
    if (typeof input.changeReason !== 'string')
      throw invalidField('changeReason', 'changeReason is required to write off less than before.');
    return amount;
  }
  if (typeof input.writeOffReason !== 'string')
    throw invalidField('writeOffReason', 'writeOffReason is required to write off an amount.');
  if (more.gte(dueOf(previous).minus(previous.amountPending)))
    throw reject(
      'The amount must be less than what is due and not pending. To write off all, set the status WRITTEN_OFF.',
    );
  if (amount.gt(notCredited(plan, { id, total: values.total })))
    throw reject('Credit notes refer to the invoice. Apply their credit to it instead of writing it off.');
  return amount;
}

function partOfOpen(status: string): string {
  const next =
    status === 'PAID' || status === 'WRITTEN_OFF'
      ? `The invoice is ${status}: to undo what is written off, set the status POSTED or PARTIALLY_PAID.`
      : 'Send it without a status.';
  return `A part is written off of an open invoice, which keeps its status. ${next}`;
}

/** @throws Rejection if the caller does not settle the rest of an invoice, or it is larger than its org settles */
export function checkRest({ values, previous, input }: InvoiceChange, plan: Plan): void {
  if (input.settleRest !== true)
    throw invalidField(
      'settleRest',
      'settleRest is required to settle an invoice without a payment. Payments make an invoice PAID by themselves: leave out the status.',
    );
  const due = previous === undefined ? zero : dueOf(previous);
  const limit = plan.get(org, values.orgId)?.settleWithin ?? zero;
  if (due.gt(limit))
    throw new Rejection(
      'INVALID_STATE',
      `${due.toFixed(2)} is due, and the org settles at most ${limit.toFixed(2)} (settleWithin).`,
      '/settleRest',
    );
}
