import type { BooksRequest } from '../requests.ts';
import { billedFeeOf, billedOf, hasOpenWork, isSettled } from './balances.ts';
import { type Conditions, mustMove } from './machine.ts';
import { found, type ModelBooks, must } from './rows.ts';
import { hasUnapproved } from './time.ts';

type Request<Kind extends BooksRequest['kind']> = BooksRequest & { readonly kind: Kind };

export function moveJob(books: ModelBooks, { ref, to }: Request<'moveJob'>): void {
  const job = found(books.rows.jobs, ref);
  if (job.status === to) return;
  mustMove('JobStatus', job.status, to, jobConditions(books, ref));
  job.status = to;
}

export function jobConditions(books: ModelBooks, jobId: string): Conditions {
  const billedAmount = billedOf(books, jobId).reduce((sum, { billed }) => sum + billed, 0n);
  const work = [...books.rows.wips.values()].filter((row) => row.jobId === jobId);
  return {
    reviewIsAutomatic: false,
    // Walks complete no task.
    noOpenTasks: !books.firm.taskOfJob.has(jobId),
    noUnapprovedEntries: !hasUnapproved(books, jobId),
    noOpenWip: !hasOpenWork(books, jobId),
    nothingBilled: billedAmount === 0n && billedFeeOf(books, jobId) === 0n && work.every((row) => row.billed === 0n),
  };
}

export function moveClient(books: ModelBooks, { ref, to }: Request<'moveClient'>): void {
  const client = found(books.rows.clients, ref);
  if (client.status === to) return;
  mustMove('ClientStatus', client.status, to, clientConditions(books, ref));
  client.status = to;
}

export function changeCurrency(books: ModelBooks, { ref, currency }: Request<'currency'>): void {
  const client = found(books.rows.clients, ref);
  if (client.currency === currency) return;
  must(!hasDocuments(books, ref));
  client.currency = currency;
}

/** Whether a client has a document, which fixes its currency, even one that is deleted or reversed. */
export function hasDocuments({ rows }: ModelBooks, clientId: string): boolean {
  const documents = [rows.wips, rows.drafts, rows.invoices, rows.payments];
  return documents.some((all) => [...all.values()].some((row) => row.clientId === clientId));
}

export function clientConditions(books: ModelBooks, clientId: string): Conditions {
  const { drafts, invoices, payments } = books.rows;
  const states = (rows: ReadonlyMap<string, { clientId: string | null; status: string }>) =>
    [...rows.values()].filter((row) => row.clientId === clientId).map(({ status }) => status);
  const pending = [...states(invoices), ...states(payments)].includes('PENDING');
  const drafted = states(drafts).some((status) => status !== 'POSTED' && status !== 'DELETED');
  return { isSettled: isSettled(books, clientId), nothingToSettle: !pending && !drafted };
}

/** Reopens closed jobs and archived clients to which money or work comes back. */
export function reopen(books: ModelBooks): void {
  for (const [id, job] of books.rows.jobs)
    if (job.status === 'CLOSED' && hasOpenWork(books, id)) job.status = 'COMPLETED';
  for (const [id, client] of books.rows.clients)
    if (client.status === 'ARCHIVED' && !isSettled(books, id)) client.status = 'INACTIVE';
}
