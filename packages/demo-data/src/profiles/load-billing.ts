import { sql } from 'kysely';
import { type Books, draftRows, historyRows, invoiceRows, lineRows } from './bill-rows.ts';
import { type Bill, createBills } from './bills.ts';
import { yearOf } from './calendar.ts';
import { saveCounters } from './counters.ts';
import type { Firm } from './firm.ts';
import type { JobSeed } from './jobs.ts';
import { createPayments, type LinkSeed, type PaymentSeed } from './money.ts';
import type { ClientSeed } from './parties.ts';
import { allocationRows, linkedInvoiceRows, linkRows, paymentRows } from './payment-rows.ts';
import type { Loader } from './table-loader.ts';
import type { Work } from './time.ts';
import { lineWorkRows, reliefRows, wipRows } from './wip-rows.ts';

/** Bills that are loaded together, with their work and their payments. */
interface Part {
  readonly bills: readonly Bill[];
  /** Indexes in `Work`. */
  readonly work: readonly number[];
  readonly payments: readonly PaymentSeed[];
  readonly links: readonly LinkSeed[];
}

/** Loads bills, the relieved work in progress, payments and links. */
export async function loadBilling(
  loader: Loader,
  firm: Firm,
  clients: readonly ClientSeed[],
  jobs: readonly JobSeed[],
  work: Work,
  { apiUserId, hasCreditNotes }: { readonly apiUserId: string; readonly hasCreditNotes: boolean },
): Promise<void> {
  const { bills, billed, writtenOff, payments, outcomes, links, notes } = await loader.step(async () => {
    const [firstNumbers, firstNotes] = [
      await lastNumbers(loader, firm, 'invoice'),
      await lastNumbers(loader, firm, 'credit_note'),
    ];
    const created = createBills(firm, clients, jobs, work, firstNumbers);
    const paid = createPayments(created.bills, loader.tenantId, firm.span, hasCreditNotes ? firstNotes : undefined);
    const counters = [
      ...[...created.lastNumbers].map(([year, last]) => [numberCounter(firm, 'invoice', year), last] as const),
      ...[...paid.lastNotes].map(([year, last]) => [numberCounter(firm, 'credit_note', year), last] as const),
    ];
    await saveCounters(loader, counters);
    return { ...created, ...paid };
  });
  // Also the work of voided invoices, which the next line releases.
  const worksOf = Map.groupBy(work.ids.keys(), (index) => billed.get(index)?.bill);
  for (const [index, { bill }] of billed) if (outcomes.get(bill)?.status === 'VOIDED') billed.delete(index);
  const books = { firm, clients, jobs, work, billed, writtenOff, outcomes, links, notes, apiUserId };
  const [paymentsOf, linksOf] = [Map.groupBy(payments, ({ bill }) => bill), Map.groupBy(links, ({ bill }) => bill)];
  const partOf = (some: readonly (Bill | undefined)[]): Part => ({
    // With the credit note of a bill, because its credit is allocated to the bill.
    bills: some.flatMap((bill) => [bill, bill && notes.get(bill)]).filter((bill) => bill !== undefined),
    work: some.flatMap((bill) => worksOf.get(bill) ?? []),
    payments: some.flatMap((bill) => (bill === undefined ? [] : (paymentsOf.get(bill) ?? []))),
    links: some.flatMap((bill) => (bill === undefined ? [] : (linksOf.get(bill) ?? []))),
  });
  // The last part is the work that is not billed.
  const all = [...bills, undefined];
  const size = Math.min(loader.billsOfStep, all.length);
  for (let start = 0; start < all.length; start += size) {
    await loader.step(() => loadPart(loader, books, partOf(all.slice(start, start + size))));
    // The first part has rows of all tables.
    if (start === 0) await loader.updateStatistics();
  }
  const numbers = new Map<number, number>();
  for (const { year, number } of payments) numbers.set(year, Math.max(number, numbers.get(year) ?? 0));
  await saveCounters(
    loader,
    [...numbers].map(([year, value]) => [`payment.payment_number.${year}`, value]),
  );
}

/** Names the counter of the numbers of a year. */
function numberCounter({ orgId }: Firm, document: 'invoice' | 'credit_note', year: number): string {
  return `invoice.${document}_number.${orgId}.${year}`;
}

