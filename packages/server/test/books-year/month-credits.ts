import { type Cents, divideHalfUp, money } from '../books/cents.ts';
import { sent, shareOut, withoutPending } from './allocations.ts';
import { dueOn, type Invoice, type Payment } from './firm.ts';
import type { Month } from './month.ts';
import type { MonthInvoices } from './month-invoices.ts';
import type { MonthPayments } from './month-payments.ts';

/** The credit notes of each month. */
export class MonthCredits {
  readonly #month: Month;
  readonly #payments: MonthPayments;
  readonly #invoices: MonthInvoices;

  constructor(month: Month, payments: MonthPayments, invoices: MonthInvoices) {
    this.#month = month;
    this.#payments = payments;
    this.#invoices = invoices;
  }

  async create(): Promise<void> {
    const credited = this.#month.chosen(this.#month.firm.clients, 0.04).flatMap((client) => {
      const invoice = client.invoices.find((one) => dueOn(one) > 0n);
      if (invoice === undefined) return [];
      const amount = divideHalfUp(invoice.total * BigInt(this.#month.random.between(5, 40)), 100n);
      return amount > 0n ? [{ client, invoice, amount, ref: this.#month.ref('note') }] : [];
    });
    const day = this.#month.day(27);
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
    await this.#month.calls.create(items, 50);
    const notes = await this.#invoices.post(credited.map(({ ref }) => ref));
    const credits = await this.#month.calls.rows('payments', { creditNoteId: { _in: notes.map(({ id }) => id) } });
    const creditOf = new Map(credits.map((credit) => [credit.creditNoteId, credit]));
    const applied = credited.flatMap(({ client, invoice, amount }, index) => {
      const note = notes[index];
      const credit = creditOf.get(note?.id);
      if (note === undefined || credit === undefined) throw new Error('A credit note has a credit.');
      const payment: Payment = {
        ref: String(credit.systemRef),
        id: String(credit.id),
        method: 'CREDIT',
        amount,
        note: { ref: String(note.systemRef), invoice },
        allocations: new Map(),
        refunded: 0n,
        status: 'COMPLETED',
      };
      client.payments.push(payment);
      invoice.credited += amount;
      this.#month.journal.add('CREDIT CREDIT_NOTE', amount);
      const parts = this.#month.random.chance(0.7)
        ? shareOut(amount, withoutPending(client))
        : new Map<Invoice, Cents>();
      return parts.size > 0 ? [{ payment, parts }] : [];
    });
    await this.#month.calls.update(
      applied.map(({ payment, parts }) => this.#payments.of(payment, { allocations: sent(parts) })),
    );
    for (const { payment, parts } of applied) this.#payments.allocate(payment, parts);
  }

  /** Credit notes that are not applied are voided now and then, with their credit. */
  async voidSome(): Promise<void> {
    const voided = this.#month.chosen(
      this.#payments.all.filter(
        ({ status, note, allocations }) => status === 'COMPLETED' && note && allocations.size === 0,
      ),
      0.2,
    );
    const attributes = { status: 'VOIDED', voidReason: 'Twice', changeDate: this.#month.day(28) };
    await this.#month.calls.update(
      voided.map(({ note }) => ({ type: 'Invoice', systemRef: note?.ref ?? '', attributes })),
    );
    for (const payment of voided) {
      this.#month.journal.add('CREDIT NOTE_VOID', -payment.amount);
      if (payment.note) payment.note.invoice.credited -= payment.amount;
      payment.status = 'GONE';
    }
  }
}
