import { isInMinorUnits, placesOf } from '../../../contract/currency.ts';
import { parseDecimal } from '../../../platform/decimal.ts';

/** An amount in the format of the United States: $1,250.00. */
export function formatMoney(amount: string, currency: string): string {
  if (!isNumeral(amount)) throw new Error(`${amount} is not an amount.`);
  // Intl has other decimals for some currencies than ISO 4217, and would round the amount.
  const places = isInMinorUnits(parseDecimal(amount), currency) ? placesOf(currency) : 2;
  const decimals = { minimumFractionDigits: places, maximumFractionDigits: places };
  return new Intl.NumberFormat('en-US', { style: 'currency', currency, ...decimals }).format(amount);
}

function isNumeral(text: string): text is `${number}` {
  return /^-?\d+(\.\d+)?$/.test(text);
}

/** A day on all pages, short enough for the tables of a phone: Mar 2, 2026. */
export function formatDay(day: string): string {
  return Temporal.PlainDate.from(day).toLocaleString('en-US', { dateStyle: 'medium' });
}
