/** Formats an amount with its currency, such as `USD 1,250.00` or `JPY 1,250`: as decimal text, never as floating point. */
export function formatAmount(amount: string, currency: string): string {
  return `${currency} ${formatNumber(amount, placesOf(currency))}`;
}

/** Formats a number with at least and at most this many decimal places; by default, at most as many as it has. */
export function formatNumber(amount: string, places: number, most = places): string {
  const format = new Intl.NumberFormat('en-US', { minimumFractionDigits: places, maximumFractionDigits: most });
  return format.format(amount as Intl.StringNumericLiteral);
}

/** Formats a day, such as September 8, 2026. */
export function formatDay(day: string): string {
  return Temporal.PlainDate.from(day).toLocaleString('en-US', { dateStyle: 'long' });
}

/** Decimal places of a currency: 2 for USD, 0 for JPY. */
export function placesOf(currency: string): number {
  return new Intl.NumberFormat('en-US', { style: 'currency', currency }).resolvedOptions().maximumFractionDigits ?? 2;
}
