import { type Cents, divideHalfUp, money } from '../books/cents.ts';
import type { OpenWork } from './firm.ts';
import type { Item } from './firm-calls.ts';
import { changeReason, type Month } from './month.ts';

interface Entry {
  readonly item: Item;
  /** What its work adds to a job; undefined if it is not billed. */
  readonly work: { readonly open: OpenWork; readonly amount: Cents } | undefined;
}

/** The time and expenses of each month, and work that is written off. */
export class MonthWork {
  readonly #month: Month;
  /** Entries that wait for approval in the next month. */
  #late: Entry[] = [];
  /** Work that was written off: the row by its ID. */
  readonly #lostWork = new Map<string, { readonly open: OpenWork; readonly amount: Cents }>();

  constructor(month: Month) {
    this.#month = month;
  }

  async approveLate(): Promise<void> {
    await this.#approve(this.#late.splice(0));
  }

  async enterTime(days: number): Promise<void> {
    const { people, jobs, size } = this.#month.firm;
    const workdays = Array.from({ length: days }, (_, index) => this.#month.day(index + 1)).filter(
      (day) => Temporal.PlainDate.from(day).dayOfWeek < 6,
    );
    const billed = jobs.filter(({ monthlyFee }) => monthlyFee === undefined);
    const entries = Array.from({ length: Math.round(size.entries / 12) }, (_, number): Entry => {
      const person = people[number % people.length];
      const job = billed[this.#month.random.below(billed.length)];
      if (person === undefined || job === undefined) throw new Error('A firm has people and jobs.');
      const tenths = BigInt(this.#month.random.between(1, 27));
      const isBillable = this.#month.random.chance(0.85);
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
        item: { type: 'TimeEntry', systemRef: this.#month.ref('time'), attributes },
        work: isBillable ? work : undefined,
      };
    });
    await this.#month.calls.enter(entries.map(({ item }) => item));
    const approved = entries.filter((entry) => {
      const isLate = this.#month.random.chance(0.03);
      if (isLate) this.#late.push(entry);
      return !isLate;
    });
    const rejected = new Set(this.#month.chosen(approved, 0.01));
    await this.#month.calls.approveEntries(
      [...rejected].map(({ item }) => ({ ...item, attributes: { status: 'REJECTED', rejectionReason: 'Wrong job' } })),
    );
    await this.#approve(approved.filter((entry) => !rejected.has(entry)));
    await this.#reverse(this.#month.chosen(approved, 0.005).filter((entry) => !rejected.has(entry)));
  }

  /** Takes back entries of this month, whose work is not billed yet, with entries of their own. */
  async #reverse(entries: readonly Entry[]): Promise<void> {
    const reversals = entries.map(({ item, work }): Entry => {
      const { hours, ...attributes } = { hours: '', ...item.attributes };
      const reversal = { ...attributes, hours: `-${hours}`, reversesSystemRef: item.systemRef };
      return {
        item: { type: 'TimeEntry', systemRef: this.#month.ref('reversal'), attributes: reversal },
        work: work && { open: work.open, amount: -work.amount },
      };
    });
    await this.#month.calls.enter(reversals.map(({ item }) => item));
    await this.#approve(reversals);
  }

  async enterExpenses(days: number): Promise<void> {
    const { people, jobs } = this.#month.firm;
    const some = this.#month.chosen(
      jobs.filter(({ monthlyFee }) => monthlyFee === undefined),
      0.05,
    );
    const entries = some.map((job): Entry => {
      const amount = BigInt(this.#month.random.between(1_000, 90_000));
      const attributes = {
        staffId: people[this.#month.random.below(people.length)]?.id,
        jobId: job.id,
        code: 'TRAVEL',
        expenseDate: this.#month.day(this.#month.random.between(1, days)),
        cost: money(amount),
        billableAmount: money(amount),
        description: 'Train',
        status: 'SUBMITTED',
      };
      return {
        item: { type: 'ExpenseEntry', systemRef: this.#month.ref('expense'), attributes },
        work: { open: job.expenses, amount },
      };
    });
    await this.#month.calls.enter(entries.map(({ item }) => item));
    await this.#approve(entries);
  }

  async #approve(entries: readonly Entry[]): Promise<void> {
    const approved = await this.#month.calls.approveEntries(
      entries.map(({ item }) => ({ ...item, attributes: { status: 'APPROVED' } })),
    );
    for (const [index, { work }] of entries.entries()) {
      const wipId = approved[index]?.attributes?.wipId;
      if (work === undefined) continue;
      if (typeof wipId !== 'string') throw new Error('Approved billable work has a row of work in progress.');
      work.open.rows.set(wipId, work.amount);
      work.open.left += work.amount;
      this.#month.journal.add('WIP WORK', work.amount);
    }
  }

  async writeOff(days: number): Promise<void> {
    const lost = this.#month.chosen(this.#month.firm.jobs, 0.01).flatMap(({ time }) => {
      const [id, amount] = [...time.rows].find(([, value]) => value > 0n) ?? [];
      return id === undefined || amount === undefined || time.isPart ? [] : [{ id, open: time, amount }];
    });
    const changes = { writeOffReason: 'Courtesy', changeDate: this.#month.day(days) };
    await this.#month.calls.update(
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
      this.#month.journal.add('WIP WRITE_OFF', -amount);
    }
  }

  async recover(days: number): Promise<void> {
    const recovered = this.#month.chosen([...this.#lostWork], 0.3).filter(([, { open }]) => !open.isPart);
    const attributes = { writeOffAmount: '0.00', changeDate: this.#month.day(days), changeReason };
    await this.#month.calls.update(recovered.map(([id]) => ({ type: 'WipEntry', systemRef: id, attributes })));
    for (const [id, { open, amount }] of recovered) {
      this.#lostWork.delete(id);
      open.rows.set(id, amount);
      open.left += amount;
      this.#month.journal.add('WIP RECOVERY', amount);
    }
  }
}
