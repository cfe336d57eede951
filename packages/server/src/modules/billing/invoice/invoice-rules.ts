import { Rejection } from '../../../contract/rejection.ts';
import { invalidField } from '../../../entity/invalid-field.ts';
import type { Plan } from '../../../entity/plan.ts';
import type { Row } from '../../../entity/row.ts';
import { isChanged } from '../../../entity/row-changes.ts';
import { addRules, type PendingChange } from '../../../entity/rules.ts';
import { decimals } from '../../../platform/arithmetic.ts';
import { type Decimal, zero } from '../../../platform/decimal.ts';
import { checkClientCurrency, client, reopenClient } from '../../clients/index.ts';
import { contactInfo } from '../../contacts/index.ts';
import { job } from '../../projects/index.ts';
import { checkNotAfterToday, completeAddress, recordBookChange } from '../../reference/index.ts';
import { planDocument } from '../document/write-invoice.ts';
import { checkBillable, lockBalances } from '../ledger/balances.ts';
import { enterRecovery } from '../ledger/invoice-entries.ts';
import { dueOf, isCreditNote, isOpen, owed } from '../rules/balances.ts';
import { totalsOf } from '../rules/document.ts';
import { checkCreditUnapplied, notCredited } from './credit-note.ts';
import { earlyPaymentNoteOf, settleEarlyPayment } from './early-payment.ts';
import { invoice } from './invoice.ts';
import {
  checkSameClient,
  checkSigns,
  completeLines,
  invalidLine,
  taxExemptReasonOf,
  taxRoundingOf,
} from './invoice-lines.ts';
import { nextInvoiceNumber } from './invoice-number.ts';
import { postImport } from './post-invoice.ts';
import { stateTax } from './state-tax.ts';
import { checkNotInDraft, voidInvoice } from './void-invoice.ts';
import { checkRest, partWrittenOff, writeOffInvoice } from './write-off-invoice.ts';

type InvoiceChange = PendingChange<'Invoice'>;

/** What the document of an invoice shows, and callers can write later. */
const shownLater = ['purchaseOrder', 'orderReference', 'buyerReference', 'memo'] as const;

addRules(invoice, {
  complete(change, plan) {
    if (change.previous === undefined) completeNew(change, plan);
    else if (change.by === 'caller') completeChange(change, plan);
    lockBalances(plan, [change.values.clientId], changedJobs(change));
  },
  afterWrite(change, plan) {
    const { values, previous } = change;
    if (previous === undefined) return;
    if (change.by === 'caller' && values.earlyPaymentNoteId !== previous.earlyPaymentNoteId)
      settleEarlyPayment(plan, change);
    else if (change.by === 'caller' && values.status === previous.status) writeOffInvoice(plan, change);
    if (shownLater.some((name) => values[name] !== previous[name])) planDocument(plan, values);
    if (owedOn(previous).eq(zero) && owedOn(values).gt(zero)) reopenClient(plan, values.clientId);
  },
  commands: {
    POSTED: (plan, change) => (isPosting(change) ? postImport : enterRecovery)(plan, change),
    PARTIALLY_PAID: enterRecovery,
    PAID: writeOffInvoice,
    VOIDED: voidInvoice,
    WRITTEN_OFF: writeOffInvoice,
  },
  conditions: {
    creditUnapplied: ({ values }, plan) => checkCreditUnapplied(plan, values),
    noCreditNotes({ id, values: { total } }, plan) {
      if (!notCredited(plan, { id, total }).eq(total))
        throw new Rejection('INVALID_STATE', 'Credit notes refer to the invoice. Void them first.', '/status');
    },
    notCreditedAlready({ id, values }, plan) {
      if (values.amountWrittenOff.gt(notCredited(plan, { id, total: values.total })))
        throw new Rejection(
          'INVALID_STATE',
          'Credit notes refer to the invoice. Apply their credit to it instead of writing it off.',
          '/status',
        );
    },
    noWorkInDraft: ({ id }, plan) => checkNotInDraft(plan, id),
    restSettled: checkRest,
  },
  constraints: {
    invoice_invoice_number_org_unique: {
      code: 'DUPLICATE_REF',
      field: 'invoiceNumber',
      detail: 'Another document of the org already has this invoiceNumber.',
    },
    invoice_service_period_order: {
      code: 'VALIDATION_ERROR',
      field: 'servicePeriodEnd',
      detail: 'servicePeriodEnd must not be before servicePeriodStart.',
    },
    invoice_due_date_order: {
      code: 'VALIDATION_ERROR',
      field: 'dueDate',
      detail: 'dueDate must not be before invoiceDate.',
    },
    invoice_credited_total_range: {
      code: 'INVALID_STATE',
      field: 'creditedInvoiceId',
      detail: 'The credit notes of an invoice together are at most its total.',
    },
  },
});

