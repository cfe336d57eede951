import { money } from '../cents.ts';
import type { BooksModel } from '../model.ts';
import type { BooksRequest } from '../requests.ts';
import { dueOf, outstandingOf, unappliedOf } from './balances.ts';
import { totalOf } from './lines.ts';
import {
  currencyOf,
  type DraftRow,
  found,
  type InvoiceRow,
  type PaymentRow,
  type TimeRow,
  type WipRow,
} from './rows.ts';

/** What the API returns of rows, by the model. */
export function expectedRows(model: BooksModel) {
  const currency = ({ clientId }: { readonly clientId: string }) => currencyOf(model, clientId);
  return {
    entry: ({ status, hours }: TimeRow) => ({ status, hours: money(hours) }),
    wip: (row: WipRow) => ({
      status: row.status,
      currency: currency(row),
      amount: money(row.amount),
      billedAmount: money(row.billed),
      writeUpAmount: money(row.up),
      writeOffAmount: money(row.off),
      outstandingAmount: money(outstandingOf(row)),
    }),
    draft: (row: DraftRow) => ({ status: row.status, currency: currency(row), total: money(totalOf(row.lines)) }),
    invoice: (row: InvoiceRow) => ({
      status: row.status,
      currency: currency(row),
      total: money(row.total),
      amountPaid: money(row.paid),
      amountCredited: money(row.credited),
      amountPending: money(row.pending),
      amountWrittenOff: money(row.writtenOff),
      amountDue: money(dueOf(row)),
    }),
    payment: (row: PaymentRow) => ({
      clientId: row.clientId,
      status: row.status,
      currency: row.currency,
      amount: money(row.amount),
      unappliedAmount: money(unappliedOf(row)),
      refundedAmount: money(row.refunded),
      allocations: row.allocations.map(({ amount }) => ({ amount: money(amount) })),
    }),
  };
}

/** What the response to an accepted request says of its row, by the model. */
export function expectedOf(model: BooksModel, request: BooksRequest): object {
  const { rows } = model;
  const { ref, kind } = request;
  const expected = expectedRows(model);
  switch (kind) {
    case 'time':
    case 'hours':
    case 'moveEntry':
      return expected.entry(found(rows.entries, ref));
    case 'wip':
    case 'writeOffWip':
      return expected.wip(found(rows.wips, ref));
    case 'draft':
    case 'draftLines':
    case 'redateDraft':
    case 'moveDraft':
      return expected.draft(found(rows.drafts, ref));
    case 'import':
    case 'moveInvoice':
      return expected.invoice(found(rows.invoices, ref));
    case 'pay':
    case 'identify':
    case 'movePayment':
    case 'refund':
    case 'allocate':
      return expected.payment(found(rows.payments, ref));
    case 'moveJob':
      return { status: found(rows.jobs, ref).status };
    case 'moveClient':
    case 'currency':
      return found(rows.clients, ref);
    case 'close':
      return { booksClosedThrough: request.day };
    case 'removeEntry':
    case 'deleteDraft':
    case 'reportPayment':
      // The response has no row, or there is none.
      return {};
  }
}
