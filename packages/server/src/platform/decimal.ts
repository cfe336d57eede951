import Big from 'big.js';

/** A number with exact arithmetic: money, hours, rates and percentages. */
export type Decimal = Big;

const Exact = Big();
// JavaScript numbers may already be inexact, so only text can be converted.
Exact.strict = true;

/** The text that a decimal was parsed from: a rate written as "12.50" is stored and returned as "12.50". */
const originalText = new WeakMap<Decimal, string>();

export const zero: Decimal = new Exact('0');

/** @throws Error for text that is not a decimal number. */
export function parseDecimal(text: string): Decimal {
  const value = new Exact(text);
  originalText.set(value, text);
  return value;
}

/**
 * Formats a decimal.
 *
 * @param places fixed number of decimal places, as for money and hours. Without it, returns the original text, or as many
 * places as required.
 */
export function formatDecimal(value: Decimal, places?: number): string {
  if (places !== undefined) return value.toFixed(places, Exact.roundHalfUp);
  return originalText.get(value) ?? value.toFixed();
}

/** Rounds half away from zero: 0.005 becomes 0.01, and -0.005 becomes -0.01. */
export function round(value: Decimal, places: number): Decimal {
  return value.round(places, Exact.roundHalfUp);
}

/** The least whole number that is not less. */
export function ceilingOf(value: Decimal): Decimal {
  return value.round(0, value.lt(zero) ? Exact.roundDown : Exact.roundUp);
}

/** The smallest amount with so many places. */
export function unitOf(places: number): Decimal {
  return new Exact('1').div(new Exact('10').pow(places));
}

/** Rounds towards negative infinity. */
export function roundDown(value: Decimal, places: number): Decimal {
  const cut = value.round(places, Exact.roundDown);
  return cut.gt(value) ? cut.minus(unitOf(places)) : cut;
}

export function sum(values: Iterable<Decimal>): Decimal {
  let total = zero;
  for (const value of values) total = total.plus(value);
  return total;
}

export function isDecimal(value: unknown): value is Decimal {
  return value instanceof Exact;
}

/** Whether a value is between two bounds, in either order, or equals one. */
export function isBetween(value: Decimal, one: Decimal, other: Decimal): boolean {
  const [low, high] = one.lt(other) ? [one, other] : [other, one];
  return value.gte(low) && value.lte(high);
}