/** What an invoice adds to the balance of its client. */
function owedOn(row: Row<'Invoice'>): Decimal {
  return owed(decimals(), { status: row.status, due: dueOf(row) });
}

/** The jobs whose sums change with the status of an invoice. */
function changedJobs({ values, previous }: InvoiceChange): string[] {
  const isVoided = values.status === 'VOIDED' && previous?.status !== 'VOIDED';
  if (!isPosting({ values, previous }) && !isVoided) return [];
  return values.lines.flatMap(({ jobId }) => jobId ?? []);
}

/** Whether an invoice starts to count: one that is created, or imported before. */
function isPosting({ values, previous }: Pick<InvoiceChange, 'values' | 'previous'>): boolean {
  return values.status === 'POSTED' && (previous === undefined || previous.status === 'PENDING');
}

function completeNew(change: InvoiceChange, plan: Plan): void {
  const { values, input } = change;
  const owner = plan.get(client, values.clientId);
  if (owner === undefined) return;
  checkBillable(owner);
  values.orgId = owner.orgId;
  if (change.by === 'caller') {
    checkImport(input, plan);
    checkSameClient(plan, owner.id, input);
    checkSent(values, plan);
    checkNotAfterToday(plan, 'invoiceDate', values.invoiceDate);
  }
  values.currency ??= owner.currency;
  checkClientCurrency(owner, values.currency);
  values.taxRounding ??= taxRoundingOf(plan, owner);
  values.taxRegionId ??= owner.taxRegionId;
  values.billingContactId ??= owner.billingContactId;
  if (values.draftInvoiceId === null) {
    if (input.taxExemptReason === undefined) values.taxExemptReason = taxExemptReasonOf(plan, owner);
    values.lines = completeLines(plan, owner, values, []);
    stateTax(change);
    if (!plan.isImport) checkSigns(values.lines);
  }
  values.jobIds ??= [...new Set(values.lines.flatMap(({ jobId }) => (jobId === null ? [] : [jobId])))];
  values.engagementId ??= onlyEngagement(plan, values.jobIds);
  Object.assign(values, totalsOf(values.lines));
  values.documentType = values.total.lt(zero) ? 'CREDIT_NOTE' : 'INVOICE';
  if (values.draftInvoiceId === null && values.creditedInvoiceId === null && isCreditNote(values))
    checkImportedNote(plan, values);
  else if (plan.isImport) checkSigns(values.lines);
  const { billingAddress = addressOf(plan, owner) } = values;
  const own = input.billingAddress === undefined ? billingAddress : undefined;
  values.billingAddress = plan.at('/billingAddress', () => completeAddress(billingAddress, own));
  if (values.status === 'POSTED') values.postedAt = plan.now;
  values.invoiceNumber ??= nextInvoiceNumber(plan, invoice, values, owner.officeId);
  values.pmsRef ??= plan.find(invoice, 'pmsRef', values.invoiceNumber) === undefined ? values.invoiceNumber : null;
}

/** Credit notes come from drafts, or from the history of another system. */
function checkImportedNote(plan: Plan, { status }: Row<'Invoice'>): void {
  if (!plan.isImport)
    throw invalidField(
      'lines',
      'The total of an invoice must not be negative. Create a credit note from a draft, or import it with the source IMPORT.',
    );
  if (status === 'PENDING') throw invalidField('status', 'A credit note is never PENDING. Import it as POSTED.');
}

