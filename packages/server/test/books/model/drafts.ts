import type { BooksRequest } from '../requests.ts';
import { isUntouched } from './balances.ts';
import { postInvoice } from './invoices.ts';
import { firstOpenDay } from './ledger.ts';
import { areZero, billedBy, keepsFees, priced, reliefOf, totalOf } from './lines.ts';
import { type Conditions, mustMove } from './machine.ts';
import { currencyOf, type DraftRow, found, type Line, type ModelBooks, must } from './rows.ts';

type Request<Kind extends BooksRequest['kind']> = BooksRequest & { readonly kind: Kind };

export function writeDraft(books: ModelBooks, { ref, clientId, currency, invoiceDate, lines }: Request<'draft'>): void {
  must(books.rows.clients.get(clientId)?.status !== 'ARCHIVED');
  must(currency === null || currency === currencyOf(books, clientId));
  const all = priced(books, lines, ref, clientId);
  hold(books, ref, [], all);
  books.rows.drafts.set(ref, { clientId, invoiceDate, lines: all, sent: lines, status: 'DRAFT' });
}

export function changeLines(books: ModelBooks, { ref, lines }: Request<'draftLines'>): void {
  const draft = found(books.rows.drafts, ref);
  if (draft.status !== 'DELETED' && JSON.stringify(lines) === JSON.stringify(draft.sent)) return;
  must(draft.status === 'DRAFT');
  const all = priced(books, lines, ref, draft.clientId);
  hold(books, ref, draft.lines, all);
  Object.assign(draft, { lines: all, sent: lines });
}

export function redateDraft({ rows }: ModelBooks, { ref, invoiceDate }: Request<'redateDraft'>): void {
  const draft = found(rows.drafts, ref);
  if (draft.status !== 'DELETED' && draft.invoiceDate === invoiceDate) return;
  must(draft.status === 'DRAFT');
  draft.invoiceDate = invoiceDate;
}

export function moveDraft(books: ModelBooks, { ref, to }: Request<'moveDraft'>, madeRef: () => string): void {
  const draft = found(books.rows.drafts, ref);
  if (draft.status === to) return;
  mustMove('DraftInvoiceStatus', draft.status, to, draftConditions(books, draft));
  draft.status = to;
  if (to !== 'APPROVED') return;
  const { clientId, invoiceDate, lines } = draft;
  const reliefs = lines.flatMap((line) => reliefOf(books, line));
  const invoice = {
    clientId,
    invoiceDate,
    total: totalOf(lines),
    isZero: areZero(lines),
    reliefs,
    billed: billedBy(books, lines, clientId),
  };
  postInvoice(books, madeRef(), invoice, 'POSTED');
  draft.status = 'POSTED';
}

/** The conditions of the transitions of a draft, by the requests of walks. */
export function draftConditions(books: ModelBooks, { clientId, invoiceDate, lines }: DraftRow): Conditions {
  return {
    hasLines: lines.length > 0,
    totalIsNotNegative: totalOf(lines) >= 0n,
    canCredit: true,
    feeNotExceeded: keepsFees(books, lines),
    approverIsNotAuthor: true,
    invoiceDateReached: true,
    periodIsOpen: invoiceDate >= firstOpenDay(books),
    clientIsNotArchived: books.rows.clients.get(clientId)?.status !== 'ARCHIVED',
  };
}

export function deleteDraft(books: ModelBooks, { ref }: Request<'deleteDraft'>): void {
  const draft = found(books.rows.drafts, ref);
  mustMove('DraftInvoiceStatus', draft.status, 'DELETED', draftConditions(books, draft));
  hold(books, ref, draft.lines, []);
  draft.status = 'DELETED';
}

/** Releases the rows of lines, and reserves those of others. */
function hold({ rows }: ModelBooks, draft: string, before: readonly Line[], after: readonly Line[]): void {
  for (const id of before.flatMap(({ wipIds }) => wipIds)) {
    const row = found(rows.wips, id);
    Object.assign(row, { status: isUntouched(row) ? 'OPEN' : 'PARTIALLY_BILLED', draft: null });
  }
  for (const id of after.flatMap(({ wipIds }) => wipIds))
    Object.assign(found(rows.wips, id), { status: 'IN_DRAFT', draft });
}
