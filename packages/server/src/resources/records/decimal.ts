/** Numbers as the contract writes them, `-12.50`: up to 16 digits and 6 places. Arithmetic on them is exact. */

/** The most places that a DECIMAL has. */
const mostPlaces = 6;

/** Which of two is greater: below 0 the second, above 0 the first. */
export function compareDecimals(left: string, right: string): number {
  const difference = inMillionths(left) - inMillionths(right);
  return difference < 0n ? -1 : difference > 0n ? 1 : 0;
}

/** The same number with exactly so many places; it must not have more. There is no negative zero. */
export function withPlaces(text: string, places: number): string {
  const [whole = '', fraction = ''] = text.split('.');
  const padded = places === 0 ? whole : `${whole}.${fraction.padEnd(places, '0')}`;
  return inMillionths(text) === 0n ? padded.replace('-', '') : padded;
}

/** The same number in the one way that equal numbers share. */
export function inShortestForm(text: string): string {
  const short = text.includes('.') ? text.replace(/\.?0+$/, '') : text;
  return short === '-0' ? '0' : short;
}

function inMillionths(text: string): bigint {
  const [whole = '', fraction = ''] = text.split('.');
  return BigInt(`${whole}${fraction.padEnd(mostPlaces, '0')}`);
}
