import { placesOf } from '../../../contract/currency.ts';
import type { Row } from '../../../entity/row.ts';
import { type Arithmetic, decimals } from '../../../platform/arithmetic.ts';
import { type Decimal, roundDown, sum, unitOf, zero } from '../../../platform/decimal.ts';

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

/** The tax in a price. */
export function includedTax<A, T>(
  { when, percentIn, round, zero }: Arithmetic<A, T>,
  { amount, taxable, ratePercent }: Taxed<A, T>,
): A {
  return when(taxable, ['true'], round(percentIn(amount, ratePercent)), zero);
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

/** How the lines of a document are priced and taxed. */
export interface Pricing {
  readonly currency: string;
  readonly pricesIncludeTax: boolean;
  readonly taxRounding: Row<'Invoice'>['taxRounding'];
}

/** Calculates the amounts of the lines of a document. Prices that include tax are split, so that amount and tax add up to them. */
export function calculateLines<Line extends PricedLine>(
  lines: readonly Line[],
  { currency, pricesIncludeTax, taxRounding }: Pricing,
): (Line & LineAmounts)[] {
  const places = placesOf(currency);
  const arithmetic = decimals(places);
  const [rule, exact] = pricesIncludeTax ? [includedTax, arithmetic.percentIn] : [lineTax, arithmetic.percentOf];
  const priced = lines.map((line) => ({ ...line, amount: lineAmount(arithmetic, line) }));
  const taxOf = ({ amount, taxable, taxRatePercent: ratePercent }: PricedLine & Pick<LineAmounts, 'amount'>) =>
    rule(arithmetic, { amount, taxable: String(taxable), ratePercent });
  const taxes = new Map(priced.map((line) => [line, taxOf(line)]));
  if (taxRounding === 'DOCUMENT')
    for (const ofRate of Map.groupBy(priced, (line) => `${line.taxable} ${line.taxRatePercent.toFixed()}`).values()) {
      const [first] = ofRate;
      if (first?.taxable !== true) continue;
      const whole = taxOf({ ...first, amount: sum(ofRate.map(({ amount }) => amount)) });
      const shares = spread(
        whole,
        ofRate.map(({ amount, taxRatePercent }) => exact(amount, taxRatePercent)),
        places,
      );
      for (const [index, line] of ofRate.entries()) taxes.set(line, shares[index] ?? zero);
    }
  return priced.map((line) => {
    const taxAmount = taxes.get(line) ?? zero;
    return { ...line, taxAmount, amount: pricesIncludeTax ? line.amount.minus(taxAmount) : line.amount };
  });
}

/** Spreads an amount over exact shares: each is rounded down, and the units that are left go to the largest remainders. */
function spread(whole: Decimal, exact: readonly Decimal[], places: number): Decimal[] {
  const shares = exact.map((one) => roundDown(one, places));
  const remainder = (index: number) => (exact[index] ?? zero).minus(shares[index] ?? zero);
  const unit = unitOf(places);
  let rest = whole.minus(sum(shares));
  for (const index of shares
    .keys()
    .toArray()
    .sort((one, other) => remainder(other).cmp(remainder(one)) || one - other)) {
    if (rest.lt(unit)) break;
    shares[index] = (shares[index] ?? zero).plus(unit);
    rest = rest.minus(unit);
  }
  return shares;
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
