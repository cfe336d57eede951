import { type Decimal, parseDecimal, round, sum, zero } from './decimal.ts';

/**
 * What a rule of money calculates with, so that each rule is written once: the service calculates with decimals, and
 * `scripts/rule-functions.ts` writes the functions of the database with expressions of SQL.
 */
export interface Arithmetic<Amount, Text> {
  readonly zero: Amount;
  readonly plus: (...amounts: readonly Amount[]) => Amount;
  readonly minus: (amount: Amount, ...others: readonly Amount[]) => Amount;
  readonly times: (amount: Amount, other: Amount) => Amount;
  readonly percentOf: (amount: Amount, percent: Amount) => Amount;
  /** The part of an amount that is a percentage, when it includes `all` percent: 19 of 119, or 9 of 119. */
  readonly percentIn: (amount: Amount, percent: Amount, all: Amount) => Amount;
  /** Rounds half up to the minor unit of the currency. */
  readonly round: (amount: Amount) => Amount;
  /** The first amount if a text is one of those that are listed, such as a status. */
  readonly when: (text: Text, listed: readonly string[], amount: Amount, otherwise: Amount) => Amount;
}

const hundred = parseDecimal('100');

/** @param places decimal places of the currency; rules that do not round need none */
export function decimals(places = 2): Arithmetic<Decimal, string> {
  return {
    zero,
    plus: (...amounts) => sum(amounts),
    minus: (amount, ...others) => amount.minus(sum(others)),
    times: (amount, other) => amount.times(other),
    percentOf: (amount, percent) => amount.times(percent).div(hundred),
    percentIn: (amount, percent, all) => amount.times(percent).div(hundred.plus(all)),
    round: (amount) => round(amount, places),
    when: (text, listed, amount, otherwise) => (listed.includes(text) ? amount : otherwise),
  };
}
