import { draftInvoice, invoice, payment } from '@financial-automation/server/modules/billing';
import { wipEntry } from '@financial-automation/server/modules/time';
import {
  type Decimal,
  type Plan,
  parseDecimal,
  type Row,
  type RowInput,
  sum,
} from '@financial-automation/server/service';
import { dateText, isWeekday, startOfPeriod } from './calendar.ts';
import type { Firm } from './firm.ts';
import type { JobSeed } from './jobs.ts';
import { inTurn } from './names.ts';
import { creditReasons, writeOffReasons } from './practice.ts';
import { Random } from './random.ts';
import { idOf, type Step, stepsFor } from './step.ts';

/** A draft for the work of a job, and what becomes of it. */
interface Bill {
  readonly index: number;
  readonly id: string;
  readonly job: JobSeed;
  readonly day: number;
  /** The last day of the work that it bills. */
  readonly through: number;
  /** A part of a fixed fee, which bills no work. */
  readonly isAdvance: boolean;
  /** What is billed of the standard value of time without a fee, in percent. */
  readonly percent: number;
  readonly status: 'DRAFT' | 'IN_REVIEW' | 'REJECTED' | 'POSTED';
  readonly outcome: 'VOIDED' | 'WRITTEN_OFF' | 'CREDITED' | 'OPEN' | 'PAID';
  /** The day of the last payment. */
  readonly paidOn: number;
  readonly method: (typeof methods)[number][0];
}

type Line = NonNullable<RowInput<'DraftInvoice'>['lines']>[number];

const methods = [
  ['ACH', 38],
  ['CHECK', 34],
  ['CARD', 20],
  ['WIRE', 4],
  ['OTHER', 4],
] as const;
/** Number of drafts of a step. */
const draftsOfStep = 20;
/** The share of a fixed fee that is billed in advance, in percent. */
const advancePercent = 40;

/** Steps that bill the work of every job, period by period, and record what clients pay. */
export function* billingSteps(firm: Firm): Generator<Step> {
  const bills = createBills(firm);
  for (let start = 0; start < bills.length; start += draftsOfStep) {
    const some = bills.slice(start, start + draftsOfStep);
    yield* stepsFor('upsertRecords', some, planDraft);
    yield* postSteps(some.map(({ id, status }) => ({ id, status })));
    yield* paymentSteps(
      some.filter(({ outcome }) => outcome === 'PAID' || outcome === 'OPEN'),
      firm,
    );
    yield* stepsFor('upsertRecords', some, (plan, bill) => planLoss(plan, bill, firm));
  }
  const credited = bills.filter(({ outcome }) => outcome === 'CREDITED');
  yield* stepsFor('upsertRecords', credited, planCreditNote);
  yield* postSteps(credited.map((bill) => ({ id: noteId(bill), status: 'POSTED' })));
  yield* stepsFor('upsertRecords', credited, applyCredit);
  yield* paymentSteps(credited, firm);
}

/** Creates the bills of all jobs in the order of their days, because numbers of invoices are. */
function createBills({ span: { today }, jobs }: Firm): Bill[] {
  const random = new Random(5);
  const due = jobs
    .filter(({ status, start }) => status !== 'CANCELLED' && start < today)
    .flatMap((job) => daysOf(random, job))
    .filter(({ day }) => day < today + 20)
    .sort((one, other) => one.day - other.day || one.job.index - other.job.index);
  let drafts = 0;
  return due.map(({ job, day: due, through, isAdvance }, index) => {
    const isPosted = due < today;
    const day = Math.min(due, today);
    const median = 27 * (0.4 + (0.6 * job.client.paymentTermsDays) / 30);
    const paidOn = day + Math.max(1, Math.min(220, Math.round(random.logNormal(median, 0.8))));
    const isBad = random.chance(0.01) || index === 37;
    const outcome =
      index % 25 === 5 && job.status !== 'CLOSED' && !isAdvance
        ? 'VOIDED'
        : isBad && day < today - 150
          ? 'WRITTEN_OFF'
          : index % 40 === 11
            ? 'CREDITED'
            : paidOn < today
              ? 'PAID'
              : 'OPEN';
    return {
      index,
      id: idOf('draft', index),
      job,
      day,
      through: Math.min(through, day),
      isAdvance,
      percent: random.between(72, 100),
      status: isPosted ? 'POSTED' : inTurn(['DRAFT', 'IN_REVIEW', 'REJECTED'], drafts++),
      outcome,
      paidOn: Math.min(paidOn, today - 1),
      method: random.weighted(methods),
    };
  });
}

