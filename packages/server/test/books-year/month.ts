import type { Random } from '../../../demo-data/src/profiles/random.ts';
import { type Cents, divideHalfUp, money, total } from '../books/cents.ts';
import {
  type Client,
  dueOn,
  type Firm,
  type Invoice,
  type Job,
  type OpenWork,
  type Payment,
  type Relief,
  unappliedOf,
} from './firm.ts';
import type { FirmCalls, Item } from './firm-calls.ts';
import type { Journal } from './journal.ts';

const changeReason = 'Corrected';
const taxRate = '8.25';

/** A line of a draft, and what it takes from the work of a job. */
interface Line {
  readonly sent: object;
  readonly amount: Cents;
  readonly tax: Cents;
  readonly relief: Relief | undefined;
}

interface Entry {
  readonly item: Item;
  /** What its work adds to a job; undefined if it is not billed. */
  readonly work: { readonly open: OpenWork; readonly amount: Cents } | undefined;
}

/**
 * One month of a firm after the other. Days within a month rise from one kind of change to the next, as they do in a firm, so that
 * everything counts for the month in which it is entered.
 */
export class Months {
  readonly #calls: FirmCalls;
  readonly #random: Random;
  readonly #journal: Journal;
  readonly #firm: Firm;
  /** Entries that wait for approval in the next month. */
  #late: Entry[] = [];
  /** Work that was written off: the row by its ID. */
  readonly #lostWork = new Map<string, { readonly open: OpenWork; readonly amount: Cents }>();
  #month = 0;
  #refs = 0;

  constructor(calls: FirmCalls, random: Random, journal: Journal, firm: Firm) {
    this.#calls = calls;
    this.#random = random;
    this.#journal = journal;
    this.#firm = firm;
  }

