import { type Cents, cents, divideHalfUp, money, scaled, total, unscaled } from './cents.ts';
import type { BooksRequest, SentAllocation, SentLine } from './requests.ts';

interface Entry {
  readonly jobId: string;
  readonly taskId: string | null;
  readonly workDate: string;
  readonly isBillable: boolean;
  readonly reverses: string | null;
  hours: bigint;
  status: string;
}

interface Wip {
  readonly jobId: string;
  readonly clientId: string;
  readonly entry: string | null;
  readonly amount: Cents;
  billed: Cents;
  up: Cents;
  off: Cents;
  status: string;
  draft: string | null;
}

interface Line {
  readonly lineType: string;
  readonly amount: Cents;
  readonly tax: Cents;
  readonly jobId: string | null;
  readonly relief: string;
  readonly exceedsFee: boolean;
  readonly wipIds: readonly string[];
}

/** What a line bills a job, or no job. */
interface Billed {
  readonly jobId: string | null;
  readonly amount: Cents;
  readonly discount: Cents;
  readonly isFee: boolean;
  readonly hasWork: boolean;
}

interface Draft {
  readonly clientId: string;
  lines: readonly Line[];
  /** The lines as they were sent. */
  sent: readonly SentLine[];
  status: string;
}

interface Relief {
  readonly wipId: string;
  readonly billed: Cents;
  readonly up: Cents;
  readonly off: Cents;
}

interface Invoice {
  readonly clientId: string;
  readonly total: Cents;
  readonly reliefs: readonly Relief[];
  readonly billed: readonly Billed[];
  status: string;
  paid: Cents;
  credited: Cents;
  pending: Cents;
  writtenOff: Cents;
}

interface Payment {
  readonly clientId: string;
  readonly method: string;
  readonly amount: Cents;
  /** Whether it is the credit of a credit note. */
  readonly isOfNote: boolean;
  allocations: { readonly invoice: string; amount: Cents; at: number }[];
  refunded: Cents;
  status: string;
}

/** The firm that the books are of. */
export interface Firm {
  /** In cents. */
  readonly hourlyRate: Cents;
  readonly clientOfJob: ReadonlyMap<string, string>;
  readonly groupOfClient: ReadonlyMap<string, string>;
  readonly feeOfJob: ReadonlyMap<string, Cents>;
}

const counting: readonly string[] = ['COMPLETED', 'PARTIALLY_REFUNDED', 'REFUNDED'];
const feeTypes: readonly string[] = ['FIXED_FEE', 'PROGRESS'];
const fullDay = 2400n;

/** The ref of the payment that is the credit of a credit note. */
export function creditOf(note: string): string {
  return `credit of ${note}`;
}

/** The expected books: rows by their ref, amounts in cents, and the rules in their simplest form. */
export class BooksModel {
  readonly entries = new Map<string, Entry>();
  readonly wips = new Map<string, Wip>();
  readonly drafts = new Map<string, Draft>();
  readonly invoices = new Map<string, Invoice>();
  readonly payments = new Map<string, Payment>();
  readonly #archived = new Set<string>();
  readonly #reopened = new Set<string>();
  readonly #firm: Firm;
  #clock = 0;

  constructor(firm: Firm) {
    this.#firm = firm;
  }

