import { Rejection } from '../../../contract/rejection.ts';
import { invalidField } from '../../../entity/invalid-field.ts';
import type { Plan } from '../../../entity/plan.ts';
import type { Row } from '../../../entity/row.ts';
import { zero } from '../../../platform/decimal.ts';
import { notCredited } from '../invoice/credit-note.ts';
import { invoice } from '../invoice/invoice.ts';
import { isCreditNote } from '../rules/balances.ts';

type Draft = Pick<Row<'DraftInvoice'>, 'creditedInvoiceId' | 'clientId' | 'currency' | 'total'>;

/** Checks which invoice a draft names. One that does not exist is rejected as any other reference. */
export function checkCreditedInvoice(plan: Plan, { creditedInvoiceId, clientId, currency }: Draft): void {
  const credited = creditedInvoiceId === null ? undefined : plan.get(invoice, creditedInvoiceId);
  if (credited === undefined) return;
  if (credited.clientId !== clientId)
    throw invalidField('creditedInvoiceId', 'The invoice to credit belongs to another client.');
  if (isCreditNote(credited)) throw invalidField('creditedInvoiceId', 'It is a credit note itself. Name an invoice.');
  if (credited.currency !== currency)
    throw invalidField(
      'creditedInvoiceId',
      `The invoice to credit is in ${credited.currency}, the draft in ${currency}.`,
    );
}

/** @throws Rejection if the draft names an invoice that it cannot credit, or credits nothing */
export function checkCredit(plan: Plan, { creditedInvoiceId, total }: Draft): void {
  if (creditedInvoiceId === null) return;
  if (!total.lt(zero))
    throw invalidField(
      'creditedInvoiceId',
      'Only a draft with a negative total credits an invoice. Set creditedInvoiceId to null.',
    );
  // Locked, so that the invoice is not voided or credited at the same time.
  const credited = plan.getForUpdate(invoice, creditedInvoiceId);
  if (credited === undefined) return;
  const { status, amountWrittenOff, total: invoiced } = credited;
  if (status === 'PENDING' || status === 'VOIDED')
    throw new Rejection(
      'INVALID_STATE',
      `The invoice is ${status}, so there is nothing to credit.`,
      '/creditedInvoiceId',
    );
  const left = notCredited(plan, credited).minus(amountWrittenOff);
  if (left.plus(total).gte(zero)) return;
  throw new Rejection(
    'INVALID_STATE',
    `The invoice is over ${invoiced.toFixed(2)}, of which ${left.toFixed(2)} are neither credited nor written off. Credit at most these.`,
    '/creditedInvoiceId',
  );
}
