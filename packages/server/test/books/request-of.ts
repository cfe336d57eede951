import { schemaOf } from '../../src/contract/contract.ts';
import type { Books, BooksReader } from './books.ts';
import { cents, money, unitOf } from './cents.ts';
import { chosen, lineOf, linesOf } from './lines-of.ts';
import { type BooksRequest, currencies, type SentAllocation } from './requests.ts';
import { changeDays, closingDays, type SingleKind, type SingleStep, type Step } from './steps.ts';

/**
 * Creates the request of a step, with amounts based on the current state of its rows; undefined if no suitable row exists
 * yet.
 */
export async function requestOf(
  books: Books,
  step: SingleStep,
  reader: BooksReader = books,
): Promise<BooksRequest | undefined> {
  const { entries, wips, drafts, invoices, payments } = books.refs;
  const { kind, pick, other, percent, isAimed } = step;
  const aim = (refs: readonly string[]) => {
    const states = startsFrom[kind];
    const ready = refs.filter((ref) => states?.includes(books.statusOf.get(ref) ?? ''));
    return chosen(isAimed && ready.length > 0 ? ready : refs, pick);
  };
  const [entry, draft, invoice, payment] = [aim(entries), aim(drafts), aim(invoices), aim(payments)];
  const { firm } = books;
  const clientId = chosen(firm.clientIds, other) ?? '';
  const ofClient = firm.jobIds.filter((id) => firm.clientOfJob.get(id) === clientId);
  const changeDate = changeDays[step.day % changeDays.length] ?? null;
  const [invoiceDate, paymentDate] = [openDay(invoiceDays), openDay(paymentDays)];
  /** Aimed steps have a day of the open period. */
  function openDay(days: readonly string[]): string {
    const day = days[step.day % days.length] ?? '';
    if (!isAimed || books.closedThrough === null || day > books.closedThrough) return day;
    return Temporal.PlainDate.from(books.closedThrough).add({ days: 1 }).toString();
  }
  const jobId = chosen(ofClient, pick) ?? '';
  /** Occasionally, a currency that the client cannot have. */
  const strayCurrency = !isAimed && percent === 101 ? (currencies[other % currencies.length] ?? null) : null;
  /** The unit of amounts: that of the currency, except in some steps. */
  const unitOfPayment = (currency: string) => (isAimed && pick % 6 !== 5 ? unitOf(currency) : 1n);
  const unitFor = (owner: string | undefined) => unitOfPayment(books.currencyOf.get(owner ?? '') ?? '');
  const whole = (amount: bigint, owner: string) => money(amount - (amount % unitFor(owner)));
  switch (kind) {
    case 'time': {
      const status = pick % 3 === 0 ? 'DRAFT' : 'SUBMITTED';
      const hours = money(BigInt(10 * (1 + ((pick * 7 + other * 11) % 90))));
      const taskId = other % 2 === 0 ? (firm.taskOfJob.get(jobId) ?? null) : null;
      const work = { jobId, taskId, workDate: dayOf(pick), hours, isBillable: percent !== 71 } as const;
      return { kind, ref: books.newRef('time'), ...work, status, reverses: null };
    }
    case 'reversal': {
      if (entry === undefined) return undefined;
      const reversed = await reader.entry(entry);
      const hours = `-${money(10n * shareOf(cents(reversed.hours.replace('-', '')) / 10n, percent))}`;
      if (hours === '-0.00') return undefined;
      const { taskId, isBillable } = reversed;
      const work = { jobId: String(reversed.jobId), taskId, workDate: dayOf(other % 2 === 0 ? pick : other), hours };
      return { kind: 'time', ref: books.newRef('reversal'), ...work, isBillable, status: 'SUBMITTED', reverses: entry };
    }
    case 'hours':
      if (entry === undefined || entry.startsWith('reversal')) return undefined;
      return { kind, ref: entry, hours: money(BigInt(10 * (1 + other))) };
    case 'submitEntry':
      return entry === undefined ? undefined : { kind: 'moveEntry', ref: entry, to: 'SUBMITTED' };
    case 'approveEntry':
      return entry === undefined ? undefined : { kind: 'moveEntry', ref: entry, to: 'APPROVED' };
    case 'rejectEntry':
      return entry === undefined ? undefined : { kind: 'moveEntry', ref: entry, to: 'REJECTED' };
    case 'redraftEntry':
      return entry === undefined ? undefined : { kind: 'moveEntry', ref: entry, to: 'DRAFT' };
    case 'removeEntry':
      return entry === undefined ? undefined : { kind, ref: entry };
    case 'wip': {
      const wipType = (['FIXED_FEE', 'PROGRESS', 'ADJUSTMENT'] as const)[pick % 3] ?? 'FIXED_FEE';
      const amount = BigInt(pick * 1337 + percent) * (percent === 40 ? -1n : 1n);
      return {
        kind,
        ref: books.newRef('wip'),
        jobId,
        wipType,
        workDate: dayOf(other),
        amount: whole(amount, clientId),
      };
    }
    case 'workQuietly': {
      const work = { jobId: firm.quietJobId, wipType: 'PROGRESS', workDate: dayOf(other) } as const;
      const amount = whole(BigInt(pick * 1337), firm.quietClientId);
      return { kind: 'wip', ref: books.newRef('wip'), ...work, amount };
    }
    case 'writeOffWip': {
      const ref = aim(wips);
      if (ref === undefined) return undefined;
      const row = await reader.wip(ref);
      const before = cents(row.writeOffAmount);
      const amount = before + shareOf(cents(row.outstandingAmount), percent, unitFor(books.clientOfWip.get(ref)));
      return { kind, ref, amount: money(amount), hasReason: isLarger(amount, before), changeDate };
    }
    case 'undoWipWriteOff': {
      const ref = aim(wips);
      if (ref === undefined) return undefined;
      const before = cents((await reader.wip(ref)).writeOffAmount);
      const amount = before - shareOf(before, percent, unitFor(books.clientOfWip.get(ref)));
      const hasReason = isLarger(amount, before);
      return { kind: 'writeOffWip', ref, amount: money(amount), hasReason, changeDate };
    }
    case 'draft': {
      const lines = await linesOf(books, step, clientId, reader);
      return { kind, ref: books.newRef('draft'), clientId, currency: strayCurrency, invoiceDate, lines };
    }
    case 'draftLines': {
      if (draft === undefined) return undefined;
      const { clientId: owner } = await reader.draft(draft);
      return { kind, ref: draft, lines: await linesOf(books, step, owner, reader) };
    }
    case 'reviewDraft':
      return draft === undefined ? undefined : { kind: 'moveDraft', ref: draft, to: 'IN_REVIEW' };
    case 'approveDraft':
      return draft === undefined ? undefined : { kind: 'moveDraft', ref: draft, to: 'APPROVED' };
    case 'rejectDraft':
      return draft === undefined ? undefined : { kind: 'moveDraft', ref: draft, to: 'REJECTED' };
    case 'redraftDraft':
      return draft === undefined ? undefined : { kind: 'moveDraft', ref: draft, to: 'DRAFT' };
    case 'deleteDraft':
      return draft === undefined ? undefined : { kind, ref: draft };
    case 'import': {
      const status = pick % 4 === 0 ? 'PENDING' : 'POSTED';
      const lines = (await linesOf(books, step, clientId, reader)).map((line) => ({ ...line, wipIds: [] }));
      const imported = { clientId, currency: strayCurrency, invoiceDate, status } as const;
      return { kind, ref: books.newRef('invoice'), ...imported, lines };
    }
    case 'postInvoice':
      return invoice === undefined ? undefined : { kind: 'moveInvoice', ref: invoice, to: 'POSTED', changeDate };
    case 'voidInvoice':
      return invoice === undefined ? undefined : { kind: 'moveInvoice', ref: invoice, to: 'VOIDED', changeDate };
    case 'writeOffInvoice':
      return invoice === undefined ? undefined : { kind: 'moveInvoice', ref: invoice, to: 'WRITTEN_OFF', changeDate };
    case 'settleInvoice':
      return invoice === undefined ? undefined : { kind: 'moveInvoice', ref: invoice, to: 'PAID', changeDate };
    case 'reinstateInvoice': {
      if (invoice === undefined) return undefined;
      const { amountPaid, amountCredited } = await reader.invoice(invoice);
      const isCovered = cents(amountPaid) + cents(amountCredited) > 0n;
      return { kind: 'moveInvoice', ref: invoice, to: isCovered ? 'PARTIALLY_PAID' : 'POSTED', changeDate };
    }
    case 'importQuietly': {
      const line = { quantity: '1', taxRatePercent: null, relief: 'FULL', exceedsFee: false } as const;
      const lines = [lineOf('OTHER', [], { ...line, jobId: null, unitAmount: String(10 + pick) })];
      const status = other % 4 === 0 ? 'PENDING' : 'POSTED';
      const quiet = { clientId: firm.quietClientId, currency: null, invoiceDate, status } as const;
      return { kind: 'import', ref: books.newRef('invoice'), ...quiet, lines };
    }
    case 'archiveQuietly':
      return { kind: 'moveClient', ref: firm.quietClientId, to: 'ARCHIVED' };
    case 'advanceQuietJob':
      return { kind: 'moveJob', ref: firm.quietJobId, to: nextStatus(books.statusOf.get(firm.quietJobId)) };
    case 'holdQuietJob':
      return { kind: 'moveJob', ref: firm.quietJobId, to: 'ON_HOLD' };
    case 'moveJob': {
      const ref = chosen([...firm.jobIds, firm.quietJobId], pick) ?? '';
      const status = books.statusOf.get(ref);
      const next = status === 'IN_PROGRESS' && percent === 71 ? 'ON_HOLD' : nextStatus(status);
      return { kind, ref, to: isAimed ? next : (chosen(jobStatuses, other) ?? '') };
    }
    case 'moveClient': {
      const ref = chosen([...firm.clientIds, firm.quietClientId], pick) ?? '';
      return { kind, ref, to: chosen(clientStatuses, other) ?? '' };
    }
    case 'currency': {
      const ref = chosen([...firm.clientIds, firm.quietClientId], pick) ?? '';
      return { kind, ref, currency: currencies[other % currencies.length] ?? 'USD' };
    }
    case 'close':
      return { kind, ref: firm.orgRef, day: closingDays[step.day % closingDays.length] ?? null };
    case 'redateDraft':
      return draft === undefined ? undefined : { kind, ref: draft, invoiceDate };
    case 'pay': {
      const { allocations, owner } = await sharesOf(books, step, reader);
      const payer = isAimed && owner !== undefined ? owner : clientId;
      const currency = strayCurrency ?? books.currencyOf.get(payer) ?? 'USD';
      const amount = whole(sumOf(allocations) + BigInt(other % 3 === 0 ? 0 : other * 100 + 1), payer);
      if (amount === '0.00') return undefined;
      const paid = { clientId: payer, currency, method: step.method, paymentDate, amount };
      return { kind, ref: books.newRef('payment'), ...paid, allocations };
    }
    case 'receive': {
      const currency = currencies[pick % currencies.length] ?? 'USD';
      const amount = money(BigInt(other + 1) * 100n * unitOf(currency));
      const method = step.method === 'CREDIT' && isAimed ? 'CHECK' : step.method;
      const paid = { clientId: null, currency, method, paymentDate, amount, allocations: [] } as const;
      return { kind: 'pay', ref: books.newRef('payment'), ...paid };
    }
    case 'identify': {
      const unknown = payments.filter((ref) => books.unidentified.has(ref));
      const ref = chosen(isAimed && unknown.length > 0 ? unknown : payments, pick);
      if (ref === undefined) return undefined;
      const currency = (await reader.payment(ref)).currency;
      const fitting = isAimed ? firm.clientIds.filter((id) => books.currencyOf.get(id) === currency) : [];
      return { kind, ref, clientId: chosen(fitting.length > 0 ? fitting : firm.clientIds, other) ?? '', changeDate };
    }
    case 'completePayment':
      return payment === undefined ? undefined : { kind: 'movePayment', ref: payment, to: 'COMPLETED', changeDate };
    case 'failPayment':
      return payment === undefined ? undefined : { kind: 'movePayment', ref: payment, to: 'FAILED', changeDate };
    case 'voidPayment':
      return payment === undefined ? undefined : { kind: 'movePayment', ref: payment, to: 'VOIDED', changeDate };
    case 'returnPayment':
      return payment === undefined || (await reader.payment(payment)).method === 'CREDIT'
        ? undefined
        : { kind: 'reportPayment', ref: payment, to: 'RETURNED' };
    case 'bouncePayment':
      return payment === undefined ? undefined : { kind: 'movePayment', ref: payment, to: 'RETURNED', changeDate };
    case 'unapply': {
      if (payment === undefined) return undefined;
      const { allocations, currency } = await reader.payment(payment);
      const sent = allocations.map(({ invoiceId, amount }) => ({ invoiceId: books.refOf(invoiceId), amount }));
      const chosenOne = chosen(sent, other);
      if (chosenOne === undefined) return undefined;
      const left = cents(chosenOne.amount) - shareOf(cents(chosenOne.amount), percent, unitOfPayment(currency));
      const kept = sent.flatMap((one) => {
        if (one !== chosenOne) return [one];
        return left > 0n ? [{ invoiceId: one.invoiceId, amount: money(left) }] : [];
      });
      return { kind: 'allocate', ref: payment, allocations: kept, changeDate };
    }
    case 'refund': {
      if (payment === undefined) return undefined;
      const { amount, refundedAmount, currency } = await reader.payment(payment);
      const left = cents(amount) - cents(refundedAmount);
      const all = cents(refundedAmount) + shareOf(left, percent, unitOfPayment(currency));
      return { kind, ref: payment, refundedAmount: money(all), changeDate };
    }
    case 'allocate': {
      if (payment === undefined) return undefined;
      const { allocations, unappliedAmount, currency } = await reader.payment(payment);
      const kept = allocations.map(({ invoiceId, amount }) => ({ invoiceId: books.refOf(invoiceId), amount }));
      const [added] = (await sharesOf(books, { ...step, pick: other }, reader)).allocations;
      if (added === undefined) return { kind, ref: payment, allocations: kept, changeDate };
      const amount: bigint = cents(added.amount);
      const free: bigint = shareOf(cents(unappliedAmount), percent, unitOfPayment(currency));
      const more = amount < free ? amount : free;
      if (more === 0n) return undefined;
      const known = kept.find(({ invoiceId }) => invoiceId === added.invoiceId);
      const raised = { invoiceId: added.invoiceId, amount: money(cents(known?.amount ?? '0') + more) };
      const rest = kept.filter((one) => one !== known);
      return { kind, ref: payment, allocations: [...(known === undefined ? kept : rest), raised], changeDate };
    }
  }
}

