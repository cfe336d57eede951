import { type Cents, divideHalfUp, money, total } from '../books/cents.ts';
import { withoutPending } from './allocations.ts';
import { type Client, dueOn, type Invoice, type Job, type Relief } from './firm.ts';
import { changeReason, type Month } from './month.ts';

const taxRate = '8.25';

/** A line of a draft, and what it takes from the work of a job. */
interface Line {
  readonly sent: object;
  readonly amount: Cents;
  readonly tax: Cents;
  readonly relief: Relief | undefined;
}

/** The invoices of each month, and their corrections. */
export class MonthInvoices {
  readonly #month: Month;

  constructor(month: Month) {
    this.#month = month;
  }

  async import(): Promise<void> {
    const imports = this.#month.chosen(this.#month.firm.clients, 0.03).map((client) => ({
      client,
      amount: BigInt(this.#month.random.between(5_000, 300_000)),
      ref: this.#month.ref('import'),
    }));
    const day = this.#month.day(1);
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
    for (const [index, { id }] of (await this.#month.calls.create(items)).entries()) {
      const { client, amount: sum, ref } = imports[index] ?? {};
      if (client === undefined || sum === undefined || ref === undefined) continue;
      this.#addInvoice(client, { ref, id, total: sum, relieved: [] });
    }
  }

  #addInvoice(client: Client, invoice: Pick<Invoice, 'ref' | 'id' | 'total' | 'relieved'>): void {
    client.invoices.push({
      ...invoice,
      month: this.#month.number,
      covered: 0n,
      writtenOff: 0n,
      credited: 0n,
      isVoided: false,
    });
    this.#month.journal.add('RECEIVABLE INVOICE', invoice.total);
    for (const { billed, adjusted } of invoice.relieved) {
      this.#month.journal.add('WIP BILLED', -billed);
      this.#month.journal.add('WIP ADJUSTMENT', adjusted);
    }
  }

  /** Sends drafts to review and approves them. @returns the invoices, in the order of the drafts */
  async post(
    refs: readonly string[],
  ): Promise<{ readonly id: string; readonly systemRef: unknown; readonly total: unknown }[]> {
    const move = (status: string) =>
      refs.map((systemRef) => ({ type: 'DraftInvoice', systemRef, attributes: { status } }));
    await this.#month.calls.update(move('IN_REVIEW'), 50);
    const posted = await this.#month.calls.approve(move('APPROVED'), 20);
    const ids = posted.map(({ attributes }) => String(attributes?.invoiceId));
    const invoices = new Map<unknown, Readonly<Record<string, unknown>>>();
    for (let from = 0; from < ids.length; from += 500)
      for (const row of await this.#month.calls.rows('invoices', { id: { _in: ids.slice(from, from + 500) } }))
        invoices.set(row.id, row);
    return ids.map((id) => ({ id, systemRef: invoices.get(id)?.systemRef, total: invoices.get(id)?.total }));
  }

  get #invoices(): Invoice[] {
    return this.#month.firm.clients.flatMap(withoutPending);
  }

  async writeOff(): Promise<void> {
    const lost = this.#month.chosen(
      this.#invoices.filter(
        (invoice) =>
          invoice.month <= this.#month.number - 3 &&
          invoice.writtenOff === 0n &&
          dueOn(invoice) > 0n &&
          // What is credited is not written off as well.
          dueOn(invoice) + invoice.credited <= invoice.total,
      ),
      0.15,
    );
    const attributes = { status: 'WRITTEN_OFF', writeOffReason: 'Insolvent', changeDate: this.#month.day(28) };
    await this.#month.calls.update(lost.map(({ ref }) => ({ type: 'Invoice', systemRef: ref, attributes })));
    for (const invoice of lost) {
      const amount = dueOn(invoice);
      invoice.writtenOff += amount;
      this.#month.journal.add('RECEIVABLE WRITE_OFF', -amount);
    }
  }

  async recover(): Promise<void> {
    const recovered = this.#month.chosen(
      this.#invoices.filter((invoice) => invoice.writtenOff > 0n && dueOn(invoice) === 0n),
      0.2,
    );
    const changes = { changeDate: this.#month.day(28), changeReason };
    await this.#month.calls.update(
      recovered.map(({ ref, covered }) => ({
        type: 'Invoice',
        systemRef: ref,
        attributes: { status: covered > 0n ? 'PARTIALLY_PAID' : 'POSTED', ...changes },
      })),
    );
    for (const invoice of recovered) {
      this.#month.journal.add('RECEIVABLE RECOVERY', invoice.writtenOff);
      invoice.writtenOff = 0n;
    }
  }

  async bill(days: number): Promise<void> {
    const day = this.#month.day(days);
    const dueDate = Temporal.PlainDate.from(day).add({ days: 30 }).toString();
    const bills = this.#month.firm.clients.flatMap((client) => {
      const lines = client.jobs.flatMap((job) => this.#linesOf(job));
      const sum = total(lines.map(({ amount }) => amount));
      if (sum <= 100n || this.#month.random.chance(0.15)) return [];
      const discount = this.#month.random.chance(0.1) ? divideHalfUp(sum, 20n) : 0n;
      if (discount > 0n) {
        const unitAmount = money(-discount);
        const off = { lineType: 'DISCOUNT', description: 'Discount', quantity: '1', unitAmount, taxable: false };
        lines.push({ sent: off, amount: -discount, tax: 0n, relief: undefined });
      }
      return [{ client, lines, ref: this.#month.ref('draft') }];
    });
    await this.#month.calls.create(
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
    const posted = await this.post(bills.map(({ ref }) => ref));
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
      const isPart = this.#month.random.chance(0.03);
      const percent = BigInt(work !== job.time ? 100 : isPart ? 60 : this.#month.random.between(85, 106));
      const amount = divideHalfUp(work.left * percent, 100n);
      if (amount <= 0n) return [];
      const isLess = isPart && amount < work.left;
      const adjusted = isLess ? 0n : amount - work.left;
      const relief: Relief = { work, rows: new Map(work.rows), billed: amount, adjusted, wasPart: work.isPart };
      return [lineOf(amount, { lineType, wipIds: [...work.rows.keys()], ...(isLess && { relief: 'PART' }) }, relief)];
    });
  }

  /** Invoices of this month that are wrong are voided, and their work is open again. */
  async voidSome(days: number): Promise<void> {
    const voided = this.#month.chosen(
      this.#invoices.filter(
        ({ month, covered, writtenOff, isVoided }) =>
          month === this.#month.number && covered === 0n && writtenOff === 0n && !isVoided,
      ),
      0.02,
    );
    const attributes = { status: 'VOIDED', voidReason: 'Wrong price', changeDate: this.#month.day(days) };
    await this.#month.calls.update(voided.map(({ ref }) => ({ type: 'Invoice', systemRef: ref, attributes })));
    for (const invoice of voided) {
      invoice.isVoided = true;
      this.#month.journal.add('RECEIVABLE VOID', -invoice.total);
      for (const { work, rows, billed, adjusted, wasPart } of invoice.relieved) {
        work.isPart ||= wasPart;
        for (const [id, amount] of rows) work.rows.set(id, amount);
        work.left += billed - adjusted;
        this.#month.journal.add('WIP UNBILLED', billed);
        this.#month.journal.add('WIP ADJUSTMENT', -adjusted);
      }
    }
  }
}
