import { type Cents, divideHalfUp, money, total } from '../books/cents.ts';
import { sent, shareOut, withoutPending } from './allocations.ts';
import { dueOn, type Invoice, type Payment, unappliedOf } from './firm.ts';
import type { Item } from './firm-calls.ts';
import { changeReason, type Month } from './month.ts';

/** The payments of each month, and their corrections. */
export class MonthPayments {
  readonly #month: Month;

  constructor(month: Month) {
    this.#month = month;
  }

  get all(): Payment[] {
    return this.#month.firm.clients.flatMap(({ payments }) => payments);
  }

  /** Bank debits of the last month settle; some fail. */
  async settle(): Promise<void> {
    const pending = this.all.filter(({ status }) => status === 'PENDING');
    const failed = new Set(this.#month.chosen(pending, 0.1));
    await this.#month.calls.update(
      pending.map((payment) => this.of(payment, { status: failed.has(payment) ? 'FAILED' : 'COMPLETED' })),
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
    this.#month.journal.add('CREDIT PAYMENT', payment.amount);
    for (const [invoice, part] of payment.allocations) {
      invoice.covered += part;
      this.#month.journal.move('ALLOCATION', -part);
    }
  }

  of({ ref }: Payment, attributes: object): Item {
    return { type: 'Payment', systemRef: ref, attributes };
  }

  async receive(): Promise<void> {
    const received = this.#month.firm.clients.flatMap((client) => {
      const open = withoutPending(client).filter((invoice) => dueOn(invoice) > 0n);
      const [first] = open;
      if (first === undefined || this.#month.random.chance(0.3)) return [];
      const kind = this.#month.random.weighted([
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
      const extra = kind === 'more' || kind === 'ahead' ? BigInt(this.#month.random.between(1_000, 200_000)) : 0n;
      const amount = total(allocations.values()) + extra;
      const method = this.#month.random.pick(['CHECK', 'CHECK', 'WIRE', 'ACH', 'CARD', 'CASH', 'OTHER']);
      return amount > 0n ? [{ client, allocations, amount, method, ref: this.#month.ref('payment') }] : [];
    });
    const items = received.map(({ client, allocations, amount, method, ref }) => ({
      type: 'Payment',
      systemRef: ref,
      attributes: {
        clientId: client.id,
        paymentDate: this.#month.day(this.#month.random.between(3, 20)),
        amount: money(amount),
        currency: 'USD',
        method,
        source: 'MANUAL',
        allocations: sent(allocations),
      },
    }));
    for (const [index, { id, attributes }] of (await this.#month.calls.create(items)).entries()) {
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
    return this.all.filter(({ status, note }) => status === 'COMPLETED' && note === undefined);
  }

  #takeBack(payment: Payment): void {
    for (const [invoice, part] of payment.allocations) {
      invoice.covered -= part;
      this.#month.journal.move('DEALLOCATION', part);
    }
    payment.allocations.clear();
  }

  /** Checks bounce and wires are recalled, also after a refund. */
  async returnSome(): Promise<void> {
    const returned = this.#month.chosen(
      this.#money.filter(({ method }) => method !== 'CASH'),
      0.012,
    );
    const changes = { status: 'RETURNED', changeDate: this.#month.day(22), changeReason };
    await this.#month.calls.update(returned.map((payment) => this.of(payment, changes)));
    for (const payment of returned) {
      this.#takeBack(payment);
      this.#month.journal.add('CREDIT RETURN', -payment.amount);
      payment.status = 'GONE';
    }
  }

  /** Money on a wrong invoice goes to another one of the client. */
  async moveAllocations(): Promise<void> {
    const moved = this.#month.firm.clients.flatMap((client) => {
      const target = withoutPending(client).find((invoice) => dueOn(invoice) > 0n);
      const wrong = client.payments.find(
        ({ status, note, allocations }) => status === 'COMPLETED' && note === undefined && allocations.size === 1,
      );
      const [from, part] = [...(wrong?.allocations ?? [])][0] ?? [];
      if (target === undefined || wrong === undefined || from === undefined || part === undefined) return [];
      if (from === target || part > dueOn(target) || !this.#month.random.chance(0.15)) return [];
      return [{ payment: wrong, to: new Map([[target, part]]) }];
    });
    const changes = { changeDate: this.#month.day(23), changeReason };
    await this.#month.calls.update(
      moved.map(({ payment, to }) => this.of(payment, { allocations: sent(to), ...changes })),
    );
    for (const { payment, to } of moved) {
      this.#takeBack(payment);
      this.allocate(payment, to);
    }
  }

  allocate(payment: Payment, parts: ReadonlyMap<Invoice, Cents>): void {
    for (const [invoice, part] of parts) {
      payment.allocations.set(invoice, (payment.allocations.get(invoice) ?? 0n) + part);
      invoice.covered += part;
      this.#month.journal.move('ALLOCATION', -part);
    }
  }

  async unapply(): Promise<void> {
    const unapplied = this.#month.chosen(
      this.#money.filter(({ allocations }) => allocations.size > 0),
      0.01,
    );
    const changes = { allocations: [], changeDate: this.#month.day(24), changeReason };
    await this.#month.calls.update(unapplied.map((payment) => this.of(payment, changes)));
    for (const payment of unapplied) this.#takeBack(payment);
  }

  /** What clients have left pays other invoices of theirs. */
  async applyCredits(): Promise<void> {
    const applied = this.#month.firm.clients.flatMap((client) => {
      const payment = client.payments.find((one) => one.status === 'COMPLETED' && unappliedOf(one) > 0n);
      if (payment === undefined || !this.#month.random.chance(0.4)) return [];
      const parts = shareOut(unappliedOf(payment), withoutPending(client));
      return parts.size > 0 ? [{ payment, parts }] : [];
    });
    await this.#month.calls.update(
      applied.map(({ payment, parts }) => this.of(payment, { allocations: sent(payment.allocations, parts) })),
    );
    for (const { payment, parts } of applied) this.allocate(payment, parts);
  }

  async refund(): Promise<void> {
    const refunds = this.#month
      .chosen(
        this.#money.filter((payment) => unappliedOf(payment) > 0n && payment.method !== 'CREDIT'),
        0.4,
      )
      .map((payment) => {
        const rest = unappliedOf(payment);
        return { payment, amount: this.#month.random.chance(0.5) ? rest : divideHalfUp(rest, 2n) };
      });
    await this.#month.calls.update(
      refunds.map(({ payment, amount }) =>
        this.of(payment, {
          refundedAmount: money(payment.refunded + amount),
          changeDate: this.#month.day(26),
          changeReason,
        }),
      ),
    );
    for (const { payment, amount } of refunds) {
      payment.refunded += amount;
      this.#month.journal.add('CREDIT REFUND', -amount);
    }
  }

  async voidSome(): Promise<void> {
    const voided = this.#month.chosen(
      this.#money.filter(({ amount, refunded }) => refunded < amount),
      0.004,
    );
    const changes = { status: 'VOIDED', changeDate: this.#month.day(26), changeReason };
    await this.#month.calls.update(voided.map((payment) => this.of(payment, changes)));
    for (const payment of voided) {
      this.#takeBack(payment);
      this.#month.journal.add('CREDIT PAYMENT_VOID', payment.refunded - payment.amount);
      payment.status = 'GONE';
    }
  }
}
