import { type Decimal, sum, zero } from '../../../platform/decimal.ts';

/** A change of a balance on a day. */
export interface DayAmount {
  readonly businessDate: string;
  readonly amount: Decimal;
}

/** The changes of each day as one. */
export function byDay(changes: readonly DayAmount[]): readonly DayAmount[] {
  const days = Map.groupBy(changes, ({ businessDate }) => businessDate);
  return [...days].map(([businessDate, all]) => ({ businessDate, amount: sum(all.map(({ amount }) => amount)) }));
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
  const days = byDay(entries);
  let balance = days.reduce((sum, { businessDate, amount }) => (businessDate > day ? sum : sum.plus(amount)), change);
  let first = day;
  let isWrongSince = isWrong(balance);
  const later = days.filter(({ businessDate }) => businessDate > day);
  for (const next of later.sort((one, other) => (one.businessDate < other.businessDate ? -1 : 1))) {
    balance = balance.plus(next.amount);
    // Only from the day on which the balance has its sign again can the change be entered.
    if (isWrongSince) first = next.businessDate;
    isWrongSince = isWrong(balance);
  }
  return first;
}