/** Returns the days on which a job is billed: after each month or quarter, or after its end; a part of most fixed fees in advance. */
function daysOf(random: Random, job: JobSeed): Pick<Bill, 'job' | 'day' | 'through' | 'isAdvance'>[] {
  const { billingType, hours, kind, start, workStart, end } = job;
  const at = (through: number, wait: number, isAdvance = false) => {
    let day = through + wait;
    while (!isWeekday(day)) day++;
    return { job, day, through, isAdvance };
  };
  const isPeriodic = billingType === 'RECURRING' || (billingType !== 'FIXED_FEE' && hours > 60 && end - workStart > 45);
  if (!isPeriodic) {
    const last = at(end, random.between(5, 22));
    return billingType === 'FIXED_FEE' && job.index % 3 !== 0 ? [at(start + 5, 2, true), last] : [last];
  }
  const months = kind.schedule === 'QUARTERLY' ? 3 : 1;
  const days = [];
  for (let period = startOfPeriod(workStart, months); period <= end; period = startOfPeriod(period, months, 1)) {
    const next = startOfPeriod(period, months, 1);
    days.push(at(next - 1, billingType === 'RECURRING' ? random.between(1, 4) : random.between(5, 22)));
  }
  return days;
}

const money = (amount: Decimal) => amount.toFixed(2);

/** Plans a draft with a line for each kind of work; some have a charge, others a discount. Without work or a fee there is none. */
function planDraft(plan: Plan, bill: Bill): void {
  const { id, index, job, day, through, isAdvance } = bill;
  const all = plan.all(wipEntry, 'jobId', job.id);
  const open = isAdvance ? [] : all.filter((row) => row.status === 'OPEN' && row.workDate <= dateText(through));
  const dropped = index % 17 === 3 && open.length > 3 ? open.findLast(({ wipType }) => wipType === 'TIME') : undefined;
  const rows = open.filter((row) => row !== dropped);
  const lines = linesOf(bill, rows);
  if (lines.length === 0) return;
  // Some work is not worth billing.
  if (dropped !== undefined)
    plan.update(wipEntry, dropped.id, {
      writeOffAmount: money(dropped.amount),
      writeOffReason: inTurn(writeOffReasons, index),
      changeDate: dateText(day),
    });
  const dates = { billThroughDate: dateText(day), proposedInvoiceDate: dateText(day) };
  const dueDate = dateText(day + job.client.paymentTermsDays);
  plan.create(draftInvoice, { clientId: job.client.id, ...dates, dueDate, lines }, { id });
}

function linesOf({ index, job, isAdvance, percent }: Bill, rows: readonly Row<'WipEntry'>[]): Line[] {
  const ofKind = (kind: string) => rows.filter(({ wipType }) => wipType === kind);
  const standard = (some: readonly Row<'WipEntry'>[]) => sum(some.map(({ amount }) => amount));
  const line = (
    lineType: Line['lineType'],
    description: string,
    amount: Decimal,
    some: readonly Row<'WipEntry'>[] = [],
  ): Line => ({
    lineType,
    description: `${job.name}: ${description}`,
    jobId: job.id,
    quantity: '1',
    unitAmount: money(amount),
    wipIds: some.map(({ id }) => id),
    ...(some.length > 0 && { relief: 'FULL' }),
    taxable: lineType !== 'DISCOUNT' && job.client.isTaxed,
  });
  const [time, expenses] = [ofKind('TIME'), ofKind('EXPENSE')];
  const part = (amount: Decimal, of: number) => amount.times(String(of)).div('100');
  const lines: Line[] = [];
  if (job.fee !== undefined && (time.length > 0 || isAdvance || job.team.length === 0)) {
    const fee = parseDecimal(String(job.fee));
    const hasAdvance = job.billingType === 'FIXED_FEE' && job.index % 3 !== 0;
    const amount = !hasAdvance ? fee : part(fee, isAdvance ? advancePercent : 100 - advancePercent);
    lines.push(line('FIXED_FEE', isAdvance ? 'fee in advance' : 'agreed fee', amount, time));
  } else if (time.length > 0) lines.push(line('TIME', 'services', part(standard(time), percent), time));
  if (expenses.length > 0) lines.push(line('EXPENSE', 'expenses', standard(expenses), expenses));
  if (lines.length === 0) return [];
  if (index % 10 === 4) lines.push({ ...line('OTHER', 'filing fee', parseDecimal('75')), wipIds: [] });
  if (index % 12 === 7) lines.push(line('DISCOUNT', 'courtesy discount', parseDecimal('-25')));
  return lines;
}

/** Steps that review drafts, and approve or reject them. Drafts that were not created are skipped. */
function* postSteps(drafts: readonly Pick<Bill, 'id' | 'status'>[]): Generator<Step> {
  const move = (plan: Plan, id: string, fields: RowInput<'DraftInvoice'>) => {
    if (plan.get(draftInvoice, id) !== undefined) plan.update(draftInvoice, id, fields);
  };
  const reviewed = drafts.filter(({ status }) => status !== 'DRAFT');
  yield* stepsFor('upsertRecords', reviewed, (plan, { id }) => move(plan, id, { status: 'IN_REVIEW' }));
  const decided = reviewed.filter(({ status }) => status !== 'IN_REVIEW');
  const rejected = { status: 'REJECTED', rejectionReason: 'Split the work by month.' } as const;
  yield* stepsFor('upsertRecords', decided, (plan, { id, status }) =>
    move(plan, id, status === 'POSTED' ? { status: 'APPROVED' } : rejected),
  );
}

