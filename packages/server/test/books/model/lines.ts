import { calculateLines, totalsOf } from '../../../src/modules/billing/rules/document.ts';
import { isFee, jobAmountsOf, jobBilling } from '../../../src/modules/billing/rules/job-amounts.ts';
import { reliefOf as reliefOfRows } from '../../../src/modules/billing/rules/relief.ts';
import { parseDecimal } from '../../../src/platform/decimal.ts';
import { type Cents, centsOf, decimalOf, total } from '../cents.ts';
import type { SentLine } from '../requests.ts';
import { billedFeeOf, outstandingOf } from './balances.ts';
import { type Billed, currencyOf, found, type Line, type ModelBooks, must, type Relief, type WipRow } from './rows.ts';

/** Lines with their amounts. @param draft that has them; undefined for an import */
export function priced(
  books: ModelBooks,
  lines: readonly SentLine[],
  draft: string | undefined,
  clientId: string,
): Line[] {
  const { rows } = books;
  const named = lines.flatMap(({ wipIds }) => wipIds);
  must(new Set(named).size === named.length);
  const decimal = lines.map(({ quantity, unitAmount, taxable, taxRatePercent, ...rest }) => ({
    ...rest,
    quantity: parseDecimal(quantity),
    unitAmount: parseDecimal(unitAmount),
    taxes: taxable ? [{ name: 'Tax', ratePercent: parseDecimal(taxRatePercent), category: null, regionId: null }] : [],
  }));
  const pricing = { currency: currencyOf(books, clientId), pricesIncludeTax: false, taxRounding: 'LINE' } as const;
  return calculateLines(decimal, pricing).map((line): Line => {
    const { lineType, jobId, relief, exceedsFee, wipIds } = line;
    const [amount, tax] = [centsOf(line.amount), centsOf(line.taxAmount)];
    must(wipIds.length === 0 || (lineType !== 'DISCOUNT' && lineType !== 'INTEREST'));
    must(lineType === 'DISCOUNT' ? amount <= 0n : amount >= 0n || wipIds.length > 0);
    const work = wipIds.map((id) => found(rows.wips, id));
    const isFree = (row: WipRow) =>
      row.status === 'OPEN' || row.status === 'PARTIALLY_BILLED' || (row.status === 'IN_DRAFT' && row.draft === draft);
    must(work.every((row) => row.clientId === clientId && isFree(row)));
    const outstanding = total(work.map(outstandingOf));
    must(lineType === 'DISCOUNT' || (outstanding < 0n ? amount <= 0n : amount >= 0n));
    return { lineType, jobId, relief, exceedsFee, wipIds, amount, tax };
  });
}

export function areZero(lines: readonly Line[]): boolean {
  return lines.every(({ amount, tax }) => amount === 0n && tax === 0n);
}

export function totalOf(lines: readonly Line[]): Cents {
  const decimal = lines.map(({ lineType, amount, tax }) => ({
    lineType,
    amount: decimalOf(amount),
    taxAmount: decimalOf(tax),
  }));
  return centsOf(totalsOf(decimal).total);
}

/** The amounts that a line takes from its rows. */
export function reliefOf(books: ModelBooks, { relief, amount, wipIds }: Line): Relief[] {
  const { rows } = books;
  // The IDs of rows ascend in the order of their creation.
  const ids = [...rows.wips.keys()].filter((id) => wipIds.includes(id));
  if (ids[0] === undefined) return [];
  const outstanding = ids.map((id) => decimalOf(outstandingOf(found(rows.wips, id))));
  const currency = currencyOf(books, found(rows.wips, ids[0]).clientId);
  const taken = reliefOfRows({ relief, amount: decimalOf(amount) }, outstanding, currency);
  return taken.map(({ billed, writeUp, writeOff }, index) => ({
    wipId: ids[index] ?? '',
    billed: centsOf(billed),
    up: centsOf(writeUp),
    off: centsOf(writeOff),
  }));
}

/** What lines bill jobs. */
export function billedBy(books: ModelBooks, lines: readonly Line[], clientId: string): Billed[] {
  const billing = jobBilling(
    lines.map((line) => asBilled(books, line)),
    currencyOf(books, clientId),
  );
  return [...billing].map(([jobId, { billed, fee, feeWithoutWork }]) => ({
    jobId,
    billed: centsOf(billed),
    fee: centsOf(fee),
    feeWithoutWork: centsOf(feeWithoutWork),
  }));
}

/** Whether the lines bill at most what remains of the fees of their jobs. */
export function keepsFees(books: ModelBooks, lines: readonly Line[]): boolean {
  const taken = new Map<string, Cents>();
  for (const line of lines) {
    if (!isFee(line) || line.exceedsFee) continue;
    for (const part of jobAmountsOf(asBilled(books, line))) {
      const { jobId } = part;
      const amount = centsOf(part.amount);
      const fee = jobId === null ? undefined : books.firm.feeOfJob.get(jobId);
      if (jobId === null || fee === undefined) continue;
      const before = taken.get(jobId) ?? billedFeeOf(books, jobId);
      if (amount > 0n && before + amount > fee) return false;
      taken.set(jobId, before + amount);
    }
  }
  return true;
}

function asBilled(books: ModelBooks, line: Line) {
  const { lineType, jobId, amount } = line;
  const work = reliefOf(books, line).map(({ wipId, billed }) => ({
    jobId: found(books.rows.wips, wipId).jobId,
    billed: decimalOf(billed),
  }));
  return { lineType, jobId, amount: decimalOf(amount), work };
}
