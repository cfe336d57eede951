import { placesOf } from '../../../contract/currency.ts';
import { type Arithmetic, decimals } from '../../../platform/arithmetic.ts';
import { type Decimal, sum } from '../../../platform/decimal.ts';

/** The amount of a line. */
export function lineAmount<A, T>(
  { times, round }: Arithmetic<A, T>,
  { quantity, unitAmount }: { readonly quantity: A; readonly unitAmount: A },
): A {
  return round(times(quantity, unitAmount));
}

interface Taxed<Amount, Text> {
  readonly amount: Amount;
  /** `true` or `false`. */
  readonly taxable: Text;
  readonly ratePercent: Amount;
}

/** The tax of a line, on its rounded amount. */
export function lineTax<A, T>(
  { when, percentOf, round, zero }: Arithmetic<A, T>,
  { amount, taxable, ratePercent }: Taxed<A, T>,
): A {
  return when(taxable, ['true'], round(percentOf(amount, ratePercent)), zero);
}

interface Typed<Amount, Text> {
  readonly lineType: Text;
  readonly amount: Amount;
}

/** What the amount of a line adds to each total of its document, without tax: discounts are shown as positive amounts. */
export const lineTotals = {
  subtotal: <A, T>({ when, zero }: Arithmetic<A, T>, { lineType, amount }: Typed<A, T>): A =>
    when(lineType, ['DISCOUNT', 'INTEREST'], zero, amount),
  discountTotal: <A, T>({ when, minus, zero }: Arithmetic<A, T>, { lineType, amount }: Typed<A, T>): A =>
    when(lineType, ['DISCOUNT'], minus(zero, amount), zero),
  interestTotal: <A, T>({ when, zero }: Arithmetic<A, T>, { lineType, amount }: Typed<A, T>): A =>
    when(lineType, ['INTEREST'], amount, zero),
};

interface Parts<Amount> {
  readonly subtotal: Amount;
  readonly discountTotal: Amount;
  readonly taxTotal: Amount;
  readonly interestTotal: Amount;
}

/** The total of a document. */
export function documentTotal<A, T>(
  { plus, minus }: Arithmetic<A, T>,
  { subtotal, discountTotal, taxTotal, interestTotal }: Parts<A>,
): A {
  return minus(plus(subtotal, taxTotal, interestTotal), discountTotal);
}

/** A line before its amounts are calculated. */
export interface PricedLine {
  readonly quantity: Decimal;
  readonly unitAmount: Decimal;
  readonly taxable: boolean;
  readonly taxRatePercent: Decimal;
}

export interface LineAmounts {
  readonly amount: Decimal;
  readonly taxAmount: Decimal;
}

/** The totals of a document, each in its currency with two places. */
export interface Totals extends Parts<Decimal> {
  readonly total: Decimal;
}

/** Calculates the amounts of the lines of a document. */
export function calculateLines<Line extends PricedLine>(
  lines: readonly Line[],
  currency: string,
): (Line & LineAmounts)[] {
  const arithmetic = decimals(placesOf(currency));
  return lines.map((line) => {
    const amount = lineAmount(arithmetic, line);
    const { taxRatePercent: ratePercent } = line;
    return { ...line, amount, taxAmount: lineTax(arithmetic, { amount, taxable: String(line.taxable), ratePercent }) };
  });
}

/** Calculates the totals of a document from its lines. */
export function totalsOf(lines: readonly (LineAmounts & { readonly lineType: string })[]): Totals {
  const arithmetic = decimals();
  const parts = {
    subtotal: sum(lines.map((line) => lineTotals.subtotal(arithmetic, line))),
    discountTotal: sum(lines.map((line) => lineTotals.discountTotal(arithmetic, line))),
    taxTotal: sum(lines.map((line) => line.taxAmount)),
    interestTotal: sum(lines.map((line) => lineTotals.interestTotal(arithmetic, line))),
  };
  return { ...parts, total: documentTotal(arithmetic, parts) };
}
