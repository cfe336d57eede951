import type { BooksReader } from '../books.ts';
import { money } from '../cents.ts';
import { dueOf, outstandingOf, unappliedOf } from './balances.ts';
import { found, type ModelBooks } from './rows.ts';

/** Reads rows of the model, in the format of the API; other rows are named by their refs. */
export function readerOf(books: ModelBooks): BooksReader {
  // A rejected request replaces the rows of the model.
  const rows = () => books.rows;
  return {
    wip(ref) {
      const row = found(rows().wips, ref);
      return { jobId: row.jobId, outstandingAmount: money(outstandingOf(row)), writeOffAmount: money(row.off) };
    },
    draft: (ref) => found(rows().drafts, ref),
    invoice(ref) {
      const row = found(rows().invoices, ref);
      const { clientId, pending, paid, credited } = row;
      const covered = { amountPending: money(pending), amountPaid: money(paid), amountCredited: money(credited) };
      return { clientId, amountDue: money(dueOf(row)), ...covered };
    },
    payment(ref) {
      const row = found(rows().payments, ref);
      const { currency, method, amount, refunded, allocations } = row;
      const amounts = {
        amount: money(amount),
        refundedAmount: money(refunded),
        unappliedAmount: money(unappliedOf(row)),
      };
      return {
        ...{ currency, method, ...amounts },
        allocations: allocations.map((one) => ({ invoiceId: one.invoice, amount: money(one.amount) })),
      };
    },
    entry(ref) {
      const { hours, jobId, taskId, isBillable } = found(rows().entries, ref);
      return { hours: money(hours), jobId, taskId, isBillable };
    },
  };
}