  /**
   * Applies a request.
   *
   * @param madeRef returns the ref of the row that the request creates in addition to the one that it names: the invoice
   * of a draft, the work in progress of an entry.
   * @returns whether the books accept the request; if not, nothing has changed.
   */
  request(request: BooksRequest, madeRef: () => string): boolean {
    const isAccepted = this.#accept(request, madeRef);
    for (const id of this.#archived) if (!this.#isSettled(id)) this.#reopen(id);
    return isAccepted;
  }

  #accept(request: BooksRequest, madeRef: () => string): boolean {
    switch (request.kind) {
      case 'time':
        return this.#record(request);
      case 'hours':
        return this.#changeHours(request);
      case 'moveEntry':
        return this.#moveEntry(request, madeRef);
      case 'removeEntry':
        return this.#removeEntry(request);
      case 'wip':
        return this.#addWip(request);
      case 'writeOffWip':
        return this.#writeOffWip(request);
      case 'draft':
        return this.#draft(request);
      case 'draftLines':
        return this.#changeLines(request);
      case 'moveDraft':
        return this.#moveDraft(request, madeRef);
      case 'deleteDraft':
        return this.#deleteDraft(request);
      case 'import':
        return this.#import(request);
      case 'moveInvoice':
        return this.#moveInvoice(request);
      case 'pay':
        return this.#pay(request);
      case 'movePayment':
        return this.#movePayment(request);
      case 'returnPayment':
        return this.#end(request.ref, counting, 'RETURNED');
      case 'archiveClient':
        if (!this.#isSettled(request.ref)) return false;
        this.#reopened.delete(request.ref);
        this.#archived.add(request.ref);
        return true;
      case 'refund':
        return this.#refund(request);
      case 'allocate':
        return this.#allocate(request);
    }
  }

  outstanding({ amount, up, off, billed, status }: Wip): Cents {
    return status === 'REVERSED' ? 0n : amount + up - off - billed;
  }

  due({ total: all, paid, credited, writtenOff, status }: Invoice): Cents {
    // Nothing is due on a credit note.
    return status === 'VOIDED' || all < 0n ? 0n : all - paid - credited - writtenOff;
  }

  unapplied({ status, amount, refunded, allocations }: Payment): Cents {
    if (status === 'RETURNED') return -refunded;
    if (!counting.includes(status) && status !== 'PENDING') return 0n;
    return amount - refunded - total(allocations.map((one) => one.amount));
  }

  /** The balances of a client, in the format of the API. */
  balances(clientId: string) {
    const of = <Row extends { readonly clientId: string }>(rows: Map<string, Row>) =>
      [...rows.values()].filter((row) => row.clientId === clientId);
    const counted = of(this.payments).filter(({ status }) => status !== 'PENDING');
    return {
      outstandingBalance: money(total(of(this.invoices).map((row) => (row.status === 'PENDING' ? 0n : this.due(row))))),
      unappliedCredit: money(total(counted.map((row) => this.unapplied(row)))),
      unbilledWip: money(total(of(this.wips).map((row) => this.outstanding(row)))),
    };
  }

  /** The balances and the status of a client, which has none that a request determines until it is archived. */
  client(clientId: string) {
    const status = this.#archived.has(clientId) ? 'ARCHIVED' : this.#reopened.has(clientId) ? 'INACTIVE' : undefined;
    return { ...this.balances(clientId), ...(status === undefined ? {} : { status }) };
  }

  #isSettled(clientId: string): boolean {
    return Object.values(this.balances(clientId)).every((balance) => balance === '0.00');
  }

