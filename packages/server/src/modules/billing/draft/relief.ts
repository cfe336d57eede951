import { roundMoney } from '../../../contract/currency.ts';
import { type Decimal, isBetween, sum, zero } from '../../../platform/decimal.ts';
import type { InvoiceLine } from '../invoice/invoice-lines.ts';

/** A row of work in progress that a line bills. */
export interface BilledRow {
  readonly id: string;
  readonly outstandingAmount: Decimal;
  readonly currency: string;
}

/** The amounts that a line takes from a row. */
export interface Relief {
  readonly wipEntryId: string;
  readonly billed: Decimal;
  /** The amount billed beyond the outstanding amount. */
  readonly writeUp: Decimal;
  /** The outstanding amount that is written off. */
  readonly writeOff: Decimal;
}

/**
 * Calculates the amounts that a line takes from each of its rows. The amount is divided in proportion to the outstanding
 * amounts, in the order of the IDs; the last row takes the remaining cents. A line that relieves its rows in full writes off
 * what it does not bill.
 */
export function reliefOf(
  { relief, amount }: Pick<InvoiceLine, 'relief' | 'amount'>,
  rows: readonly BilledRow[],
): Relief[] {
  const sorted = [...rows].sort((one, other) => (one.id < other.id ? -1 : 1));
  const outstanding = sorted.map((row) => row.outstandingAmount);
  const currency = sorted[0]?.currency ?? '';
  const isPart = relief === 'PART' && isBetween(amount, zero, sum(outstanding));
  const shares = isPart
    ? withinRows(shareOf(amount, outstanding, currency), outstanding)
    : shareOf(amount, outstanding, currency);
  return sorted.map(({ id, outstandingAmount }, index) => {
    const billed = shares[index] ?? zero;
    const difference = billed.minus(outstandingAmount);
    const [writeUp, writeOff] = difference.gt(zero) ? [difference, zero] : [zero, zero.minus(difference)];
    return isPart
      ? { wipEntryId: id, billed, writeUp: zero, writeOff: zero }
      : { wipEntryId: id, billed, writeUp, writeOff };
  });
}

/** Divides an amount in proportion to the outstanding amounts; the last share takes the rest. */
export function shareOf(amount: Decimal, outstanding: readonly Decimal[], currency: string): Decimal[] {
  const total = sum(outstanding);
  let left = amount;
  return outstanding.map((one, index) => {
    // Most lines bill one row, which takes the amount without any division.
    const share = index === outstanding.length - 1 ? left : roundMoney(proportionOf(amount, one, total), currency);
    left = left.minus(share);
    return share;
  });
}

function proportionOf(amount: Decimal, one: Decimal, total: Decimal): Decimal {
  // Rows that cancel each other out have no proportion: each is billed in full, and the last one takes the amount.
  if (total.eq(zero)) return one;
  return amount.eq(zero) ? zero : amount.times(one).div(total);
}

/**
 * Limits the shares of a partial billing to the outstanding amounts. Rounding leaves more cents than the last row can
 * take only with many tiny rows; these go to the rows before it.
 */
function withinRows(shares: readonly Decimal[], outstanding: readonly Decimal[]): Decimal[] {
  let excess = zero;
  const limited = shares.map((share, index) => {
    const limit = outstanding[index] ?? zero;
    const kept = isBetween(share, zero, limit) ? share : nearer(share, zero, limit);
    excess = excess.plus(share).minus(kept);
    return kept;
  });
  for (let index = limited.length - 1; index >= 0 && !excess.eq(zero); index--) {
    const [kept, limit] = [limited[index] ?? zero, outstanding[index] ?? zero];
    const next = kept.plus(excess);
    const moved = isBetween(next, zero, limit) ? next : nearer(next, zero, limit);
    excess = excess.minus(moved.minus(kept));
    limited[index] = moved;
  }
  return limited;
}

/** Returns the bound that is closer to a value outside of both. */
function nearer(value: Decimal, one: Decimal, other: Decimal): Decimal {
  const [low, high] = one.lt(other) ? [one, other] : [other, one];
  return value.lt(low) ? low : high;
}
