import { placesOf } from '../../../contract/currency.ts';
import type { Row } from '../../../entity/row.ts';
import { decimals } from '../../../platform/arithmetic.ts';
import type { Decimal } from '../../../platform/decimal.ts';

export type EarlyPayment = NonNullable<Row<'Invoice'>['earlyPayment']>;

/** The discount for early payment of an amount with tax, rounded to the minor unit of the currency. */
export function discountOf(amount: Decimal, { percent }: Pick<EarlyPayment, 'percent'>, currency: string): Decimal {
  const { percentOf, round } = decimals(placesOf(currency));
  return round(percentOf(amount, percent));
}

/** The last day on which a payment is in time for the discount. */
export function lastDayOf(invoiceDate: string, { withinDays }: Pick<EarlyPayment, 'withinDays'>): string {
  return Temporal.PlainDate.from(invoiceDate).add({ days: withinDays }).toString();
}