  #reopen(clientId: string): void {
    this.#archived.delete(clientId);
    this.#reopened.add(clientId);
  }

  /** The facts of banks and the corrections that the states of all rows name. */
  correctionsPossible(): BooksRequest[] {
    const possible: BooksRequest[] = [];
    for (const [ref, { status, method, amount, isOfNote, allocations }] of this.payments) {
      const isOpen = status === 'COMPLETED' || status === 'PARTIALLY_REFUNDED';
      if (status === 'PENDING' || status === 'FAILED') possible.push({ kind: 'movePayment', ref, to: 'COMPLETED' });
      if (status === 'PENDING') possible.push({ kind: 'movePayment', ref, to: 'FAILED' });
      if (counting.includes(status) && method !== 'CREDIT')
        possible.push({ kind: 'returnPayment', ref }, { kind: 'movePayment', ref, to: 'RETURNED' });
      if (isOpen && !isOfNote) possible.push({ kind: 'movePayment', ref, to: 'VOIDED' });
      if (isOpen && method !== 'CREDIT') possible.push({ kind: 'refund', ref, refundedAmount: money(amount) });
      if (isOpen && allocations.length > 0) possible.push({ kind: 'allocate', ref, allocations: [] });
    }
    for (const [ref, invoice] of this.invoices) {
      const { status, paid, credited, pending, reliefs } = invoice;
      const covered = paid + credited;
      if (status === 'WRITTEN_OFF')
        possible.push({ kind: 'moveInvoice', ref, to: covered > 0n ? 'PARTIALLY_PAID' : 'POSTED' });
      const isHeld = reliefs.some(({ wipId }) => found(this.wips, wipId).status === 'IN_DRAFT');
      if (status === 'POSTED' && covered + pending === 0n && !isHeld && this.#isCreditUnapplied(ref))
        possible.push({ kind: 'moveInvoice', ref, to: 'VOIDED' });
    }
    for (const [ref, row] of this.wips)
      if (row.status === 'WRITTEN_OFF')
        possible.push({ kind: 'writeOffWip', ref, amount: money(this.#writtenDown(ref)) });
    return possible;
  }

  /** The sums of a job, in the format of the API. */
  jobSums(jobId: string) {
    const rows = [...this.wips.values()].filter((row) => row.jobId === jobId);
    const approved = [...this.entries.values()].filter((one) => one.jobId === jobId && one.status === 'APPROVED');
    const billed = this.#billedOf(jobId);
    const billedAmount = total(billed.map(({ amount, discount }) => amount + discount));
    const fees = billed.filter(({ isFee, hasWork }) => isFee && !hasWork).map(({ amount }) => amount);
    const standard = total([...rows.map((row) => row.billed + row.off - row.up), ...fees]);
    const fee = this.#firm.feeOfJob.get(jobId);
    return {
      actualHours: money(total(approved.map(({ hours }) => hours))),
      wipAmount: money(total(rows.map((row) => this.outstanding(row)))),
      billedAmount: money(billedAmount),
      feeRemaining: fee === undefined ? null : money(fee - this.#billedFee(jobId)),
      writeOffAmount: money(total(rows.map(({ off }) => off))),
      realizationPercent: realization(billedAmount, standard),
    };
  }

  /** What the lines of invoices bill a job. */
  #billedOf(jobId: string): Billed[] {
    const valid = [...this.invoices.values()].filter(({ status }) => status !== 'PENDING' && status !== 'VOIDED');
    return valid.flatMap(({ billed }) => billed.filter((one) => one.jobId === jobId));
  }

  #billedFee(jobId: string): Cents {
    return total(
      this.#billedOf(jobId)
        .filter(({ isFee }) => isFee)
        .map(({ amount }) => amount),
    );
  }

  /** The hours of a task, in the format of the API. */
  taskHours(taskId: string): string {
    const approved = [...this.entries.values()].filter((one) => one.taskId === taskId && one.status === 'APPROVED');
    return money(total(approved.map(({ hours }) => hours)));
  }

  #record({ ref, hours, ...request }: BooksRequest & { kind: 'time' }): boolean {
    const { jobId, taskId, workDate, isBillable, status, reverses } = request;
    const entry: Entry = { jobId, taskId, workDate, isBillable, reverses, hours: cents(hours), status };
    if (!this.#takesBackWhatIsLeft(ref, entry)) return false;
    if (reverses !== null && entry.hours >= 0n) return false;
    if (reverses === null && (entry.hours <= 0n || entry.hours > fullDay)) return false;
    return this.#keepsDay(ref, entry) && this.#put(this.entries, ref, entry);
  }

  #changeHours({ ref, hours }: BooksRequest & { kind: 'hours' }): boolean {
    const entry = found(this.entries, ref);
    const changed = { ...entry, hours: cents(hours) };
    if (changed.hours === entry.hours) return true;
    if (entry.status === 'APPROVED') return false;
    return this.#keepsDay(ref, changed) && this.#put(this.entries, ref, changed);
  }

  /** Reversals of one entry reverse at most its hours, and only while it is approved. */
  #takesBackWhatIsLeft(ref: string, { reverses, hours, status }: Entry): boolean {
    if (reverses === null) return true;
    const original = found(this.entries, reverses);
    if (original.status !== 'APPROVED' || original.reverses !== null) return false;
    return status === 'REJECTED' || original.hours + hours + total(this.#reversalsOf(reverses, ref)) >= 0n;
  }

  /** The hours of the active reversals of an entry, except one. */
  #reversalsOf(ref: string, except?: string): bigint[] {
    return [...this.entries]
      .filter(([other, one]) => one.reverses === ref && other !== except && one.status !== 'REJECTED')
      .map(([, { hours }]) => hours);
  }

  /** A day has at most 24 hours; a reversal of an entry of another day does not count. */
  #keepsDay(ref: string, entry: Entry): boolean {
    const makesRoom = (one: Entry) =>
      one.reverses === null || found(this.entries, one.reverses).workDate === one.workDate;
    const all = [...this.entries].filter(([other]) => other !== ref).map(([, one]) => one);
    const ofDay = [...all, entry].filter(
      (one) => one.workDate === entry.workDate && one.status !== 'REJECTED' && makesRoom(one),
    );
    return total(ofDay.map(({ hours }) => hours)) <= fullDay;
  }

  #moveEntry({ ref, to }: BooksRequest & { kind: 'moveEntry' }, madeRef: () => string): boolean {
    const entry = found(this.entries, ref);
    if (entry.status === to) return true;
    const moves = ['DRAFT SUBMITTED', 'SUBMITTED APPROVED', 'SUBMITTED REJECTED', 'REJECTED DRAFT', 'APPROVED DRAFT'];
    if (!moves.includes(`${entry.status} ${to}`)) return false;
    const moved = { ...entry, status: to };
    const work = [...this.wips.values()].find((row) => row.entry === ref && row.status !== 'REVERSED');
    if (entry.status === 'APPROVED' && (this.#reversalsOf(ref).length > 0 || (work && work.status !== 'OPEN')))
      return false;
    if (!this.#takesBackWhatIsLeft(ref, moved) || !this.#keepsDay(ref, moved)) return false;
    if (entry.status === 'APPROVED' && work !== undefined) work.status = 'REVERSED';
    if (to === 'APPROVED' && entry.isBillable) {
      const amount = divideHalfUp(entry.hours * this.#firm.hourlyRate, 100n);
      this.#put(this.wips, madeRef(), this.#wip(entry.jobId, amount, ref));
    }
    return this.#put(this.entries, ref, moved);
  }

  #removeEntry({ ref }: BooksRequest & { kind: 'removeEntry' }): boolean {
    const { status } = found(this.entries, ref);
    return (status === 'DRAFT' || status === 'REJECTED') && this.entries.delete(ref);
  }

  #wip(jobId: string, amount: Cents, entry: string | null): Wip {
    const clientId = found(this.#firm.clientOfJob, jobId);
    return { jobId, clientId, entry, amount, billed: 0n, up: 0n, off: 0n, status: 'OPEN', draft: null };
  }

  #addWip({ ref, jobId, wipType, amount }: BooksRequest & { kind: 'wip' }): boolean {
    if (wipType === 'FIXED_FEE' && cents(amount) < 0n) return false;
    return this.#put(this.wips, ref, this.#wip(jobId, cents(amount), null));
  }

  #writeOffWip({ ref, amount }: BooksRequest & { kind: 'writeOffWip' }): boolean {
    const row = found(this.wips, ref);
    const off = cents(amount);
    if (off === row.off) return true;
    if (row.status !== 'OPEN' && row.status !== 'PARTIALLY_BILLED' && row.status !== 'WRITTEN_OFF') return false;
    if (off === row.off + this.outstanding(row)) return change(row, { off, status: 'WRITTEN_OFF' });
    const least = this.#writtenDown(ref);
    if (least <= row.off ? off < least || off > row.off : off > least || off < row.off) return false;
    return change(row, { off, status: row.billed === 0n && row.up === 0n && off === 0n ? 'OPEN' : 'PARTIALLY_BILLED' });
  }

  /** The amount that invoices wrote down. */
  #writtenDown(ref: string): Cents {
    const valid = [...this.invoices.values()].filter(({ status }) => status !== 'VOIDED');
    return total(valid.flatMap(({ reliefs }) => reliefs.filter(({ wipId }) => wipId === ref).map(({ off }) => off)));
  }

  #draft({ ref, clientId, lines }: BooksRequest & { kind: 'draft' }): boolean {
    const priced = this.#price(lines, ref, clientId);
    if (priced === undefined) return false;
    this.#hold(ref, [], priced);
    return this.#put(this.drafts, ref, { clientId, lines: priced, sent: lines, status: 'DRAFT' });
  }

  #changeLines({ ref, lines }: BooksRequest & { kind: 'draftLines' }): boolean {
    const draft = found(this.drafts, ref);
    if (draft.status !== 'DELETED' && JSON.stringify(lines) === JSON.stringify(draft.sent)) return true;
    if (draft.status !== 'DRAFT') return false;
    const priced = this.#price(lines, ref, draft.clientId);
    if (priced === undefined) return false;
    this.#hold(ref, draft.lines, priced);
    return change(draft, { lines: priced, sent: lines });
  }

  /** Lines with their amounts; undefined if one of them violates a rule. */
  #price(lines: readonly SentLine[], draft: string | undefined, clientId: string): Line[] | undefined {
    const named = lines.flatMap(({ wipIds }) => wipIds);
    if (new Set(named).size < named.length) return undefined;
    const priced = lines.map(({ quantity, unitAmount, taxable, taxRatePercent, ...rest }): Line => {
      const amount = divideHalfUp(scaled(quantity, 4) * scaled(unitAmount, 4), 1_000_000n);
      const tax = taxable ? divideHalfUp(amount * scaled(taxRatePercent, 4), 1_000_000n) : 0n;
      return { ...rest, amount, tax };
    });
    for (const { lineType, amount, wipIds } of priced) {
      if (wipIds.length > 0 && (lineType === 'DISCOUNT' || lineType === 'INTEREST')) return undefined;
      if (lineType === 'DISCOUNT' ? amount > 0n : amount < 0n && wipIds.length === 0) return undefined;
      const rows = wipIds.map((id) => found(this.wips, id));
      const isFree = (row: Wip) =>
        row.status === 'OPEN' ||
        row.status === 'PARTIALLY_BILLED' ||
        (row.status === 'IN_DRAFT' && row.draft === draft);
      if (rows.some((row) => row.clientId !== clientId || !isFree(row))) return undefined;
      const outstanding = total(rows.map((row) => this.outstanding(row)));
      if (lineType !== 'DISCOUNT' && (outstanding < 0n ? amount > 0n : amount < 0n)) return undefined;
    }
    return priced;
  }

  #hold(draft: string, before: readonly Line[], after: readonly Line[]): void {
    for (const id of before.flatMap(({ wipIds }) => wipIds)) {
      const row = found(this.wips, id);
      const isUntouched = row.billed === 0n && row.up === 0n && row.off === 0n;
      change(row, { status: isUntouched ? 'OPEN' : 'PARTIALLY_BILLED', draft: null });
    }
    for (const id of after.flatMap(({ wipIds }) => wipIds)) change(found(this.wips, id), { status: 'IN_DRAFT', draft });
  }

  #moveDraft({ ref, to }: BooksRequest & { kind: 'moveDraft' }, madeRef: () => string): boolean {
    const draft = found(this.drafts, ref);
    if (draft.status === to) return true;
    const moves = ['DRAFT IN_REVIEW', 'IN_REVIEW APPROVED', 'IN_REVIEW REJECTED', 'REJECTED DRAFT'];
    if (!moves.includes(`${draft.status} ${to}`)) return false;
    if (to === 'IN_REVIEW' && draft.lines.length === 0) return false;
    if ((to === 'IN_REVIEW' || to === 'APPROVED') && this.#exceedsFee(draft.lines)) return false;
    if (to !== 'APPROVED') return change(draft, { status: to });
    const billed = this.#bill(draft.lines);
    const reliefs = draft.lines.flatMap((line) => this.#relieve(line));
    for (const { wipId, billed, up, off } of reliefs) {
      const row = found(this.wips, wipId);
      change(row, { billed: row.billed + billed, up: row.up + up, off: row.off + off });
      row.status = this.outstanding(row) === 0n ? 'BILLED' : 'PARTIALLY_BILLED';
    }
    const [made, all] = [madeRef(), totalOf(draft.lines)];
    this.#post(made, draft.clientId, all, reliefs, billed, 'POSTED');
    if (all < 0n) this.#grantCredit(made, draft.clientId, -all);
    return change(draft, { status: 'POSTED' });
  }

  /**
   * The amounts that a line takes from its rows: in proportion to the outstanding amounts, the last one takes the rest.
   */
  #relieve({ relief, amount, wipIds }: Line): Relief[] {
    // The IDs of rows ascend in the order of their creation.
    const ids = [...this.wips.keys()].filter((id) => wipIds.includes(id));
    const amounts = ids.map((id) => this.outstanding(found(this.wips, id)));
    const all = total(amounts);
    const isPart = relief === 'PART' && (all < 0n ? amount >= all && amount <= 0n : amount >= 0n && amount <= all);
    let left = amount;
    const shares = amounts.map((one, index) => {
      const share = index === ids.length - 1 ? left : all === 0n ? one : divideHalfUp(amount * one, all);
      left -= share;
      return share;
    });
    if (isPart) keepWithin(shares, amounts);
    return ids.map((wipId, index) => {
      const [billed, outstanding] = [shares[index] ?? 0n, amounts[index] ?? 0n];
      const more = isPart ? 0n : billed - outstanding;
      return { wipId, billed, up: more > 0n ? more : 0n, off: more < 0n ? -more : 0n };
    });
  }

  /** What lines bill jobs. A discount without a job is spread over all lines; the last one takes the remaining cents. */
  #bill(lines: readonly Line[]): Billed[] {
    const named = lines.flatMap((line) => this.#partsOf(line));
    const others = named.filter(({ lineType }) => lineType !== 'DISCOUNT');
    const discounts = named.filter(({ lineType }) => lineType === 'DISCOUNT');
    const common = total(discounts.filter(({ jobId }) => jobId === null).map(({ amount }) => amount));
    const all = total(others.map(({ amount }) => amount));
    let left = common;
    const shared = others.map((part, index) => {
      const isLast = index === others.length - 1;
      const discount = all === 0n ? 0n : isLast ? left : divideHalfUp(common * part.amount, all);
      left -= discount;
      return { ...part, discount };
    });
    return [...shared, ...discounts.filter(({ jobId }) => jobId !== null)];
  }

  /** Whether a line bills more than what remains of the fee of its job. */
  #exceedsFee(lines: readonly Line[]): boolean {
    const taken = new Map<string, Cents>();
    for (const line of lines) {
      if (!feeTypes.includes(line.lineType) || line.exceedsFee) continue;
      for (const { jobId, amount } of this.#partsOf(line)) {
        const fee = jobId === null ? undefined : this.#firm.feeOfJob.get(jobId);
        if (jobId === null || fee === undefined) continue;
        const before = taken.get(jobId) ?? this.#billedFee(jobId);
        if (amount > 0n && before + amount > fee) return true;
        taken.set(jobId, before + amount);
      }
    }
    return false;
  }

  /** What a line bills its job, or the jobs of its work, in the order of their IDs. */
  #partsOf(line: Line): (Billed & { readonly lineType: string })[] {
    const { lineType, jobId, amount, wipIds } = line;
    const part = { lineType, discount: 0n, isFee: feeTypes.includes(lineType), hasWork: wipIds.length > 0 };
    if (jobId !== null || wipIds.length === 0) return [{ ...part, jobId, amount }];
    const reliefs = this.#relieve(line).map(({ wipId, billed }) => ({ of: found(this.wips, wipId).jobId, billed }));
    return [...new Set(reliefs.map(({ of }) => of))].sort().map((of) => {
      const ofJob = reliefs.filter((relief) => relief.of === of);
      return { ...part, jobId: of, amount: total(ofJob.map(({ billed }) => billed)) };
    });
  }

  #deleteDraft({ ref }: BooksRequest & { kind: 'deleteDraft' }): boolean {
    const draft = found(this.drafts, ref);
    if (draft.status !== 'DRAFT' && draft.status !== 'REJECTED') return false;
    this.#hold(ref, draft.lines, []);
    return change(draft, { status: 'DELETED' });
  }

  #import({ ref, clientId, status, lines }: BooksRequest & { kind: 'import' }): boolean {
    const priced = this.#price(lines, undefined, clientId);
    if (priced === undefined || totalOf(priced) < 0n) return false;
    return this.#post(ref, clientId, totalOf(priced), [], this.#bill(priced), status);
  }

  #post(
    ref: string,
    clientId: string,
    all: Cents,
    reliefs: readonly Relief[],
    billed: readonly Billed[],
    status: string,
  ): boolean {
    const row = { clientId, total: all, reliefs, billed, paid: 0n, credited: 0n, pending: 0n, writtenOff: 0n };
    return this.#put(this.invoices, ref, { ...row, status: status === 'POSTED' && all === 0n ? 'PAID' : status });
  }

  /** The credit of a credit note is a payment. */
  #grantCredit(note: string, clientId: string, amount: Cents): void {
    const fixed = { method: 'CREDIT', isOfNote: true, allocations: [], refunded: 0n, status: 'COMPLETED' };
    this.#put(this.payments, creditOf(note), { ...fixed, clientId, amount });
  }

  #isCreditUnapplied(ref: string): boolean {
    return (this.payments.get(creditOf(ref))?.allocations.length ?? 0) === 0;
  }

  #moveInvoice({ ref, to }: BooksRequest & { kind: 'moveInvoice' }): boolean {
    const invoice = found(this.invoices, ref);
    const { status, paid, credited, pending } = invoice;
    if (status === to) return true;
    if (status === 'WRITTEN_OFF' && (to === 'POSTED' || to === 'PARTIALLY_PAID'))
      return paid + credited > 0n === (to === 'PARTIALLY_PAID') && change(invoice, { writtenOff: 0n, status: to });
    if (to === 'PARTIALLY_PAID') return false;
    if (to === 'POSTED') {
      if (status !== 'PENDING') return false;
      return change(invoice, { status: invoice.total === 0n ? 'PAID' : 'POSTED' });
    }
    if (to === 'WRITTEN_OFF') {
      if ((status !== 'POSTED' && status !== 'PARTIALLY_PAID') || pending > 0n || invoice.total < 0n) return false;
      return change(invoice, { writtenOff: invoice.writtenOff + this.due(invoice), status: to });
    }
    const rows = invoice.reliefs.map((relief) => ({ relief, row: found(this.wips, relief.wipId) }));
    if (status !== 'POSTED' || paid + credited + pending > 0n || rows.some(({ row }) => row.status === 'IN_DRAFT'))
      return false;
    if (!this.#isCreditUnapplied(ref)) return false;
    const credit = this.payments.get(creditOf(ref));
    if (credit !== undefined) credit.status = 'VOIDED';
    for (const { relief, row } of rows) {
      change(row, { billed: row.billed - relief.billed, up: row.up - relief.up, off: row.off - relief.off });
      if (row.status === 'WRITTEN_OFF') row.off += this.outstanding(row);
      else row.status = row.billed === 0n && row.up === 0n && row.off === 0n ? 'OPEN' : 'PARTIALLY_BILLED';
    }
    return change(invoice, { status: to, writtenOff: 0n });
  }

  #pay({ ref, clientId, method, amount, allocations }: BooksRequest & { kind: 'pay' }): boolean {
    const status = method === 'ACH' ? 'PENDING' : 'COMPLETED';
    const fixed = { isOfNote: false, allocations: [], refunded: 0n };
    const payment: Payment = { ...fixed, clientId, method, amount: cents(amount), status };
    return this.#apply(payment, allocations) && this.#put(this.payments, ref, payment);
  }

  #allocate({ ref, allocations }: BooksRequest & { kind: 'allocate' }): boolean {
    const payment = found(this.payments, ref);
    const isSame =
      allocations.length === payment.allocations.length &&
      allocations.every(({ invoiceId, amount }, index) => {
        const known = payment.allocations[index];
        return known?.invoice === invoiceId && known.amount === cents(amount);
      });
    if (isSame) return true;
    const isOpen = payment.status === 'COMPLETED' || payment.status === 'PARTIALLY_REFUNDED';
    return isOpen && this.#apply(payment, allocations);
  }

  /** Sets the allocations of a payment. */
  #apply(payment: Payment, sent: readonly SentAllocation[]): boolean {
    const ids = sent.map(({ invoiceId }) => invoiceId);
    const known = new Map(payment.allocations.map((one) => [one.invoice, one]));
    if (new Set(ids).size < ids.length) return false;
    const next = sent.map(({ invoiceId, amount }) => {
      const more = cents(amount) - (known.get(invoiceId)?.amount ?? 0n);
      return { invoice: invoiceId, amount: cents(amount), more };
    });
    const groupOf = (clientId: string) => this.#firm.groupOfClient.get(clientId) ?? clientId;
    for (const { invoice: id, more, amount } of next) {
      const invoice = found(this.invoices, id);
      if (amount <= 0n) return false;
      if (more <= 0n) continue;
      if (groupOf(invoice.clientId) !== groupOf(payment.clientId)) return false;
      if (invoice.status !== 'POSTED' && invoice.status !== 'PARTIALLY_PAID') return false;
      if (more > this.due(invoice) - invoice.pending) return false;
    }
    if (total(next.map(({ amount }) => amount)) > payment.amount - payment.refunded) return false;
    this.#clock += 1;
    const touched = payment.allocations.map(({ invoice }) => invoice);
    this.#uncover(payment);
    payment.allocations = next.map(({ invoice, amount, more }) => ({
      invoice,
      amount,
      at: more > 0n ? this.#clock : (known.get(invoice)?.at ?? 0),
    }));
    this.#cover(payment);
    for (const id of touched) this.#settle(id);
    return true;
  }

  #uncover(payment: Payment): void {
    for (const { invoice, amount } of payment.allocations) this.#coverBy(payment, invoice, -amount);
  }

  #cover(payment: Payment): void {
    for (const { invoice, amount } of payment.allocations) this.#coverBy(payment, invoice, amount);
    for (const { invoice } of payment.allocations) this.#settle(invoice);
  }

  #coverBy({ status, method }: Payment, id: string, amount: Cents): void {
    const invoice = found(this.invoices, id);
    if (status === 'PENDING') invoice.pending += amount;
    else if (method === 'CREDIT') invoice.credited += amount;
    else invoice.paid += amount;
  }

  #settle(id: string): void {
    const invoice = found(this.invoices, id);
    if (this.due(invoice) === 0n) invoice.status = invoice.writtenOff > 0n ? 'WRITTEN_OFF' : 'PAID';
    else invoice.status = invoice.paid + invoice.credited > 0n ? 'PARTIALLY_PAID' : 'POSTED';
  }

  #movePayment({ ref, to }: BooksRequest & { kind: 'movePayment' }): boolean {
    const payment = found(this.payments, ref);
    if (payment.status === to) return true;
    if (to === 'VOIDED') return !payment.isOfNote && this.#end(ref, ['COMPLETED', 'PARTIALLY_REFUNDED'], to);
    if (to === 'RETURNED') return payment.method !== 'CREDIT' && this.#end(ref, counting, to);
    if (to === 'FAILED') return this.#end(ref, ['PENDING'], to);
    if (payment.status !== 'PENDING' && payment.status !== 'FAILED') return false;
    this.#uncover(payment);
    payment.status = to;
    this.#clock += 1;
    for (const one of payment.allocations) one.at = this.#clock;
    this.#cover(payment);
    return true;
  }

  /** Ends a payment, which then covers nothing. */
  #end(ref: string, from: readonly string[], to: string): boolean {
    const payment = found(this.payments, ref);
    if (!from.includes(payment.status)) return false;
    this.#uncover(payment);
    for (const { invoice } of payment.allocations) this.#settle(invoice);
    return change(payment, { allocations: [], status: to });
  }

  #refund({ ref, refundedAmount }: BooksRequest & { kind: 'refund' }): boolean {
    const payment = found(this.payments, ref);
    const more = cents(refundedAmount) - payment.refunded;
    if (more === 0n) return true;
    if (payment.status !== 'COMPLETED' && payment.status !== 'PARTIALLY_REFUNDED') return false;
    if (payment.method === 'CREDIT') return false;
    if (more < 0n || cents(refundedAmount) > payment.amount) return false;
    const unapplied = this.unapplied(payment);
    let rest = more > unapplied ? more - unapplied : 0n;
    const touched = payment.allocations.map(({ invoice }) => invoice);
    this.#uncover(payment);
    // The latest allocation comes first; of those created together, the last in the list.
    for (const one of payment.allocations.toReversed().sort((left, right) => right.at - left.at)) {
      const taken = one.amount < rest ? one.amount : rest;
      one.amount -= taken;
      rest -= taken;
    }
    payment.allocations = payment.allocations.filter(({ amount }) => amount > 0n);
    payment.refunded += more;
    payment.status = payment.refunded === payment.amount ? 'REFUNDED' : 'PARTIALLY_REFUNDED';
    this.#cover(payment);
    for (const id of touched) this.#settle(id);
    return true;
  }

  #put<Row>(rows: Map<string, Row>, ref: string, row: Row): boolean {
    rows.set(ref, row);
    return true;
  }
}

