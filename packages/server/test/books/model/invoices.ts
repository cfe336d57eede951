import { type Cents, total } from '../cents.ts';
import type { BooksRequest } from '../requests.ts';
import { dueOf } from './balances.ts';
import { dayOfChange, enter, entriesOf, firstOpenDay, lastOf, latest } from './ledger.ts';
import { areZero, billedBy, priced, totalOf } from './lines.ts';
import { type Conditions, mustMove } from './machine.ts';
import { creditOf, currencyOf, found, type InvoiceRow, type ModelBooks, must } from './rows.ts';
import { relieveWork, returnWork } from './work.ts';

type Request<Kind extends BooksRequest['kind']> = BooksRequest & { readonly kind: Kind };
type NewInvoice = Pick<InvoiceRow, 'clientId' | 'invoiceDate' | 'total' | 'isZero' | 'reliefs' | 'billed'>;

export function importInvoice(books: ModelBooks, request: Request<'import'>): void {
  const { ref, clientId, currency, invoiceDate, status, lines } = request;
  must(books.rows.clients.get(clientId)?.status !== 'ARCHIVED');
  must(currency === null || currency === currencyOf(books, clientId));
  const all = priced(books, lines, undefined, clientId);
  must(totalOf(all) >= 0n);
  const amounts = { total: totalOf(all), isZero: areZero(all), reliefs: [], billed: billedBy(books, all, clientId) };
  const invoice = { clientId, invoiceDate, ...amounts };
  postInvoice(books, ref, invoice, status);
}

/** Adds an invoice, which is in the books at once unless it is PENDING. */
export function postInvoice(books: ModelBooks, ref: string, invoice: NewInvoice, status: string): void {
  must(status === 'PENDING' || invoice.invoiceDate >= firstOpenDay(books));
  const uncovered = { paid: 0n, credited: 0n, pending: 0n, writtenOff: 0n, paidDate: null };
  const row: InvoiceRow = { ...invoice, ...uncovered, status };
  books.rows.invoices.set(ref, row);
  if (status === 'PENDING') return;
  if (row.total < 0n) grantCredit(books, ref, row);
  else enterInvoice(books, ref, row);
  relieveWork(books, ref, row);
}

/** The credit of a credit note is a payment. */
function grantCredit(books: ModelBooks, note: string, { clientId, invoiceDate, total }: InvoiceRow): void {
  const [owner, amount] = [creditOf(note), -total];
  const fixed = { method: 'CREDIT', isOfNote: true, allocations: [], refunded: 0n, status: 'COMPLETED' };
  const currency = currencyOf(books, clientId);
  books.rows.payments.set(owner, { ...fixed, clientId, currency, paymentDate: invoiceDate, amount });
  const of = { account: 'CREDIT', owner, clientId, invoice: note, payment: owner } as const;
  enter(books, { ...of, kind: 'CREDIT_NOTE', amount, businessDate: invoiceDate });
}

function withdrawCredit(books: ModelBooks, note: string, given: string | null): void {
  const owner = creditOf(note);
  const credit = found(books.rows.payments, owner);
  const entries = entriesOf(books, 'CREDIT', owner);
  const undone = lastOf(entries, 'CREDIT_NOTE');
  const businessDate = dayOfChange(books, { given, change: -credit.amount, entries, undone });
  const of = { account: 'CREDIT', owner, clientId: credit.clientId, invoice: note, payment: owner } as const;
  enter(books, { ...of, kind: 'NOTE_VOID', amount: -credit.amount, businessDate, reverses: undone ?? null });
  credit.status = 'VOIDED';
}

function enterInvoice(books: ModelBooks, ref: string, row: InvoiceRow): void {
  const { clientId, invoiceDate, total: amount } = row;
  const of = { account: 'RECEIVABLE', owner: ref, clientId, invoice: ref } as const;
  enter(books, { ...of, kind: 'INVOICE', amount, businessDate: invoiceDate });
  if (amount === 0n) Object.assign(row, { status: 'PAID', paidDate: invoiceDate });
}

