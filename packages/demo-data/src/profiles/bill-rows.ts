import type { Bill, Billed, WriteOff } from './bills.ts';
import { dateText, instantAt, instantText, yearOf } from './calendar.ts';
import type { Firm } from './firm.ts';
import type { JobSeed } from './jobs.ts';
import type { LinkSeed, Outcome } from './money.ts';
import type { ClientSeed } from './parties.ts';
import { disputeMemos } from './practice.ts';
import { rowId } from './row-id.ts';
import type { EntityRow, Row } from './table-loader.ts';
import type { Work } from './time.ts';

/** What all bills have in common. */
export interface Books {
  readonly firm: Firm;
  readonly clients: readonly ClientSeed[];
  readonly jobs: readonly JobSeed[];
  readonly work: Work;
  readonly billed: ReadonlyMap<number, Billed>;
  readonly writtenOff: ReadonlyMap<number, WriteOff>;
  readonly outcomes: ReadonlyMap<Bill, Outcome>;
  readonly links: readonly LinkSeed[];
  /** Credit notes by the bill that they credit. */
  readonly notes: ReadonlyMap<Bill, Bill>;
  readonly apiUserId: string;
}

/** Writes cents as the database does. */
export function money(cents: number): string {
  return (cents / 100).toFixed(2);
}

/** Calculates the totals of a bill. */
function totalsOf({ lines, total }: Bill) {
  const sum = (of: (line: Bill['lines'][number]) => number) => lines.reduce((all, line) => all + of(line), 0);
  return {
    subtotal: money(sum((line) => (line.lineType === 'DISCOUNT' ? 0 : line.amount))),
    discountTotal: money(-sum((line) => (line.lineType === 'DISCOUNT' ? line.amount : 0))),
    taxTotal: money(sum((line) => line.tax)),
    total: money(total),
  };
}

/** The difference of a draft from the standard value. */
function adjustmentOf({ lines, standard }: Bill): number {
  return lines.reduce((sum, line) => sum + (line.work.length > 0 ? line.amount : 0), 0) - standard;
}

function draftNumberOf({ number, day }: Bill): string {
  return `D-${yearOf(day)}-${100_000 + number}`;
}

/** The timestamps of a draft: created, submitted, and approved or rejected. */
export function instantsOf({ day, number }: Bill) {
  const at = instantAt(day, 16) + (number % 100_000);
  return { createdAt: at, submittedAt: at + 1_800_000, decidedAt: at + 7_200_000 };
}

export function* draftRows(bills: readonly Bill[], clients: readonly ClientSeed[], firm: Firm): Generator<EntityRow> {
  for (const bill of bills) {
    const { createdAt, submittedAt, decidedAt } = instantsOf(bill);
    const { subtotal, discountTotal, taxTotal, total } = totalsOf(bill);
    const [isPosted, isRejected] = [bill.draftStatus === 'POSTED', bill.draftStatus === 'REJECTED'];
    yield {
      id: bill.draftId,
      createdAt,
      draft_number: draftNumberOf(bill),
      client_id: clients[bill.client]?.id ?? '',
      job_ids: [bill.jobId],
      status: bill.draftStatus,
      bill_through_date: dateText(bill.day),
      proposed_invoice_date: dateText(bill.day),
      due_date: dateText(bill.dueDay),
      standard_amount: money(bill.standard),
      adjustment_amount: money(adjustmentOf(bill)),
      subtotal,
      discount_total: discountTotal,
      tax_total: taxTotal,
      total,
      currency: 'USD',
      prepared_by_id: firm.managerId,
      submitted_at: bill.draftStatus === 'DRAFT' ? null : instantText(submittedAt),
      approved_at: isPosted ? instantText(decidedAt) : null,
      rejected_at: isRejected ? instantText(decidedAt) : null,
      invoice_id: bill.invoiceId ?? null,
      rejection_reason: isRejected ? 'Split the work by month.' : null,
      credited_invoice_id: bill.credited?.invoiceId ?? null,
    };
  }
}

/** The ID of a line, with separate ranges for drafts and invoices, and for at most a thousand lines. */
export function lineId(kind: number, { number, day }: Bill, position: number): string {
  return rowId(kind, number * 1000 + position, instantAt(day, 16));
}

export function* lineRows(
  bills: readonly Bill[],
  kind: number,
  owner: 'draft_invoice_id' | 'invoice_id',
  ownerId: (bill: Bill) => string,
): Generator<Row> {
  for (const bill of bills)
    for (const [position, { lineType, description, amount, tax, relief }] of bill.lines.entries()) {
      const isTaxable = bill.taxRate > 0 && lineType !== 'DISCOUNT';
      yield {
        [owner]: ownerId(bill),
        position,
        id: lineId(kind, bill, position),
        line_type: lineType,
        job_id: bill.jobId,
        description,
        quantity: '1',
        unit_amount: money(amount),
        amount: money(amount),
        taxable: isTaxable,
        tax_rate_percent: isTaxable ? String(bill.taxRate / 1000) : '0',
        tax_amount: money(tax),
        relief,
      };
    }
}

/** Nothing is due on a credit note, and its credit is a payment. */
const ofNote: Outcome = { status: 'POSTED', paid: 0, pending: 0, paidDay: undefined };

const badDebts = ['The client is insolvent.', 'Collection costs more than the amount.', 'Settled for less.'];

