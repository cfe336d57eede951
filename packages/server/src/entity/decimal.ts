import Big from 'big.js';

/** A number that is calculated exactly: money, hours, rates and percentages. */
export type Decimal = Big;

const Exact = Big();
// A JavaScript number may have lost its exact value already, so only text becomes a decimal.
Exact.strict = true;

/** The text that a decimal was read from: a rate written as "12.50" is stored and returned as "12.50". */
const originalText = new WeakMap<Decimal, string>();

export const zero: Decimal = new Exact('0');

/** @throws Error for text that is not a decimal number. */
export function parseDecimal(text: string): Decimal {
  const value = new Exact(text);
  originalText.set(value, text);
  return value;
}

/**
 * The text of a decimal.
 *
 * @param places fixed number of decimal places, as money and hours have; without it, the text that the value was read from, or
 *   as many places as it needs.
 */
export function formatDecimal(value: Decimal, places?: number): string {
  if (places !== undefined) return value.toFixed(places, Exact.roundHalfUp);
  return originalText.get(value) ?? value.toFixed();
}

/** Rounds half up by magnitude: 0.005 becomes 0.01, and -0.005 becomes -0.01. */
export function round(value: Decimal, places: number): Decimal {
  return value.round(places, Exact.roundHalfUp);
}

export function sum(values: Iterable<Decimal>): Decimal {
  let total = zero;
  for (const value of values) total = total.plus(value);
  return total;
}

export function isDecimal(value: unknown): value is Decimal {
  return value instanceof Exact;
}
