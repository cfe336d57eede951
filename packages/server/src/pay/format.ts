/** An amount as people in the United States read it: $1,250.00. */
export function formatMoney(amount: string, currency: string): string {
  if (!isNumeral(amount)) throw new Error(`${amount} is not an amount.`);
  return new Intl.NumberFormat('en-US', { style: 'currency', currency }).format(amount);
}

function isNumeral(text: string): text is `${number}` {
  return /^-?\d+(\.\d+)?$/.test(text);
}

/** Decimal places that amounts of a currency have: 2 for USD, 0 for JPY, 3 for KWD. */
export function placesOf(currency: string): number {
  return new Intl.NumberFormat('en-US', { style: 'currency', currency }).resolvedOptions().maximumFractionDigits ?? 2;
}

/** A business day: March 2, 2026. */
export function formatDay(day: string): string {
  return Temporal.PlainDate.from(day).toLocaleString('en-US', { dateStyle: 'long' });
}

/** The same where there is less room: Mar 2, 2026. */
export function formatShortDay(day: string): string {
  return Temporal.PlainDate.from(day).toLocaleString('en-US', { dateStyle: 'medium' });
}
