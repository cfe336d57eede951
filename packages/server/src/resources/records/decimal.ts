import { parseDecimal, zero } from '../../entity/decimal.ts';

/** Which of two decimals is greater: below 0 the second, above 0 the first. */
export function compareDecimals(left: string, right: string): number {
  return parseDecimal(left).cmp(parseDecimal(right));
}

/** The same number with exactly this many places; it must not have more. There is no negative zero. */
export function withPlaces(text: string, places: number): string {
  const value = parseDecimal(text);
  return (value.eq(zero) ? zero : value).toFixed(places);
}

/** The same number in the one way that equal numbers share. */
export function inShortestForm(text: string): string {
  const value = parseDecimal(text);
  return (value.eq(zero) ? zero : value).toFixed();
}
