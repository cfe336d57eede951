import { type Decimal, zero } from '../../../platform/decimal.ts';

/** A change of a balance on a day. */
export interface DayAmount {
  readonly businessDate: string;
  readonly amount: Decimal;
}

/**
 * Returns the first day, not before a given one, from which on a change keeps a balance from changing its sign: on that day and
 * on every later one. If there is none, returns the day of the last entry, or the given one.
 *
 * @param entries of the balance, in any order
 * @param sign of the balance: 1 if it must not be negative, -1 if it must not be positive
 */
export function firstDayFor(day: string, change: Decimal, entries: readonly DayAmount[], sign: 1 | -1 = 1): string {
  const isWrong = (balance: Decimal) => (sign === 1 ? balance.lt(zero) : balance.gt(zero));
  const later = entries.filter(({ businessDate }) => businessDate > day);
  let balance = entries.reduce(
    (sum, { businessDate, amount }) => (businessDate > day ? sum : sum.plus(amount)),
    change,
  );
  let first = day;
  let isWrongSince = isWrong(balance);
  const byDay = Map.groupBy(later, ({ businessDate }) => businessDate);
  for (const next of [...byDay.keys()].sort()) {
    for (const { amount } of byDay.get(next) ?? []) balance = balance.plus(amount);
    // Only from the day on which the balance has its sign again can the change be entered.
    if (isWrongSince) first = next;
    isWrongSince = isWrong(balance);
  }
  return first;
}
