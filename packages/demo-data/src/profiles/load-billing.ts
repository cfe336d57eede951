import { sql } from 'kysely';
import { type Bill, type Billed, createBills, sharesOf, type WriteOff } from './bills.ts';
import { dateText, instantAt, instantText, yearOf } from './calendar.ts';
import { saveCounters } from './counters.ts';
import type { Firm } from './firm.ts';
import type { JobSeed } from './jobs.ts';
import { createPayments, type LinkSeed, type Outcome, type PaymentSeed } from './money.ts';
import type { ClientSeed } from './parties.ts';
import { disputeMemos } from './practice.ts';
import { rowId } from './row-id.ts';
import type { EntityRow, Loader, Row } from './table-loader.ts';
import type { Work } from './time.ts';

/** What all bills have in common. */
interface Books {
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
  const { firm, clients, work, notes, apiUserId } = books;
  const paymentOfLink = new Map(payments.map((payment) => [payment.link, payment]));
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

  await loader.entities(
    'quick_payment_link',
    links.map(({ id, token, tokenHash, bill, day, status, number }): EntityRow => {
      const paid = status === 'USED' ? paymentOfLink.get(number) : undefined;
      return {
        id,
        createdAt: instantAt(day, 17) + number,
        url: `https://api.financial-automation.example/pay/${token}`,
        token_hash: tokenHash,
        client_id: clients[bill.client]?.id ?? '',
        amount: money(bill.total),
        currency: 'USD',
        note: 'Thank you for your prompt payment.',
        status,
        active: status !== 'CANCELLED',
        expires_at: instantText(instantAt(day + 30, 17)),
        created_by_api_user_id: apiUserId,
        payment_id: paid?.id ?? null,
        used_at: paid === undefined ? null : instantText(instantAt(paid.day, 19)),
      };
    }),
  );
  await loader.rows(
    'quick_payment_link_invoice',
    links.map(({ id, bill }) => ({
      quick_payment_link_id: id,
      position: 0,
      invoice_id: bill.invoiceId ?? '',
      amount_due_at_creation: money(bill.total),
    })),
  );
  await loader.entities(
    'payment',
    payments.map(({ id, index, bill, day, amount, method, status, link, year, number, credit }): EntityRow => {
      const ref = `PAY-${year}-${String(number).padStart(5, '0')}`;
      const [at, isSettled] = [instantAt(day, 19) + (index % 100_000), status !== 'PENDING' && status !== 'FAILED'];
      const isCard = method === 'CARD';
      return {
        id,
        createdAt: at,
        payment_number: ref,
        pms_ref: ref,
        client_id: clients[bill.client]?.id ?? '',
        payment_date: dateText(day),
        amount: money(amount),
        currency: 'USD',
        method,
        status,
        source: credit !== undefined ? 'CREDIT_NOTE' : link === undefined ? 'MANUAL' : 'QUICK_PAYMENT_LINK',
        quick_payment_link_id: books.links[link ?? -1]?.id ?? null,
        processor: isCard ? 'sandbox' : null,
        processor_ref: isCard ? `sbx_${index}` : null,
        card_brand: isCard ? 'Visa' : null,
        last4: isCard ? '4242' : null,
        fee_amount: isCard ? money(Math.floor(amount * 0.029)) : '0.00',
        refunded_amount: status === 'REFUNDED' ? money(amount) : '0.00',
        failure_code: status === 'FAILED' ? 'R01' : null,
        failure_message: status === 'FAILED' ? 'Insufficient funds' : null,
        settled_at: isSettled ? instantText(at) : null,
        returned_at: status === 'RETURNED' ? instantText(at + 86_400_000) : null,
        refunded_at: status === 'REFUNDED' ? instantText(at + 86_400_000) : null,
        check_number: method === 'CHECK' ? String(20_000 + index) : null,
        credit_note_id: credit === undefined ? null : (notes.get(bill)?.invoiceId ?? null),
        unapplied_amount: money(credit === 'unapplied' ? amount : 0),
      };
    }),
  );
  await loader.rows(
    'payment_allocation',
    payments.flatMap(({ id, index, bill, amount, status, day, credit }) =>
      credit !== 'unapplied' && (status === 'COMPLETED' || status === 'PENDING')
        ? [
            {
              payment_id: id,
              position: 0,
              invoice_id: bill.invoiceId ?? '',
              amount: money(amount),
              allocated_at: status === 'PENDING' ? null : instantText(instantAt(day, 19) + (index % 100_000)),
            },
          ]
        : [],
    ),
  );
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

function money(cents: number): string {
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
function instantsOf({ day, number }: Bill) {
  const at = instantAt(day, 16) + (number % 100_000);
  return { createdAt: at, submittedAt: at + 1_800_000, decidedAt: at + 7_200_000 };
}

function* draftRows(bills: readonly Bill[], clients: readonly ClientSeed[], firm: Firm): Generator<EntityRow> {
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
function lineId(kind: number, { number, day }: Bill, position: number): string {
  return rowId(kind, number * 1000 + position, instantAt(day, 16));
}

function* lineRows(
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

function* invoiceRows(
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

function* wipRows(
  { work, billed, writtenOff, clients, jobs, firm }: Books,
  rows: readonly number[],
): Generator<EntityRow> {
  for (const index of rows) {
    const id = work.ids[index] ?? '';
    const job = jobs[work.jobs[index] ?? 0];
    if (job === undefined) throw new Error('The work has no job.');
    const [day, amount, rate, hours] = [
      work.days[index] ?? 0,
      work.amounts[index] ?? 0,
      work.rates[index] ?? 0,
      work.hours[index] ?? 0,
    ];
    const on = billed.get(index);
    const isBilled = on?.bill.invoiceId !== undefined;
    const taken = isBilled ? on.billed : 0;
    const postedAt = instantAt(day, 20) + (index % 100_000);
    const kind = work.kinds[index] ?? 'TIME';
    const isTime = kind === 'TIME';
    const person = work.people[index];
    const off = writtenOff.get(index);
    const isWrittenDown = isBilled && taken < amount;
    yield {
      id,
      createdAt: postedAt,
      wip_type: kind,
      client_id: clients[job.client]?.id ?? '',
      job_id: job.id,
      staff_id: person === undefined ? null : (firm.people[person]?.id ?? null),
      task_id: null,
      code: work.codes[index] ?? null,
      work_date: dateText(day),
      hours: isTime ? (hours / 100).toFixed(2) : null,
      billing_rate: isTime ? money(rate) : null,
      amount: money(amount),
      time_entry_id: isTime ? (work.entryIds[index] ?? null) : null,
      expense_entry_id: kind === 'EXPENSE' ? (work.entryIds[index] ?? null) : null,
      status: off !== undefined ? 'WRITTEN_OFF' : on === undefined ? 'OPEN' : isBilled ? 'BILLED' : 'IN_DRAFT',
      currency: 'USD',
      billed_amount: money(taken),
      write_up_amount: money(isBilled ? Math.max(0, taken - amount) : 0),
      write_off_amount: money(off !== undefined ? amount : isWrittenDown ? amount - taken : 0),
      draft_invoice_id: on?.bill.draftId ?? null,
      invoice_id: on?.bill.invoiceId ?? null,
      posted_at: instantText(postedAt),
      billed_at: isBilled ? instantText(instantsOf(on.bill).decidedAt) : null,
      write_off_reason: off?.reason ?? (isWrittenDown ? (on.bill.writeDownReason ?? null) : null),
      updated_at: instantText(off === undefined ? postedAt : instantAt(off.day, 18)),
    };
  }
}

function* lineWorkRows(bills: readonly Bill[], kind: number, work: Work): Generator<Row> {
  for (const bill of bills)
    for (const [position, line] of bill.lines.entries())
      for (const [place, index] of line.work.entries())
        yield { line_id: lineId(kind, bill, position), position: place, wip_entry_id: work.ids[index] ?? '' };
}

function* reliefRows(bills: readonly Bill[], work: Work): Generator<Row> {
  for (const bill of bills)
    for (const line of bill.lines)
      for (const [index, taken] of sharesOf(work, line)) {
        const amount = work.amounts[index] ?? 0;
        yield {
          invoice_id: bill.invoiceId ?? '',
          wip_entry_id: work.ids[index] ?? '',
          billed: money(taken),
          write_up: money(Math.max(0, taken - amount)),
          write_off: money(Math.max(0, amount - taken)),
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

function* historyRows(bills: readonly Bill[], clients: readonly ClientSeed[], firm: Firm): Generator<EntityRow> {
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