/** Returns shares of the amounts that one or two invoices can take, and the client of the first. */
async function sharesOf(
  books: Books,
  { pick, other, percent, isAimed, lines }: Step,
  reader: BooksReader,
): Promise<{ readonly allocations: SentAllocation[]; readonly owner: string | undefined }> {
  const refs = new Set([
    chosen(books.refs.invoices, pick),
    lines.length > 1 ? chosen(books.refs.invoices, other) : undefined,
  ]);
  const allocations: SentAllocation[] = [];
  let owner: string | undefined;
  for (const ref of refs) {
    if (ref === undefined) continue;
    const { clientId, amountDue, amountPending } = await reader.invoice(ref);
    owner ??= clientId;
    const unit = isAimed ? unitOf(books.currencyOf.get(clientId) ?? '') : 1n;
    const amount = shareOf(cents(amountDue) - cents(amountPending), percent, unit);
    if (amount > 0n) allocations.push({ invoiceId: ref, amount: money(amount) });
  }
  return { allocations, owner };
}

/** Returns a share of a total, in whole units; more than 100 percent is one unit more. */
function shareOf(whole: bigint, percent: number, unit = 1n): bigint {
  if (percent > 100) return whole < 0n ? whole - unit : whole + unit;
  return ((whole * BigInt(percent)) / 100n / unit) * unit;
}

