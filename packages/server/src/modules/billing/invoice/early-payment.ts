import { placesOf } from '../../../contract/currency.ts';
import { Rejection } from '../../../contract/rejection.ts';
import type { Plan } from '../../../entity/plan.ts';
import type { Row, RowInput } from '../../../entity/row.ts';
import type { PendingChange } from '../../../entity/rules.ts';
import { type Decimal, sum, zero } from '../../../platform/decimal.ts';
import { client } from '../../clients/index.ts';
import { documentTexts } from '../document/document-texts.ts';
import { planDocument } from '../document/write-invoice.ts';
import { checkOpenDay, entriesOf } from '../ledger/enter.ts';
import { payment } from '../payment/payment.ts';
import { applyPayment } from '../payment/payment-commands.ts';
import { dueOf, isOpen } from '../rules/balances.ts';
import { apportion } from '../rules/document.ts';
import { discountOf, lastDayOf } from '../rules/early-payment.ts';
import { billJobs } from './bill-work.ts';
import { notCredited } from './credit-note.ts';
import { invoice } from './invoice.ts';
import { enterDocument } from './post-invoice.ts';

type InvoiceChange = PendingChange<'Invoice'>;
type Bill = Row<'Invoice'>;

/**
 * Returns the ID of the credit note over the discount that a client takes: of the one that exists, or of a new one.
 *
 * @throws Rejection if the client has not paid all but the discount in time
 */
export function earlyPaymentNoteOf(plan: Plan, { values, input }: InvoiceChange, bill: Bill): string {
  const { id, earlyPayment, earlyPaymentNoteId, currency } = bill;
  if (earlyPaymentNoteId !== null && plan.get(invoice, earlyPaymentNoteId)?.status !== 'VOIDED')
    return earlyPaymentNoteId;
  const reject = (detail: string) => new Rejection('INVALID_STATE', detail, '/settleEarlyPayment');
  if (!isOpen(bill) || earlyPayment === null)
    throw reject('Only an open invoice with earlyPayment has a discount for early payment.');
  if (values.status !== bill.status || input.writeOffAmount != null)
    throw reject('The discount for early payment is taken without another status or write-off.');
  if (bill.amountPending.gt(zero)) throw reject('A payment of the invoice is pending. Wait for its result.');
  const [due, discount] = [dueOf(bill), discountOf(notCredited(plan, bill), earlyPayment, currency)];
  if (due.gt(discount))
    throw reject(`${due.toFixed(2)} is due, and the discount is ${discount.toFixed(2)}. Record the payment first.`);
  const [paid, until] = [lastPaymentOf(plan, id), lastDayOf(bill.invoiceDate, earlyPayment)];
  if (paid > until) throw reject(`A payment is dated ${paid}, and the discount ended on ${until}.`);
  return plan.newId();
}

/** The last day on which what covers an invoice was paid. Credit notes of the invoice reduce what had to be paid. */
function lastPaymentOf(plan: Plan, id: string): string {
  const byPayment = Map.groupBy(entriesOf(plan, 'RECEIVABLE', id), ({ paymentId }) => paymentId);
  const days = [...byPayment].flatMap(([paymentId, entries]) => {
    if (paymentId === null || sum(entries.map(({ amount }) => amount)).eq(zero)) return [];
    const paid = plan.get(payment, paymentId);
    const isOwnNote = paid?.creditNoteId != null && plan.get(invoice, paid.creditNoteId)?.creditedInvoiceId === id;
    return paid === undefined || isOwnNote ? [] : [paid.paymentDate];
  });
  return days.sort().at(-1) ?? '';
}

/** The client has taken the discount: a credit note over it settles the invoice, and reduces the tax in proportion. */
export function settleEarlyPayment(plan: Plan, { values: bill, input }: InvoiceChange): void {
  const { clientId, billingContactId, currency, taxRounding, taxExemptReason } = bill;
  const { purchaseOrder, orderReference, buyerReference, servicePeriodStart, servicePeriodEnd } = bill;
  const invoiceDate = input.changeDate ?? plan.today;
  if (input.changeDate != null) checkOpenDay(plan, bill, { field: 'changeDate', day: input.changeDate });
  const copied = { clientId, billingContactId, currency, taxRounding, taxExemptReason };
  const references = { purchaseOrder, orderReference, buyerReference, servicePeriodStart, servicePeriodEnd };
  const own = { creditedInvoiceId: bill.id, invoiceDate, dueDate: invoiceDate, pricesIncludeTax: true } as const;
  const due = dueOf(bill);
  const { row: note } = plan.insert(
    invoice,
    { ...copied, ...references, ...own, status: 'POSTED', lines: discountLines(plan, bill, due) },
    bill.earlyPaymentNoteId === null ? {} : { id: bill.earlyPaymentNoteId },
  );
  enterDocument(plan, note);
  billJobs(
    plan,
    note,
    note.lines.map((line) => ({ ...line, work: [] })),
  );
  planDocument(plan, note);
  const credit = plan.findForUpdate(payment, 'creditNoteId', note.id);
  if (credit === undefined) throw new Error(`Credit note ${note.id} has no credit.`);
  const { id: invoiceId, invoiceNumber } = bill;
  const allocations = [{ invoiceId, invoiceNumber, amount: due, allocatedAt: plan.now, date: null }];
  plan.set(payment, credit.id, { allocations, unappliedAmount: zero });
  const values = { ...credit, allocations, unappliedAmount: zero };
  applyPayment(plan, { id: credit.id, values, previous: credit, input: {} });
}

/** The lines of a credit note over an amount with tax: one for the lines of each job with the same taxes, in proportion. */
function discountLines(
  plan: Plan,
  { lines, total, currency, clientId }: Bill,
  due: Decimal,
): RowInput<'Invoice'>['lines'] {
  const language = plan.get(client, clientId)?.documentLanguage ?? 'en';
  const described = lines.map(({ jobId, taxCodeId, taxes, amount, taxAmount }) => {
    const listed = taxes.map(({ amount: _, ...tax }) => tax);
    return {
      jobId,
      taxCodeId,
      taxes: listed,
      gross: amount.plus(taxAmount),
      key: JSON.stringify([jobId, taxCodeId, listed]),
    };
  });
  const groups = [...Map.groupBy(described, ({ key }) => key).values()];
  const exact = groups.map((together) => due.times(sum(together.map(({ gross }) => gross))).div(total));
  const shares = apportion(due, exact, placesOf(currency));
  return groups.flatMap(([first], index) => {
    const share = shares[index] ?? zero;
    if (first === undefined || share.eq(zero)) return [];
    const { jobId, taxCodeId, taxes } = first;
    const lineType = share.gt(zero) ? 'DISCOUNT' : 'OTHER';
    const description = documentTexts[language].earlyPayment;
    const unitAmount = zero.minus(share);
    return [{ lineType, jobId, description, quantity: '1', unitAmount, taxes, taxCodeId, wipIds: [] } as const];
  });
}
