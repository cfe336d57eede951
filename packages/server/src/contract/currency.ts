import { code } from 'currency-codes';
import { type Decimal, round } from '../platform/decimal.ts';

/**
 * Returns the decimal places of amounts in a currency, as in ISO 4217: 2 in USD, 0 in JPY. Amounts of the contract have at most two. A
 * currency that is newer than the list has two, as most have.
 */
export function placesOf(currency: string): number {
  return Math.min(code(currency)?.digits ?? 2, 2);
}

/** Rounds half up to the minor unit of a currency. */
export function roundMoney(amount: Decimal, currency: string): Decimal {
  return round(amount, placesOf(currency));
}

export function isInMinorUnits(amount: Decimal, currency: string): boolean {
  return roundMoney(amount, currency).eq(amount);
}
