import { Random } from '../../../demo-data/src/profiles/random.ts';
import { type ClosedMonth, figuresAsOf } from './audit.ts';
import { createFirm, type YearSize } from './firm.ts';
import { FirmCalls, type Sender } from './firm-calls.ts';
import { Journal } from './journal.ts';
import { Months } from './month.ts';

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
  const months = new Months(calls, random, journal, firm);
  const closed: ClosedMonth[] = [];
  for (let month = 1; month <= size.months; month++) {
    const day = await months.run(month);
    const figures = await figuresAsOf(calls, day);
    await calls.update([{ type: 'Org', systemRef: firm.orgRef, attributes: { booksClosedThrough: day } }]);
    closed.push({ day, closedAt: new Date().toISOString(), figures });
    progress?.(`closed through ${day} (${seconds()})`);
  }
  return { calls, journal, closed };
}