/** Only imported invoices are written as records; others are created from drafts. */
function checkImport(input: InvoiceChange['input'], plan: Plan): void {
  const { pmsRef, lines, status } = input;
  if (typeof pmsRef !== 'string')
    throw invalidField('pmsRef', 'pmsRef is required to import an invoice. Other invoices come from approved drafts.');
  const billing = lines?.findIndex(({ wipIds }) => wipIds.length > 0) ?? -1;
  if (billing >= 0 && !plan.isImport)
    throw invalidLine(
      billing,
      'wipIds',
      'Only an invoice with the source IMPORT can bill work in progress. Use a draft invoice.',
    );
  if (billing >= 0 && status === 'PENDING')
    throw invalidLine(billing, 'wipIds', 'A PENDING invoice bills no work in progress. Import it as POSTED.');
}

function completeChange(change: InvoiceChange, plan: Plan): void {
  const { entity, values, previous, input } = change;
  if (previous === undefined) return;
  values.taxAsStated = previous.taxAsStated;
  if (input.lines !== undefined) {
    values.lines = completeLines(plan, plan.get(client, values.clientId), values, previous.lines);
    stateTax(change);
  }
  if (input.billingAddress !== undefined)
    values.billingAddress = plan.at('/billingAddress', () =>
      completeAddress(values.billingAddress, previous.billingAddress),
    );
  if (input.settleRest === true && isOpen(previous)) values.status = 'PAID';
  if (input.settleEarlyPayment === true) values.earlyPaymentNoteId = earlyPaymentNoteOf(plan, change, previous);
  const amountWrittenOff = partWrittenOff(change, plan);
  if (amountWrittenOff === undefined && !isChanged(entity, previous, values)) return;
  checkSent(values, plan);
  checkReasons({ status: values.status, voidReason: input.voidReason });
  recordBookChange(change, plan, previous.invoiceDate);
  if (values.status === previous.status) {
    values.amountWrittenOff = amountWrittenOff ?? previous.amountWrittenOff;
    if (values.amountWrittenOff.eq(zero)) values.writeOffReason = null;
    checkWriteOffReason(input.writeOffReason, !values.amountWrittenOff.eq(zero));
    return;
  }
  const isWrittenOff = values.status === 'WRITTEN_OFF' || values.status === 'PAID';
  checkWriteOffReason(input.writeOffReason, isWrittenOff);
  if (values.status === 'PAID') values.paidAt = plan.now;
  if (values.status === 'VOIDED') values.voidedAt = plan.now;
  if (isWrittenOff) {
    values.amountWrittenOff = previous.amountWrittenOff.plus(dueOf(previous));
    return;
  }
  if (previous.status === 'PENDING') values.postedAt = plan.now;
  if (previous.status === 'PAID') Object.assign(values, { paidAt: null, paidDate: null });
  // A void and a reinstatement undo what was written off.
  values.amountWrittenOff = zero;
  values.writeOffReason = null;
}

/** Checks when an invoice was sent: what is recorded has happened. */
function checkSent({ sentAt }: Row<'Invoice'>, plan: Plan): void {
  if (sentAt !== null && sentAt > plan.now) throw invalidField('sentAt', 'sentAt must not be in the future.');
}

/** Each reason belongs to one status. */
function checkReasons({
  status,
  voidReason,
}: {
  readonly status: string;
  readonly voidReason: string | null | undefined;
}): void {
  if (typeof voidReason === 'string' && status !== 'VOIDED')
    throw invalidField('voidReason', 'voidReason can be set only together with the status VOIDED.');
}

function checkWriteOffReason(reason: string | null | undefined, isWrittenOff: boolean): void {
  if (typeof reason === 'string' && !isWrittenOff)
    throw invalidField(
      'writeOffReason',
      'writeOffReason can be set only together with the status WRITTEN_OFF, settleRest or writeOffAmount.',
    );
}

function addressOf(plan: Plan, owner: Row<'Client'>): Row<'Invoice'>['billingAddress'] {
  const id = owner.billingAddressId ?? owner.clientContactInfoId;
  return (id === null ? undefined : plan.get(contactInfo, id)?.address) ?? {};
}

/** The engagement of the jobs, if they all have the same one. */
function onlyEngagement(plan: Plan, jobIds: readonly string[]): string | null {
  const ids = new Set(plan.each(jobIds, (id) => plan.get(job, id)?.engagementId ?? null));
  const [id = null] = ids;
  return ids.size === 1 ? id : null;
}
