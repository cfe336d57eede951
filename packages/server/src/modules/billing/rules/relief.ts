import { roundMoney } from '../../../contract/currency.ts';
import { type Decimal, isBetween, sum, zero } from '../../../platform/decimal.ts';

/** The amounts that a line takes from a row. */
export interface Relief {
  readonly billed: Decimal;
  /** The amount billed beyond the outstanding amount. */
  readonly writeUp: Decimal;
  /** The outstanding amount that is written off. */
  readonly writeOff: Decimal;
}

/**
 * Calculates the amounts that a line takes from each of its rows. The amount is divided in proportion to the outstanding
 * amounts; the last row takes the remaining cents. A line that relieves its rows in full writes off what it does not bill.
 *
 * @param outstanding the amounts of the rows, in the order of their IDs
 */
export function reliefOf(
  { relief, amount }: { readonly relief: 'FULL' | 'PART'; readonly amount: Decimal },
  outstanding: readonly Decimal[],
  currency: string,
): Relief[] {
  const isPart = relief === 'PART' && isBetween(amount, zero, sum(outstanding));
  const shares = isPart
    ? withinRows(shareOf(amount, outstanding, currency), outstanding)
    : shareOf(amount, outstanding, currency);
  return outstanding.map((one, index) => {
    const billed = shares[index] ?? zero;
    const difference = isPart ? zero : billed.minus(one);
    return difference.gt(zero)
      ? { billed, writeUp: difference, writeOff: zero }
      : { billed, writeUp: zero, writeOff: zero.minus(difference) };
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
