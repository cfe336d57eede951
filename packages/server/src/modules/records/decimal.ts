import { parseDecimal, zero } from '../../platform/decimal.ts';

/** Compares two decimals: negative if the second is greater, positive if the first is. */
export function compareDecimals(left: string, right: string): number {
  return parseDecimal(left).cmp(parseDecimal(right));
}

/** Formats a number with exactly this many places; it must not have more. There is no negative zero. */
export function withPlaces(text: string, places: number): string {
  const value = parseDecimal(text);
  return (value.eq(zero) ? zero : value).toFixed(places);
}

/** Formats a number in its shortest form, which equal numbers share. */
export function inShortestForm(text: string): string {
  const value = parseDecimal(text);
  return (value.eq(zero) ? zero : value).toFixed();
}