/** The billed amount as a percentage of its value at standard rates, with at most four places. */
function realization(billed: Cents, standard: Cents): string {
  if (billed <= 0n || standard <= 0n) return '0';
  return unscaled(divideHalfUp(billed * 1_000_000n, standard), 4).replace(/\.?0+$/, '');
}

/** Limits shares to their rows: what the last row cannot take goes to the rows before it. */
function keepWithin(shares: bigint[], limits: readonly bigint[]): void {
  let excess = 0n;
  const clamp = (value: bigint, limit: bigint) => {
    const [low, high] = limit < 0n ? [limit, 0n] : [0n, limit];
    return value < low ? low : value > high ? high : value;
  };
  for (const [index, limit] of limits.entries()) {
    const kept = clamp(shares[index] ?? 0n, limit);
    excess += (shares[index] ?? 0n) - kept;
    shares[index] = kept;
  }
  for (let index = shares.length - 1; index >= 0; index--) {
    const before = shares[index] ?? 0n;
    const moved = clamp(before + excess, limits[index] ?? 0n);
    excess -= moved - before;
    shares[index] = moved;
  }
}

/** Discounts are negative amounts, so the total is the sum of all amounts and all taxes. */
function totalOf(lines: readonly Line[]): Cents {
  return total(lines.map(({ amount, tax }) => amount + tax));
}

function found<Value>(rows: ReadonlyMap<string, Value>, ref: string): Value {
  const row = rows.get(ref);
  if (row === undefined) throw new Error(`The model has no ${ref}.`);
  return row;
}

function change<Row extends object>(row: Row, values: Partial<Row>): boolean {
  Object.assign(row, values);
  return true;
}
