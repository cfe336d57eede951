import { placesOf } from '../../../contract/currency.ts';
import type { Row } from '../../../entity/row.ts';
import { type Arithmetic, decimals } from '../../../platform/arithmetic.ts';
import { type Decimal, parseDecimal, roundDown, sum, unitOf, zero } from '../../../platform/decimal.ts';

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

/** The tax on an amount, not rounded. */
export function taxPart<A, T>(
  { percentOf }: Arithmetic<A, T>,
  { amount, ratePercent }: { readonly amount: A; readonly ratePercent: A },
): A {
  return percentOf(amount, ratePercent);
}

/** The tax of a line, on its rounded amount. */
export function lineTax<A, T>(arithmetic: Arithmetic<A, T>, { taxable, ...part }: Taxed<A, T>): A {
  const { when, round, zero } = arithmetic;
  return when(taxable, ['true'], round(taxPart(arithmetic, part)), zero);
}

/** The part of one tax in a price that includes taxes with rates that add up to `allPercent`, not rounded. */
export function includedPart<A, T>(
  { percentIn }: Arithmetic<A, T>,
  { amount, ratePercent, allPercent }: { readonly amount: A; readonly ratePercent: A; readonly allPercent: A },
): A {
  return percentIn(amount, ratePercent, allPercent);
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

/** A tax of a line, with its amount. */
export type LineTax = Row<'Invoice'>['lines'][number]['taxes'][number];
/** A tax before its amount is calculated. Those that agree in everything are one tax of the document. */
type Tax = Omit<LineTax, 'amount'>;

/** A line before its amounts are calculated. */
export interface PricedLine {
  readonly quantity: Decimal;
  readonly unitAmount: Decimal;
  readonly taxes: readonly Tax[];
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

/** What a tax of a line is calculated from. */
interface TaxedPrice {
  readonly tax: Tax;
  readonly price: Decimal;
  /** The sum of the rates of the line. */
  readonly allPercent: Decimal;
}

/**
 * Calculates the amounts of the lines of a document. Prices that include tax are split, so that amount and taxes add up to them.
 * What is rounded together is the tax of a line, the taxes in a price, or a tax over the document.
 */
export function calculateLines<Line extends PricedLine>(
  lines: readonly Line[],
  { currency, pricesIncludeTax, taxRounding }: Pricing,
): (Omit<Line, 'taxes'> & LineAmounts & { readonly taxes: LineTax[] })[] {
  const places = placesOf(currency);
  const arithmetic = decimals(places);
  const partOf = (amount: Decimal, ratePercent: Decimal, allPercent: Decimal) =>
    includedPart(arithmetic, { amount, ratePercent, allPercent });
  const priced = lines.map((line) => {
    const price = lineAmount(arithmetic, line);
    const allPercent = sum(line.taxes.map(({ ratePercent }) => ratePercent));
    return { price, taxed: line.taxes.map((tax): TaxedPrice => ({ tax, price, allPercent })) };
  });
  const amounts = new Map<TaxedPrice, Decimal>();
  const share = (whole: Decimal, together: readonly TaxedPrice[], exact: (part: TaxedPrice) => Decimal) => {
    const shares = apportion(whole, together.map(exact), places);
    for (const [index, part] of together.entries()) amounts.set(part, shares[index] ?? zero);
  };
  for (const together of roundedTogether(priced, { pricesIncludeTax, taxRounding })) {
    const weigh = (parts: readonly TaxedPrice[]) => sum(parts.map(({ price, tax }) => price.times(tax.ratePercent)));
    if (!pricesIncludeTax) {
      const whole = lineTax(arithmetic, { amount: weigh(together), taxable: 'true', ratePercent: one });
      share(whole, together, ({ price, tax: { ratePercent } }) => taxPart(arithmetic, { amount: price, ratePercent }));
      continue;
    }
    // Parts with one divisor are added before they are divided, so that halves of a cent stay exact.
    const sameDivisor = Map.groupBy(together, ({ allPercent }) => allPercent.toFixed()).values();
    const whole = sum([...sameDivisor].map((parts) => partOf(weigh(parts), one, parts[0]?.allPercent ?? zero)));
    share(arithmetic.round(whole), together, ({ price, tax, allPercent }) =>
      partOf(price, tax.ratePercent, allPercent),
    );
  }
  return lines.map((line, index) => {
    const { price = zero, taxed = [] } = priced[index] ?? {};
    const taxes = taxed.map((part) => ({ ...part.tax, amount: amounts.get(part) ?? zero }));
    const taxAmount = sum(taxes.map(({ amount }) => amount));
    return { ...line, taxes, taxAmount, amount: pricesIncludeTax ? price.minus(taxAmount) : price };
  });
}

const one = parseDecimal('1');

/** The taxes that are rounded as one amount: each tax of a line, the taxes in a price, or each tax of the document. */
function roundedTogether(
  priced: readonly { readonly taxed: readonly TaxedPrice[] }[],
  { pricesIncludeTax, taxRounding }: Omit<Pricing, 'currency'>,
): Iterable<readonly TaxedPrice[]> {
  if (taxRounding === 'LINE')
    return priced.flatMap(({ taxed }) => (pricesIncludeTax ? [taxed] : taxed.map((part) => [part])));
  return Map.groupBy(
    priced.flatMap(({ taxed }) => taxed),
    ({ tax }) => keyOfTax(tax),
  ).values();
}

/** The same for taxes that are one tax of the document. */
function keyOfTax({ name, ratePercent, category, regionId }: Tax): string {
  return JSON.stringify([name, ratePercent.toFixed(), category, regionId]);
}

/** Apportions an amount by exact shares: each is rounded down, and the units that are left go to the largest remainders. */
export function apportion(whole: Decimal, exact: readonly Decimal[], places: number): Decimal[] {
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