/** The invoice of a draft, if it was posted. */
function invoiceOf(plan: Plan, draftId: string): Row<'Invoice'> | undefined {
  const invoiceId = plan.get(draftInvoice, draftId)?.invoiceId;
  return invoiceId == null ? undefined : plan.get(invoice, invoiceId);
}

const cards = [
  { cardBrand: 'Visa', last4: '4242' },
  { cardBrand: 'Mastercard', last4: '4444' },
  { cardBrand: 'American Express', last4: '0005' },
];

/** Steps that record what clients pay, most of it in full. A part of the debits fails, and a few payments are taken back. */
function* paymentSteps(bills: readonly Bill[], { span: { today } }: Firm): Generator<Step> {
  yield* stepsFor('upsertRecords', bills, (plan, bill) => {
    const { index, id, day, paidOn, method, outcome } = bill;
    const posted = invoiceOf(plan, id);
    if (posted === undefined || !posted.amountDue.gt('0')) return;
    const share = outcome !== 'OPEN' ? '1' : index % 4 === 0 ? '0.25' : fateOf(bill) === undefined ? '0' : '1';
    const amount = money(posted.amountDue.times(share));
    if (share === '0') return;
    const card = method === 'CARD' ? inTurn(cards, index) : {};
    const check = method === 'CHECK' ? { checkNumber: String(20_000 + index) } : {};
    const paymentDate = dateText(outcome === 'OPEN' ? Math.min(day + 20, today - 1) : paidOn);
    const fields = { clientId: posted.clientId, currency: posted.currency, method, ...card, ...check };
    const allocations = [{ invoiceId: posted.id, amount }];
    const paid = { source: 'MANUAL', amount, paymentDate, allocations } as const;
    plan.create(payment, { ...fields, ...paid }, { id: idOf('payment', index) });
  });
  yield* stepsFor('upsertRecords', bills, (plan, { index, outcome }) => {
    const id = idOf('payment', index);
    if (plan.get(payment, id)?.status !== 'PENDING') return;
    // A debit is under way for some days.
    if (outcome === 'OPEN' && index % 3 === 0) return;
    plan.update(payment, id, { status: outcome === 'OPEN' && index % 3 === 1 ? 'FAILED' : 'COMPLETED' });
  });
  yield* stepsFor('upsertRecords', bills, (plan, bill) => {
    const id = idOf('payment', bill.index);
    const row = plan.get(payment, id);
    const fate = fateOf(bill);
    if (row?.status !== 'COMPLETED' || fate === undefined) return;
    if (fate === 'REFUNDED') plan.update(payment, id, { refundedAmount: money(row.amount) });
    else plan.update(payment, id, { status: fate, changeReason: 'The bank returned it.' });
  });
}

/** What becomes of a payment after which an invoice is open again. */
function fateOf({ index, outcome }: Bill): 'RETURNED' | 'REFUNDED' | undefined {
  return outcome !== 'OPEN' ? undefined : index % 4 === 1 ? 'RETURNED' : index % 16 === 2 ? 'REFUNDED' : undefined;
}

/** Plans the void or the write-off of an invoice. */
function planLoss(plan: Plan, { id, outcome, day }: Bill, { span: { today } }: Firm): void {
  if (outcome !== 'VOIDED' && outcome !== 'WRITTEN_OFF') return;
  const posted = invoiceOf(plan, id);
  if (posted?.status !== 'POSTED') return;
  const isVoided = outcome === 'VOIDED';
  const reason = isVoided
    ? { voidReason: 'Billed at the wrong rate.' }
    : { writeOffReason: 'The client is insolvent.' };
  const changeDate = dateText(isVoided ? Math.min(day + 2, today) : day + 150);
  plan.update(invoice, posted.id, { status: outcome, ...reason, changeDate });
}

const noteId = ({ index }: Bill) => idOf('draft', 10_000 + index);

/** Plans the draft of a credit note for a tenth of an invoice. */
function planCreditNote(plan: Plan, bill: Bill): void {
  const credited = invoiceOf(plan, bill.id);
  if (credited === undefined) return;
  const day = dateText(bill.day);
  const [description, unitAmount] = [inTurn(creditReasons, bill.index), money(credited.total.div('-10'))];
  const plain = { quantity: '1', taxable: false, jobId: bill.job.id, wipIds: [] };
  const lines = [{ lineType: 'DISCOUNT' as const, description, unitAmount, ...plain }];
  const dates = { billThroughDate: day, proposedInvoiceDate: day, dueDate: day };
  const fields = { clientId: credited.clientId, creditedInvoiceId: credited.id, ...dates, lines };
  plan.create(draftInvoice, fields, { id: noteId(bill) });
}

/** Plans that the credit of a credit note covers its invoice; some are not applied yet. */
function applyCredit(plan: Plan, bill: Bill): void {
  const [credited, note] = [invoiceOf(plan, bill.id), invoiceOf(plan, noteId(bill))];
  if (credited === undefined || note === undefined || bill.index % 3 === 1) return;
  const credit = plan.find(payment, 'creditNoteId', note.id);
  if (credit === undefined) return;
  const allocations = [{ invoiceId: credited.id, amount: money(credit.amount) }];
  plan.update(payment, credit.id, { allocations });
}
