import { type Cents, divideToUnits, scaled, total, unitOf } from '../cents.ts';
import type { SentLine } from '../requests.ts';
import { billedFeeOf, outstandingOf } from './balances.ts';
import { type Billed, currencyOf, found, type Line, type ModelBooks, must, type Relief, type WipRow } from './rows.ts';

const feeTypes: readonly string[] = ['FIXED_FEE', 'PROGRESS'];

/** Lines with their amounts. @param draft that has them; undefined for an import */
export function priced(
  books: ModelBooks,
  lines: readonly SentLine[],
  draft: string | undefined,
  clientId: string,
): Line[] {
  const { rows } = books;
  const unit = unitOf(currencyOf(books, clientId));
  const named = lines.flatMap(({ wipIds }) => wipIds);
  must(new Set(named).size === named.length);
  return lines.map(({ quantity, unitAmount, taxable, taxRatePercent, ...rest }): Line => {
    const { lineType, wipIds } = rest;
    const amount = divideToUnits(scaled(quantity, 4) * scaled(unitAmount, 4), 1_000_000n, unit);
    const tax = taxable ? divideToUnits(amount * scaled(taxRatePercent, 4), 1_000_000n, unit) : 0n;
    must(wipIds.length === 0 || (lineType !== 'DISCOUNT' && lineType !== 'INTEREST'));
    must(lineType === 'DISCOUNT' ? amount <= 0n : amount >= 0n || wipIds.length > 0);
    const work = wipIds.map((id) => found(rows.wips, id));
    const isFree = (row: WipRow) =>
      row.status === 'OPEN' || row.status === 'PARTIALLY_BILLED' || (row.status === 'IN_DRAFT' && row.draft === draft);
    must(work.every((row) => row.clientId === clientId && isFree(row)));
    const outstanding = total(work.map(outstandingOf));
    must(lineType === 'DISCOUNT' || (outstanding < 0n ? amount <= 0n : amount >= 0n));
    return { ...rest, amount, tax };
  });
}

/** Discounts are negative amounts, so the total is the sum of all amounts and all taxes. */
export function totalOf(lines: readonly Line[]): Cents {
  return total(lines.map(({ amount, tax }) => amount + tax));
}

/**
 * The amounts that a line takes from its rows: in proportion to the outstanding amounts, the last one takes the rest.
 */
export function reliefOf(books: ModelBooks, { relief, amount, wipIds }: Line): Relief[] {
  const { rows } = books;
  // The IDs of rows ascend in the order of their creation.
  const ids = [...rows.wips.keys()].filter((id) => wipIds.includes(id));
  const amounts = ids.map((id) => outstandingOf(found(rows.wips, id)));
  const unit = unitOf(ids[0] === undefined ? '' : currencyOf(books, found(rows.wips, ids[0]).clientId));
  const all = total(amounts);
  const isPart = relief === 'PART' && (all < 0n ? amount >= all && amount <= 0n : amount >= 0n && amount <= all);
  let left = amount;
  const shares = amounts.map((one, index) => {
    const share = index === ids.length - 1 ? left : all === 0n ? one : divideToUnits(amount * one, all, unit);
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
export function billedBy(books: ModelBooks, lines: readonly Line[], clientId: string): Billed[] {
  const unit = unitOf(currencyOf(books, clientId));
  const named = lines.flatMap((line) => partsOf(books, line));
  const others = named.filter(({ lineType }) => lineType !== 'DISCOUNT');
  const discounts = named.filter(({ lineType }) => lineType === 'DISCOUNT');
  const common = total(discounts.filter(({ jobId }) => jobId === null).map(({ amount }) => amount));
  const all = total(others.map(({ amount }) => amount));
  let left = common;
  const shared = others.map((part, index) => {
    const isLast = index === others.length - 1;
    const discount = all === 0n ? 0n : isLast ? left : divideToUnits(common * part.amount, all, unit);
    left -= discount;
    return { ...part, discount };
  });
  return [...shared, ...discounts.filter(({ jobId }) => jobId !== null)];
}

/** Whether the lines bill at most what remains of the fees of their jobs. */
export function keepsFees(books: ModelBooks, lines: readonly Line[]): boolean {
  const taken = new Map<string, Cents>();
  for (const line of lines) {
    if (!feeTypes.includes(line.lineType) || line.exceedsFee) continue;
    for (const { jobId, amount } of partsOf(books, line)) {
      const fee = jobId === null ? undefined : books.firm.feeOfJob.get(jobId);
      if (jobId === null || fee === undefined) continue;
      const before = taken.get(jobId) ?? billedFeeOf(books, jobId);
      if (amount > 0n && before + amount > fee) return false;
      taken.set(jobId, before + amount);
    }
  }
  return true;
}

/** What a line bills its job, or the jobs of its work, in the order of their IDs. */
function partsOf(books: ModelBooks, line: Line): (Billed & { readonly lineType: string })[] {
  const { lineType, jobId, amount, wipIds } = line;
  const part = { lineType, discount: 0n, isFee: feeTypes.includes(lineType), hasWork: wipIds.length > 0 };
  if (jobId !== null || wipIds.length === 0) return [{ ...part, jobId, amount }];
  const reliefs = reliefOf(books, line).map(({ wipId, billed }) => ({
    of: found(books.rows.wips, wipId).jobId,
    billed,
  }));
  return [...new Set(reliefs.map(({ of }) => of))].sort().map((of) => {
    const ofJob = reliefs.filter((relief) => relief.of === of);
    return { ...part, jobId: of, amount: total(ofJob.map(({ billed }) => billed)) };
  });
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