export function moveInvoice(books: ModelBooks, { ref, to, changeDate }: Request<'moveInvoice'>): void {
  const row = found(books.rows.invoices, ref);
  const { status, clientId, invoiceDate } = row;
  if (status === to) {
    // The reason of a rest that was settled is that of a write-off.
    must(to !== 'PAID' || row.writtenOff > 0n);
    return;
  }
  mustMove('InvoiceStatus', status, to, invoiceConditions(books, ref));
  must(changeDate === null || changeDate >= invoiceDate);
  row.status = to;
  if (status === 'PENDING') enterInvoice(books, ref, row);
  else if (to === 'WRITTEN_OFF' || to === 'PAID') {
    const due = dueOf({ ...row, status });
    change('WRITE_OFF', -due, undefined, to === 'PAID');
    row.writtenOff += due;
    if (to === 'PAID') row.paidDate = lastDayOf(books, ref);
  } else {
    // Only a void has no amount to cover any more; both undo what was written off: first the rest that was settled.
    const rounding = settledRest(books, ref);
    change('RECOVERY', rounding, 'WRITE_OFF', true);
    change('RECOVERY', row.writtenOff - rounding, 'WRITE_OFF');
    row.writtenOff = 0n;
    row.paidDate = null;
  }
  if (to !== 'VOIDED') return;
  if (row.total < 0n) withdrawCredit(books, ref, changeDate);
  else if (!row.isZero) change('VOID', -row.total, 'INVOICE');
  returnWork(books, ref, row.reliefs, changeDate);

  function change(kind: string, amount: Cents, undoes: string | undefined, isRounding = false): void {
    if (amount === 0n && kind !== 'VOID') return;
    const entries = entriesOf(books, 'RECEIVABLE', ref);
    const ofKind = entries.filter((entry) => entry.isRounding === isRounding);
    const undone = undoes === undefined ? undefined : lastOf(ofKind, undoes);
    const businessDate = dayOfChange(books, { given: changeDate, change: amount, entries, undone });
    const of = { account: 'RECEIVABLE', owner: ref, clientId, invoice: ref } as const;
    enter(books, { ...of, kind, amount, businessDate, reverses: undone ?? null, isRounding });
  }
}

/** The conditions of the transitions of an invoice, by the requests of walks. */
export function invoiceConditions({ firm, rows }: ModelBooks, ref: string): Conditions {
  const row = found(rows.invoices, ref);
  const covered = row.paid + row.credited;
  return {
    totalIsZero: row.total === 0n,
    nothingPending: row.pending === 0n,
    notCreditNote: row.total >= 0n,
    // No draft of a walk names an invoice that it credits.
    notCreditedAlready: true,
    noCreditNotes: true,
    restSettled: dueOf(row) <= firm.settleWithin,
    creditUnapplied: (rows.payments.get(creditOf(ref))?.allocations ?? []).length === 0,
    noWorkInDraft: row.reliefs.every(({ wipId }) => found(rows.wips, wipId).status !== 'IN_DRAFT'),
    partWrittenOff: row.writtenOff > 0n,
    nothingCovered: covered === 0n,
    partCovered: covered > 0n,
  };
}

/** Sets the status that follows from what covers an invoice. */
export function settle(books: ModelBooks, ref: string): void {
  const row = found(books.rows.invoices, ref);
  // A rest that was settled is no loss.
  if (dueOf(row) === 0n) row.status = row.writtenOff > settledRest(books, ref) ? 'WRITTEN_OFF' : 'PAID';
  else row.status = row.paid + row.credited > 0n ? 'PARTIALLY_PAID' : 'POSTED';
  row.paidDate = row.status === 'PAID' ? lastDayOf(books, ref) : null;
}

function lastDayOf(books: ModelBooks, ref: string): string {
  return latest(...entriesOf(books, 'RECEIVABLE', ref).map(({ businessDate }) => businessDate));
}

function settledRest(books: ModelBooks, ref: string): Cents {
  const settled = entriesOf(books, 'RECEIVABLE', ref).filter(({ isRounding }) => isRounding);
  return -total(settled.map(({ amount }) => amount));
}
