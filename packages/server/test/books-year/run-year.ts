import { Random } from '@financial-automation/demo-data/profiles/random';
import { type ClosedMonth, figuresAsOf } from './audit.ts';
import { createFirm, type YearSize } from './firm.ts';
import { FirmCalls, type Sender } from './firm-calls.ts';
import { Journal } from './journal.ts';
import { Month } from './month.ts';
import { MonthCredits } from './month-credits.ts';
import { MonthInvoices } from './month-invoices.ts';
import { MonthPayments } from './month-payments.ts';
import { MonthWork } from './month-work.ts';

interface YearOptions {
  readonly preparer: Sender;
  readonly approver: Sender;
  readonly year: number;
  readonly size: YearSize;
  /** Called after each month with what it did. */
  readonly progress?: (text: string) => void;
}

/** Runs a year of a firm through the API, and closes each month. */
export async function runYear({ preparer, approver, year, size, progress }: YearOptions) {
  const calls = new FirmCalls(preparer, approver);
  const journal = new Journal();
  const random = new Random(year);
  const started = performance.now();
  const seconds = () => `${((performance.now() - started) / 1_000).toFixed(0)} s, ${calls.count} calls`;
  const firm = await createFirm(calls, random, year, size);
  progress?.(`${size.staff} people, ${size.clients} clients and ${size.jobs} jobs (${seconds()})`);
  const months = monthsOf(new Month(calls, random, journal, firm));
  const closed: ClosedMonth[] = [];
  for (let month = 1; month <= size.months; month++) {
    const day = await months(month);
    const figures = await figuresAsOf(calls, day);
    await calls.update([{ type: 'Org', systemRef: firm.orgRef, attributes: { booksClosedThrough: day } }]);
    closed.push({ day, closedAt: new Date().toISOString(), figures });
    progress?.(`closed through ${day} (${seconds()})`);
  }
  return { calls, journal, closed };
}

/**
 * Returns what does everything of a month, and returns its last day. Days within a month rise from one kind of change to the next, as they
 * do in a firm, so that everything counts for the month in which it is entered.
 */
function monthsOf(month: Month): (number: number) => Promise<string> {
  const [work, payments, invoices] = [new MonthWork(month), new MonthPayments(month), new MonthInvoices(month)];
  const credits = new MonthCredits(month, payments, invoices);
  return async (number) => {
    month.start(number);
    const days = Temporal.PlainYearMonth.from({ year: month.firm.year, month: number }).daysInMonth;
    await work.approveLate();
    await work.enterTime(days);
    await work.enterExpenses(days);
    await invoices.import();
    await payments.settle();
    await payments.receive();
    await payments.returnSome();
    await payments.moveAllocations();
    await payments.unapply();
    await payments.applyCredits();
    await payments.refund();
    await payments.voidSome();
    await credits.create();
    await credits.voidSome();
    await invoices.recover();
    await invoices.writeOff();
    await work.recover(days);
    await work.writeOff(days);
    await invoices.bill(days);
    await invoices.voidSome(days);
    return month.day(days);
  };
}