  /** Does everything of a month. @returns its last day */
  async run(month: number): Promise<string> {
    this.#month = month;
    const days = Temporal.PlainYearMonth.from({ year: this.#firm.year, month }).daysInMonth;
    this.#journal.month = this.#day(1);
    await this.#approve(this.#late.splice(0));
    await this.#enterTime(days);
    await this.#enterExpenses(days);
    await this.#importInvoices();
    await this.#settlePayments();
    await this.#receivePayments();
    await this.#returnPayments();
    await this.#moveAllocations();
    await this.#unapply();
    await this.#applyCredits();
    await this.#refund();
    await this.#voidPayments();
    await this.#creditInvoices();
    await this.#voidNotes();
    await this.#recoverInvoices();
    await this.#writeOffInvoices();
    await this.#recoverWork(days);
    await this.#writeOffWork(days);
    await this.#billMonth(days);
    await this.#voidInvoices(days);
    return this.#day(days);
  }

  #day(day: number): string {
    return Temporal.PlainDate.from({ year: this.#firm.year, month: this.#month, day }).toString();
  }

  #ref(kind: string): string {
    this.#refs += 1;
    return `${kind}-${this.#refs}`;
  }

  #chosen<Value>(values: readonly Value[], probability: number): Value[] {
    return values.filter(() => this.#random.chance(probability));
  }

  async #enterTime(days: number): Promise<void> {
    const { people, jobs, size } = this.#firm;
    const workdays = Array.from({ length: days }, (_, index) => this.#day(index + 1)).filter(
      (day) => Temporal.PlainDate.from(day).dayOfWeek < 6,
    );
    const billed = jobs.filter(({ monthlyFee }) => monthlyFee === undefined);
    const entries = Array.from({ length: Math.round(size.entries / 12) }, (_, number): Entry => {
      const person = people[number % people.length];
      const job = billed[this.#random.below(billed.length)];
      if (person === undefined || job === undefined) throw new Error('A firm has people and jobs.');
      const tenths = BigInt(this.#random.between(1, 27));
      const isBillable = this.#random.chance(0.85);
      const attributes = {
        staffId: person.id,
        jobId: job.id,
        workDate: workdays[Math.floor(number / people.length) % workdays.length],
        hours: money(10n * tenths),
        isBillable,
        status: 'SUBMITTED',
      };
      const work = { open: job.time, amount: divideHalfUp(tenths * person.rate, 10n) };
      return {
        item: { type: 'TimeEntry', systemRef: this.#ref('time'), attributes },
        work: isBillable ? work : undefined,
      };
    });
    await this.#calls.enter(entries.map(({ item }) => item));
    const approved = entries.filter((entry) => {
      const isLate = this.#random.chance(0.03);
      if (isLate) this.#late.push(entry);
      return !isLate;
    });
    const rejected = new Set(this.#chosen(approved, 0.01));
    await this.#calls.approveEntries(
      [...rejected].map(({ item }) => ({ ...item, attributes: { status: 'REJECTED', rejectionReason: 'Wrong job' } })),
    );
    await this.#approve(approved.filter((entry) => !rejected.has(entry)));
    await this.#reverse(this.#chosen(approved, 0.005).filter((entry) => !rejected.has(entry)));
  }

  /** Takes back entries of this month, whose work is not billed yet, with entries of their own. */
  async #reverse(entries: readonly Entry[]): Promise<void> {
    const reversals = entries.map(({ item, work }): Entry => {
      const { hours, ...attributes } = { hours: '', ...item.attributes };
      const reversal = { ...attributes, hours: `-${hours}`, reversesSystemRef: item.systemRef };
      return {
        item: { type: 'TimeEntry', systemRef: this.#ref('reversal'), attributes: reversal },
        work: work && { open: work.open, amount: -work.amount },
      };
    });
    await this.#calls.enter(reversals.map(({ item }) => item));
    await this.#approve(reversals);
  }

  async #enterExpenses(days: number): Promise<void> {
    const { people, jobs } = this.#firm;
    const some = this.#chosen(
      jobs.filter(({ monthlyFee }) => monthlyFee === undefined),
      0.05,
    );
    const entries = some.map((job): Entry => {
      const amount = BigInt(this.#random.between(1_000, 90_000));
      const attributes = {
        staffId: people[this.#random.below(people.length)]?.id,
        jobId: job.id,
        code: 'TRAVEL',
        expenseDate: this.#day(this.#random.between(1, days)),
        cost: money(amount),
        billableAmount: money(amount),
        description: 'Train',
        status: 'SUBMITTED',
      };
      return {
        item: { type: 'ExpenseEntry', systemRef: this.#ref('expense'), attributes },
        work: { open: job.expenses, amount },
      };
    });
    await this.#calls.enter(entries.map(({ item }) => item));
    await this.#approve(entries);
  }

  async #approve(entries: readonly Entry[]): Promise<void> {
    const approved = await this.#calls.approveEntries(
      entries.map(({ item }) => ({ ...item, attributes: { status: 'APPROVED' } })),
    );
    for (const [index, { work }] of entries.entries()) {
      const wipId = approved[index]?.attributes?.wipId;
      if (work === undefined) continue;
      if (typeof wipId !== 'string') throw new Error('Approved billable work has a row of work in progress.');
      work.open.rows.set(wipId, work.amount);
      work.open.left += work.amount;
      this.#journal.add('WIP WORK', work.amount);
    }
  }

  async #importInvoices(): Promise<void> {
    const imports = this.#chosen(this.#firm.clients, 0.03).map((client) => ({
      client,
      amount: BigInt(this.#random.between(5_000, 300_000)),
      ref: this.#ref('import'),
    }));
    const day = this.#day(1);
    const items = imports.map(({ client, amount, ref }) => ({
      type: 'Invoice',
      systemRef: ref,
      attributes: {
        pmsRef: ref,
        clientId: client.id,
        invoiceDate: day,
        dueDate: Temporal.PlainDate.from(day).add({ days: 15 }).toString(),
        lines: [
          { lineType: 'OTHER', description: 'Software', quantity: '1', unitAmount: money(amount), taxable: false },
        ],
      },
    }));
    for (const [index, { id }] of (await this.#calls.create(items)).entries()) {
      const { client, amount: sum, ref } = imports[index] ?? {};
      if (client === undefined || sum === undefined || ref === undefined) continue;
      this.#addInvoice(client, { ref, id, total: sum, relieved: [] });
    }
  }

  #addInvoice(client: Client, invoice: Pick<Invoice, 'ref' | 'id' | 'total' | 'relieved'>): void {
    client.invoices.push({ ...invoice, month: this.#month, covered: 0n, writtenOff: 0n, isVoided: false });
    this.#journal.add('RECEIVABLE INVOICE', invoice.total);
    for (const { billed, adjusted } of invoice.relieved) {
      this.#journal.add('WIP BILLED', -billed);
      this.#journal.add('WIP ADJUSTMENT', adjusted);
    }
  }

  get #payments(): Payment[] {
    return this.#firm.clients.flatMap(({ payments }) => payments);
  }

  /** Bank debits of the last month settle; some fail. */
  async #settlePayments(): Promise<void> {
    const pending = this.#payments.filter(({ status }) => status === 'PENDING');
    const failed = new Set(this.#chosen(pending, 0.1));
    await this.#calls.update(
      pending.map((payment) => this.#of(payment, { status: failed.has(payment) ? 'FAILED' : 'COMPLETED' })),
    );
    for (const payment of pending) {
      if (failed.has(payment)) {
        payment.status = 'GONE';
        payment.allocations.clear();
        continue;
      }
      payment.status = 'COMPLETED';
      this.#count(payment);
    }
  }

  /** Enters a payment that counts. */
  #count(payment: Payment): void {
    this.#journal.add('CREDIT PAYMENT', payment.amount);
    for (const [invoice, part] of payment.allocations) {
      invoice.covered += part;
      this.#journal.move('ALLOCATION', -part);
    }
  }