export function* invoiceRows(
  bills: readonly Bill[],
  outcomes: ReadonlyMap<Bill, Outcome>,
  clients: readonly ClientSeed[],
  firm: Firm,
): Generator<EntityRow> {
  for (const bill of bills) {
    const outcome = bill.credited === undefined ? outcomes.get(bill) : ofNote;
    if (outcome === undefined) throw new Error('The invoice has no outcome.');
    const { status, paid, credited = 0, pending, paidDay, writtenOffDay } = outcome;
    const { today } = firm.span;
    const postedAt = instantAt(bill.day, 18) + (bill.number % 100_000);
    const { subtotal, discountTotal, taxTotal, total } = totalsOf(bill);
    const isOpen = bill.credited === undefined && (status === 'POSTED' || status === 'PARTIALLY_PAID');
    const client = clients[bill.client];
    yield {
      id: bill.invoiceId ?? '',
      createdAt: postedAt,
      invoice_number: bill.invoiceNumber,
      pms_ref: bill.invoiceNumber,
      client_id: client?.id ?? '',
      org_id: firm.orgId,
      job_ids: [bill.jobId],
      draft_invoice_id: bill.draftId,
      status,
      invoice_date: dateText(bill.day),
      due_date: dateText(bill.dueDay),
      posted_at: instantText(postedAt),
      paid_at: paidDay === undefined ? null : instantText(instantAt(paidDay, 19)),
      paid_date: paidDay === undefined ? null : dateText(Math.max(paidDay, bill.day)),
      overdue_at: isOpen && bill.dueDay < today ? instantText(instantAt(bill.dueDay + 1, 7)) : null,
      write_off_reason: status === 'WRITTEN_OFF' ? (badDebts[bill.number % badDebts.length] ?? null) : null,
      voided_at: status === 'VOIDED' ? instantText(postedAt + 86_400_000) : null,
      void_reason: status === 'VOIDED' ? 'Billed to the wrong period.' : null,
      subtotal,
      discount_total: discountTotal,
      tax_total: taxTotal,
      total,
      amount_paid: money(paid),
      amount_credited: money(credited),
      amount_pending: money(pending),
      amount_written_off: status === 'WRITTEN_OFF' ? money(bill.total) : '0.00',
      currency: 'USD',
      tax_region_id: firm.taxRegions[client?.regionIndex ?? 0]?.id ?? null,
      city: 'Springfield',
      country: 'US',
      memo: isOpen && bill.number % 90 === 3 ? (disputeMemos[bill.number % disputeMemos.length] ?? null) : null,
      document_type: bill.credited === undefined ? 'INVOICE' : 'CREDIT_NOTE',
      credited_invoice_id: bill.credited?.invoiceId ?? null,
      updated_at: instantText(writtenOffDay === undefined ? postedAt : instantAt(writtenOffDay, 18)),
    };
  }
}

/** The revisions of a draft up to its status. */
const revisions = {
  DRAFT: [['CREATED', 'DRAFT']],
  IN_REVIEW: [
    ['CREATED', 'DRAFT'],
    ['SUBMITTED', 'IN_REVIEW'],
  ],
  REJECTED: [
    ['CREATED', 'DRAFT'],
    ['SUBMITTED', 'IN_REVIEW'],
    ['REJECTED', 'REJECTED'],
  ],
  POSTED: [
    ['CREATED', 'DRAFT'],
    ['SUBMITTED', 'IN_REVIEW'],
    ['APPROVED', 'APPROVED'],
    ['POSTED', 'POSTED'],
  ],
} as const;

export function* historyRows(bills: readonly Bill[], clients: readonly ClientSeed[], firm: Firm): Generator<EntityRow> {
  for (const bill of bills) {
    const { createdAt, submittedAt, decidedAt } = instantsOf(bill);
    const { subtotal, discountTotal, taxTotal, total } = totalsOf(bill);
    const clerk = firm.managerId;
    let from: string | null = null;
    for (const [place, [action, to]] of revisions[bill.draftStatus].entries()) {
      const at = place === 0 ? createdAt : place === 1 ? submittedAt : decidedAt;
      const invoiceId = to === 'POSTED' ? (bill.invoiceId ?? null) : null;
      const isApproved = to === 'APPROVED' || to === 'POSTED';
      const snapshot = {
        id: bill.draftId,
        draftNumber: draftNumberOf(bill),
        status: to,
        billThroughDate: dateText(bill.day),
        proposedInvoiceDate: dateText(bill.day),
        dueDate: dateText(bill.dueDay),
        currency: 'USD',
        subtotal,
        discountTotal,
        taxTotal,
        interestTotal: '0.00',
        total,
        preparedById: clerk,
        reviewerId: null,
        approvedById: null,
        submittedAt: place > 0 ? instantText(submittedAt) : null,
        approvedAt: isApproved ? instantText(decidedAt) : null,
        rejectedAt: to === 'REJECTED' ? instantText(decidedAt) : null,
        rejectionReason: to === 'REJECTED' ? 'Split the work by month.' : null,
      };
      const changes = from === null ? {} : { status: { old: from, new: to } };
      yield {
        id: rowId(54, bill.number * 4 + place, at),
        createdAt: at,
        draft_invoice_id: bill.draftId,
        revision: place + 1,
        action,
        from_status: from,
        to_status: to,
        changed_by_id: clerk,
        changed_at: instantText(at),
        changes,
        client_id: clients[bill.client]?.id ?? '',
        job_ids: [bill.jobId],
        invoice_id: invoiceId,
        total,
        draft_invoice: snapshot,
      };
      from = to;
    }
  }
}