function isLarger(one: bigint, other: bigint): boolean {
  return (one < 0n ? -one : one) > (other < 0n ? -other : other);
}

/** The states in which a step is possible. */
const startsFrom: Readonly<Partial<Record<SingleKind, readonly string[]>>> = {
  reversal: ['APPROVED'],
  hours: ['DRAFT', 'SUBMITTED', 'REJECTED'],
  submitEntry: ['DRAFT'],
  approveEntry: ['SUBMITTED'],
  rejectEntry: ['SUBMITTED'],
  redraftEntry: ['APPROVED', 'REJECTED'],
  removeEntry: ['DRAFT', 'REJECTED'],
  writeOffWip: ['OPEN'],
  draftLines: ['DRAFT'],
  reviewDraft: ['DRAFT'],
  approveDraft: ['IN_REVIEW'],
  rejectDraft: ['IN_REVIEW'],
  redraftDraft: ['REJECTED'],
  redateDraft: ['DRAFT'],
  deleteDraft: ['DRAFT', 'REJECTED'],
  postInvoice: ['PENDING'],
  voidInvoice: ['POSTED', 'PAID'],
  writeOffInvoice: ['POSTED'],
  settleInvoice: ['POSTED', 'PARTIALLY_PAID'],
  undoWipWriteOff: ['WRITTEN_OFF'],
  reinstateInvoice: ['PAID', 'WRITTEN_OFF'],
  completePayment: ['PENDING', 'FAILED'],
  failPayment: ['PENDING'],
  voidPayment: ['COMPLETED', 'PARTIALLY_REFUNDED'],
  returnPayment: ['COMPLETED', 'PARTIALLY_REFUNDED', 'REFUNDED'],
  bouncePayment: ['COMPLETED', 'PARTIALLY_REFUNDED', 'REFUNDED'],
  refund: ['COMPLETED', 'PARTIALLY_REFUNDED'],
  allocate: ['COMPLETED', 'PARTIALLY_REFUNDED'],
  unapply: ['COMPLETED', 'PARTIALLY_REFUNDED'],
};

const invoiceDays = ['2026-01-31', '2026-01-20', '2026-02-10', '2026-01-31'];
const paymentDays = ['2026-02-01', '2026-01-15', '2026-02-20', '2026-02-01'];

const jobStatuses = schemaOf('JobStatus').enum?.map(String) ?? [];

const clientStatuses = schemaOf('ClientStatus').enum?.map(String) ?? [];

/** The next status on the way of a job to CLOSED. */
function nextStatus(status: string | undefined): string {
  if (status === 'ON_HOLD') return 'IN_PROGRESS';
  const way = ['READY', 'IN_PROGRESS', 'IN_REVIEW', 'COMPLETED', 'CLOSED'];
  return way[way.indexOf(status ?? '') + 1] ?? 'COMPLETED';
}

function dayOf(pick: number): string {
  return Temporal.PlainDate.from('2026-01-05')
    .add({ days: pick % 9 })
    .toString();
}

function sumOf(allocations: readonly SentAllocation[]): bigint {
  return allocations.reduce((sum, { amount }) => sum + cents(amount), 0n);
}