  #of({ ref }: Payment, attributes: object): Item {
    return { type: 'Payment', systemRef: ref, attributes };
  }

  async #receivePayments(): Promise<void> {
    const received = this.#firm.clients.flatMap((client) => {
      const open = withoutPending(client).filter((invoice) => dueOn(invoice) > 0n);
      const [first] = open;
      if (first === undefined || this.#random.chance(0.3)) return [];
      const kind = this.#random.weighted([
        ['all', 50],
        ['first', 20],
        ['part', 20],
        ['more', 7],
        ['ahead', 3],
      ]);
      const paid = kind === 'all' || kind === 'more' ? open : kind === 'ahead' ? [] : [first];
      const allocations = new Map(
        paid.map((invoice) => [invoice, kind === 'part' ? divideHalfUp(2n * dueOn(invoice), 5n) : dueOn(invoice)]),
      );
      const extra = kind === 'more' || kind === 'ahead' ? BigInt(this.#random.between(1_000, 200_000)) : 0n;
      const amount = total(allocations.values()) + extra;
      const method = this.#random.pick(['CHECK', 'CHECK', 'WIRE', 'ACH', 'CARD', 'CASH', 'OTHER']);
      return amount > 0n ? [{ client, allocations, amount, method, ref: this.#ref('payment') }] : [];
    });
    const items = received.map(({ client, allocations, amount, method, ref }) => ({
      type: 'Payment',
      systemRef: ref,
      attributes: {
        clientId: client.id,
        paymentDate: this.#day(this.#random.between(3, 20)),
        amount: money(amount),
        currency: 'USD',
        method,
        source: 'MANUAL',
        allocations: sent(allocations),
      },
    }));
    for (const [index, { id, attributes }] of (await this.#calls.create(items)).entries()) {
      const one = received[index];
      if (one === undefined) continue;
      const { client, ...rest } = one;
      const status = attributes?.status === 'PENDING' ? 'PENDING' : 'COMPLETED';
      const payment: Payment = { ...rest, id, note: undefined, refunded: 0n, status };
      client.payments.push(payment);
      if (status === 'COMPLETED') this.#count(payment);
    }
  }

  /** Payments that can be changed: not those by credit notes. */
  get #money(): Payment[] {
    return this.#payments.filter(({ status, note }) => status === 'COMPLETED' && note === undefined);
  }

  #takeBack(payment: Payment): void {
    for (const [invoice, part] of payment.allocations) {
      invoice.covered -= part;
      this.#journal.move('DEALLOCATION', part);
    }
    payment.allocations.clear();
  }

  /** Checks bounce and wires are recalled, also after a refund. */
  async #returnPayments(): Promise<void> {
    const returned = this.#chosen(
      this.#money.filter(({ method }) => method !== 'CASH'),
      0.012,
    );
    const changes = { status: 'RETURNED', changeDate: this.#day(22), changeReason };
    await this.#calls.update(returned.map((payment) => this.#of(payment, changes)));
    for (const payment of returned) {
      this.#takeBack(payment);
      this.#journal.add('CREDIT RETURN', -payment.amount);
      payment.status = 'GONE';
    }
  }

  /** Money on a wrong invoice goes to another one of the client. */
  async #moveAllocations(): Promise<void> {
    const moved = this.#firm.clients.flatMap((client) => {
      const target = withoutPending(client).find((invoice) => dueOn(invoice) > 0n);
      const wrong = client.payments.find(
        ({ status, note, allocations }) => status === 'COMPLETED' && note === undefined && allocations.size === 1,
      );
      const [from, part] = [...(wrong?.allocations ?? [])][0] ?? [];
      if (target === undefined || wrong === undefined || from === undefined || part === undefined) return [];
      if (from === target || part > dueOn(target) || !this.#random.chance(0.15)) return [];
      return [{ payment: wrong, to: new Map([[target, part]]) }];
    });
    const changes = { changeDate: this.#day(23), changeReason };
    await this.#calls.update(moved.map(({ payment, to }) => this.#of(payment, { allocations: sent(to), ...changes })));
    for (const { payment, to } of moved) {
      this.#takeBack(payment);
      this.#allocate(payment, to);
    }
  }

  #allocate(payment: Payment, parts: ReadonlyMap<Invoice, Cents>): void {
    for (const [invoice, part] of parts) {
      payment.allocations.set(invoice, (payment.allocations.get(invoice) ?? 0n) + part);
      invoice.covered += part;
      this.#journal.move('ALLOCATION', -part);
    }
  }

  async #unapply(): Promise<void> {
    const unapplied = this.#chosen(
      this.#money.filter(({ allocations }) => allocations.size > 0),
      0.01,
    );
    const changes = { allocations: [], changeDate: this.#day(24), changeReason };
    await this.#calls.update(unapplied.map((payment) => this.#of(payment, changes)));
    for (const payment of unapplied) this.#takeBack(payment);
  }

  /** What clients have left pays other invoices of theirs. */
  async #applyCredits(): Promise<void> {
    const applied = this.#firm.clients.flatMap((client) => {
      const payment = client.payments.find((one) => one.status === 'COMPLETED' && unappliedOf(one) > 0n);
      if (payment === undefined || !this.#random.chance(0.4)) return [];
      const parts = shareOut(unappliedOf(payment), withoutPending(client));
      return parts.size > 0 ? [{ payment, parts }] : [];
    });
    await this.#calls.update(
      applied.map(({ payment, parts }) => this.#of(payment, { allocations: sent(payment.allocations, parts) })),
    );
    for (const { payment, parts } of applied) this.#allocate(payment, parts);
  }

  async #refund(): Promise<void> {
    const refunds = this.#chosen(
      this.#money.filter((payment) => unappliedOf(payment) > 0n && payment.method !== 'CREDIT'),
      0.4,
    ).map((payment) => {
      const rest = unappliedOf(payment);
      return { payment, amount: this.#random.chance(0.5) ? rest : divideHalfUp(rest, 2n) };
    });
    await this.#calls.update(
      refunds.map(({ payment, amount }) =>
        this.#of(payment, {
          refundedAmount: money(payment.refunded + amount),
          changeDate: this.#day(26),
          changeReason,
        }),
      ),
    );
    for (const { payment, amount } of refunds) {
      payment.refunded += amount;
      this.#journal.add('CREDIT REFUND', -amount);
    }
  }

  async #voidPayments(): Promise<void> {
    const voided = this.#chosen(
      this.#money.filter(({ amount, refunded }) => refunded < amount),
      0.004,
    );
    const changes = { status: 'VOIDED', changeDate: this.#day(26), changeReason };
    await this.#calls.update(voided.map((payment) => this.#of(payment, changes)));
    for (const payment of voided) {
      this.#takeBack(payment);
      this.#journal.add('CREDIT PAYMENT_VOID', payment.refunded - payment.amount);
      payment.status = 'GONE';
    }
  }

  async #creditInvoices(): Promise<void> {
    const credited = this.#chosen(this.#firm.clients, 0.04).flatMap((client) => {
      const invoice = client.invoices.find((one) => dueOn(one) > 0n);
      if (invoice === undefined) return [];
      const amount = divideHalfUp(invoice.total * BigInt(this.#random.between(5, 40)), 100n);
      return amount > 0n ? [{ client, invoice, amount, ref: this.#ref('note') }] : [];
    });
    const day = this.#day(27);
    const items = credited.map(({ client, invoice, amount, ref }) => ({
      type: 'DraftInvoice',
      systemRef: ref,
      attributes: {
        clientId: client.id,
        creditedInvoiceId: invoice.id,
        billThroughDate: day,
        proposedInvoiceDate: day,
        dueDate: day,
        lines: [
          { lineType: 'DISCOUNT', description: 'As agreed', quantity: '1', unitAmount: money(-amount), taxable: false },
        ],
      },
    }));
    await this.#calls.create(items, 50);
    const notes = await this.#post(credited.map(({ ref }) => ref));
    const credits = await this.#calls.rows('payments', { creditNoteId: { _in: notes.map(({ id }) => id) } });
    const creditOf = new Map(credits.map((credit) => [credit.creditNoteId, credit]));
    const applied = credited.flatMap(({ client, amount }, index) => {
      const note = notes[index];
      const credit = creditOf.get(note?.id);
      if (note === undefined || credit === undefined) throw new Error('A credit note has a credit.');
      const payment: Payment = {
        ref: String(credit.systemRef),
        id: String(credit.id),
        method: 'CREDIT',
        amount,
        note: { ref: String(note.systemRef) },
        allocations: new Map(),
        refunded: 0n,
        status: 'COMPLETED',
      };
      client.payments.push(payment);
      this.#journal.add('CREDIT CREDIT_NOTE', amount);
      const parts = this.#random.chance(0.7) ? shareOut(amount, withoutPending(client)) : new Map<Invoice, Cents>();
      return parts.size > 0 ? [{ payment, parts }] : [];
    });
    await this.#calls.update(applied.map(({ payment, parts }) => this.#of(payment, { allocations: sent(parts) })));
    for (const { payment, parts } of applied) this.#allocate(payment, parts);
  }

  /** Sends drafts to review and approves them. @returns the invoices, in the order of the drafts */
  async #post(
    refs: readonly string[],
  ): Promise<{ readonly id: string; readonly systemRef: unknown; readonly total: unknown }[]> {
    const move = (status: string) =>
      refs.map((systemRef) => ({ type: 'DraftInvoice', systemRef, attributes: { status } }));
    await this.#calls.update(move('IN_REVIEW'), 50);
    const posted = await this.#calls.approve(move('APPROVED'), 20);
    const ids = posted.map(({ attributes }) => String(attributes?.invoiceId));
    const invoices = new Map<unknown, Readonly<Record<string, unknown>>>();
    for (let from = 0; from < ids.length; from += 500)
      for (const row of await this.#calls.rows('invoices', { id: { _in: ids.slice(from, from + 500) } }))
        invoices.set(row.id, row);
    return ids.map((id) => ({ id, systemRef: invoices.get(id)?.systemRef, total: invoices.get(id)?.total }));
  }

  /** Credit notes that are not applied are voided now and then, with their credit. */
  async #voidNotes(): Promise<void> {
    const voided = this.#chosen(
      this.#payments.filter(
        ({ status, note, allocations }) => status === 'COMPLETED' && note && allocations.size === 0,
      ),
      0.2,
    );
    const attributes = { status: 'VOIDED', voidReason: 'Twice', changeDate: this.#day(28) };
    await this.#calls.update(voided.map(({ note }) => ({ type: 'Invoice', systemRef: note?.ref ?? '', attributes })));
    for (const payment of voided) {
      this.#journal.add('CREDIT NOTE_VOID', -payment.amount);
      payment.status = 'GONE';
    }
  }

  get #invoices(): Invoice[] {
    return this.#firm.clients.flatMap(withoutPending);
  }

  async #writeOffInvoices(): Promise<void> {
    const lost = this.#chosen(
      this.#invoices.filter(
        (invoice) => invoice.month <= this.#month - 3 && invoice.writtenOff === 0n && dueOn(invoice) > 0n,
      ),
      0.15,
    );
    const attributes = { status: 'WRITTEN_OFF', writeOffReason: 'Insolvent', changeDate: this.#day(28) };
    await this.#calls.update(lost.map(({ ref }) => ({ type: 'Invoice', systemRef: ref, attributes })));
    for (const invoice of lost) {
      const amount = dueOn(invoice);
      invoice.writtenOff += amount;
      this.#journal.add('RECEIVABLE WRITE_OFF', -amount);
    }
  }

  async #recoverInvoices(): Promise<void> {
    const recovered = this.#chosen(
      this.#invoices.filter((invoice) => invoice.writtenOff > 0n && dueOn(invoice) === 0n),
      0.2,
    );
    const changes = { changeDate: this.#day(28), changeReason };
    await this.#calls.update(
      recovered.map(({ ref, covered }) => ({
        type: 'Invoice',
        systemRef: ref,
        attributes: { status: covered > 0n ? 'PARTIALLY_PAID' : 'POSTED', ...changes },
      })),
    );
    for (const invoice of recovered) {
      this.#journal.add('RECEIVABLE RECOVERY', invoice.writtenOff);
      invoice.writtenOff = 0n;
    }
  }

  async #writeOffWork(days: number): Promise<void> {
    const lost = this.#chosen(this.#firm.jobs, 0.01).flatMap(({ time }) => {
      const [id, amount] = [...time.rows].find(([, value]) => value > 0n) ?? [];
      return id === undefined || amount === undefined || time.isPart ? [] : [{ id, open: time, amount }];
    });
    const changes = { writeOffReason: 'Courtesy', changeDate: this.#day(days) };
    await this.#calls.update(
      lost.map(({ id, amount }) => ({
        type: 'WipEntry',
        systemRef: id,
        attributes: { writeOffAmount: money(amount), ...changes },
      })),
    );
    for (const { id, open, amount } of lost) {
      open.rows.delete(id);
      open.left -= amount;
      this.#lostWork.set(id, { open, amount });
      this.#journal.add('WIP WRITE_OFF', -amount);
    }
  }

  async #recoverWork(days: number): Promise<void> {
    const recovered = this.#chosen([...this.#lostWork], 0.3).filter(([, { open }]) => !open.isPart);
    const attributes = { writeOffAmount: '0.00', changeDate: this.#day(days), changeReason };
    await this.#calls.update(recovered.map(([id]) => ({ type: 'WipEntry', systemRef: id, attributes })));
    for (const [id, { open, amount }] of recovered) {
      this.#lostWork.delete(id);
      open.rows.set(id, amount);
      open.left += amount;
      this.#journal.add('WIP RECOVERY', amount);
    }
  }

  async #billMonth(days: number): Promise<void> {
    const day = this.#day(days);
    const dueDate = Temporal.PlainDate.from(day).add({ days: 30 }).toString();
    const bills = this.#firm.clients.flatMap((client) => {
      const lines = client.jobs.flatMap((job) => this.#linesOf(job));
      const sum = total(lines.map(({ amount }) => amount));
      if (sum <= 100n || this.#random.chance(0.15)) return [];
      const discount = this.#random.chance(0.1) ? divideHalfUp(sum, 20n) : 0n;
      if (discount > 0n) {
        const unitAmount = money(-discount);
        const off = { lineType: 'DISCOUNT', description: 'Discount', quantity: '1', unitAmount, taxable: false };
        lines.push({ sent: off, amount: -discount, tax: 0n, relief: undefined });
      }
      return [{ client, lines, ref: this.#ref('draft') }];
    });
    await this.#calls.create(
      bills.map(({ client, lines, ref }) => ({
        type: 'DraftInvoice',
        systemRef: ref,
        attributes: {
          clientId: client.id,
          billThroughDate: day,
          proposedInvoiceDate: day,
          dueDate,
          lines: lines.map((line) => line.sent),
        },
      })),
      20,
    );
    const posted = await this.#post(bills.map(({ ref }) => ref));
    for (const [index, { client, lines }] of bills.entries()) {
      const invoice = posted[index];
      const sum = total(lines.map(({ amount, tax }) => amount + tax));
      if (invoice === undefined) continue;
      const relieved = lines.flatMap(({ relief }) => relief ?? []);
      for (const { work, billed, adjusted } of relieved) {
        work.left += adjusted - billed;
        work.isPart = work.left !== 0n;
        if (!work.isPart) work.rows.clear();
      }
      this.#addInvoice(client, { ref: String(invoice.systemRef), id: invoice.id, total: sum, relieved });
    }
  }

  /** The lines that bill the open work of a job, or the fee of the month. */
  #linesOf(job: Job): Line[] {
    const taxable = job.client.isTaxed;
    const shared = { quantity: '1', taxable, ...(taxable && { taxRatePercent: taxRate }) };
    const lineOf = (amount: Cents, more: object, relief?: Relief): Line => ({
      sent: { description: 'Work', unitAmount: money(amount), ...shared, ...more },
      amount,
      tax: taxable ? divideHalfUp(amount * 825n, 10_000n) : 0n,
      relief,
    });
    if (job.monthlyFee !== undefined) return [lineOf(job.monthlyFee, { lineType: 'FIXED_FEE', jobId: job.id })];
    return [job.time, job.expenses].flatMap((work) => {
      // A line bills up to 1,000 rows of work, which may be more than it, or less.
      if (work.left <= 0n || work.rows.size > 1_000) return [];
      const lineType = work === job.time ? 'TIME' : 'EXPENSE';
      const isPart = this.#random.chance(0.03);
      const percent = BigInt(work !== job.time ? 100 : isPart ? 60 : this.#random.between(85, 106));
      const amount = divideHalfUp(work.left * percent, 100n);
      if (amount <= 0n) return [];
      const isLess = isPart && amount < work.left;
      const adjusted = isLess ? 0n : amount - work.left;
      const relief: Relief = { work, rows: new Map(work.rows), billed: amount, adjusted };
      return [lineOf(amount, { lineType, wipIds: [...work.rows.keys()], ...(isLess && { relief: 'PART' }) }, relief)];
    });
  }

  /** Invoices of this month that are wrong are voided, and their work is open again. */
  async #voidInvoices(days: number): Promise<void> {
    const voided = this.#chosen(
      this.#invoices.filter(
        ({ month, covered, writtenOff, isVoided }) =>
          month === this.#month && covered === 0n && writtenOff === 0n && !isVoided,
      ),
      0.02,
    );
    const attributes = { status: 'VOIDED', voidReason: 'Wrong price', changeDate: this.#day(days) };
    await this.#calls.update(voided.map(({ ref }) => ({ type: 'Invoice', systemRef: ref, attributes })));
    for (const invoice of voided) {
      invoice.isVoided = true;
      this.#journal.add('RECEIVABLE VOID', -invoice.total);
      for (const { work, rows, billed, adjusted } of invoice.relieved) {
        for (const [id, amount] of rows) work.rows.set(id, amount);
        work.left += billed - adjusted;
        this.#journal.add('WIP UNBILLED', billed);
        this.#journal.add('WIP ADJUSTMENT', -adjusted);
      }
    }
  }
}

/** Allocations as they are sent; those of the same invoice are added up. */
function sent(...all: readonly ReadonlyMap<Invoice, Cents>[]): object[] {
  const sums = new Map<string, Cents>();
  for (const parts of all) for (const [{ id }, part] of parts) sums.set(id, (sums.get(id) ?? 0n) + part);
  return [...sums].map(([invoiceId, part]) => ({ invoiceId, amount: money(part) }));
}

/** Invoices of a client that no pending payment names, which has planned what it covers. */
function withoutPending({ payments, invoices }: Client): Invoice[] {
  const pending = new Set(
    payments.flatMap(({ status, allocations }) => (status === 'PENDING' ? [...allocations.keys()] : [])),
  );
  return invoices.filter((invoice) => !pending.has(invoice));
}

/** Shares an amount out over what is due, the oldest first. */
function shareOut(amount: Cents, invoices: readonly Invoice[]): Map<Invoice, Cents> {
  const parts = new Map<Invoice, Cents>();
  let rest = amount;
  for (const invoice of invoices) {
    const due = dueOn(invoice);
    if (due >= rest) return parts.set(invoice, rest);
    if (due > 0n) parts.set(invoice, due);
    rest -= due;
  }
  return parts;
}