/** Returns the last numbers of documents that the tenant has before the load, by year. */
async function lastNumbers(
  loader: Loader,
  firm: Firm,
  document: 'invoice' | 'credit_note',
): Promise<Map<number, number>> {
  const last = new Map<number, number>();
  for (let year = firm.span.firstYear; year <= yearOf(firm.span.today); year++)
    last.set(year, await loader.lastNumber(numberCounter(firm, document, year)));
  return last;
}

/** Loads drafts and their invoices. */
async function loadBills(loader: Loader, { firm, clients, outcomes }: Books, bills: readonly Bill[]): Promise<void> {
  const posted = bills.filter((bill) => bill.invoiceId !== undefined);
  await loader.entities('draft_invoice', draftRows(bills, clients, firm));
  await loader.rows(
    'draft_invoice_line',
    lineRows(bills, 52, 'draft_invoice_id', (bill) => bill.draftId),
  );
  await loader.entities('invoice', invoiceRows(posted, outcomes, clients, firm));
  await loader.rows(
    'invoice_line',
    lineRows(posted, 53, 'invoice_id', (bill) => bill.invoiceId ?? ''),
  );
}

async function loadPart(loader: Loader, books: Books, { bills, work: rows, payments, links }: Part): Promise<void> {
  const { firm, clients, work, apiUserId } = books;
  const posted = bills.filter((bill) => bill.invoiceId !== undefined);
  const [credits, others] = [bills.filter(({ credited }) => credited), bills.filter(({ credited }) => !credited)];
  await loadBills(loader, books, others);
  // They refer to the invoices that they credit.
  if (credits.length > 0) await loadBills(loader, books, credits);
  await loader.entities('wip_entry', wipRows(books, rows));
  await loader.rows('draft_invoice_line_wip', lineWorkRows(bills, 52, work));
  await loader.rows('invoice_line_wip', lineWorkRows(posted, 53, work));
  await loader.rows('wip_relief', reliefRows(posted, work));
  await loader.entities('draft_invoice_history', historyRows(bills, clients, firm));

  await loader.entities('quick_payment_link', linkRows(links, payments, clients, apiUserId));
  await loader.rows('quick_payment_link_invoice', linkedInvoiceRows(links));
  await loader.entities('payment', paymentRows(payments, books));
  await loader.rows('payment_allocation', allocationRows(payments));
  await enterBooks(loader, { posted, payments, work: rows.map((index) => work.ids[index] ?? '') });
}

/** Creates the entries of the ledger, and what the bills add to their jobs. */
async function enterBooks(
  loader: Loader,
  loaded: {
    readonly posted: readonly Bill[];
    readonly payments: readonly PaymentSeed[];
    readonly work: readonly string[];
  },
): Promise<void> {
  const { tenantId, billsOfStep } = loader;
  if (billsOfStep === Number.POSITIVE_INFINITY) {
    // What a line bills is looked up for each line. A bulk load has so many that this requires statistics, to find an index for it.
    const isBulk = !loader.keepsSums;
    if (isBulk) await loader.run(sql`analyze invoice, invoice_line, invoice_line_wip, wip_relief, wip_entry`);
    if (isBulk) await loader.run(sql`call enter_billing(${tenantId})`);
    // The other tables have no statistics of these rows yet, and with those of others the planner chooses nested loops over all of them.
    await loader.run(sql`set local enable_nestloop = off`);
    if (!isBulk) await loader.run(sql`call enter_billing(${tenantId})`);
    await loader.run(sql`call enter_books(${tenantId})`);
    await loader.run(sql`set local enable_nestloop = on`);
    return;
  }
  // In a load of many steps, each enters only its own rows.
  const invoices = loaded.posted.map(({ invoiceId }) => invoiceId ?? '');
  const payments = loaded.payments.map(({ id }) => id);
  await loader.run(sql`call enter_billing(${tenantId}, ${invoices}::uuid[])`);
  await loader.run(
    sql`call enter_books(${tenantId}, ${invoices}::uuid[], ${payments}::uuid[], ${loaded.work}::uuid[])`,
  );
}
