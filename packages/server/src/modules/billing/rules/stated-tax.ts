import { placesOf } from '../../../contract/currency.ts';
import { type Decimal, sum, unitOf, zero } from '../../../platform/decimal.ts';
import { apportion, type LineAmounts, type LineTax, type Pricing } from './document.ts';

interface TaxedLine extends LineAmounts {
  readonly taxes: readonly LineTax[];
}

/** The line with another tax, which its taxes share. A price that includes tax stays as it is. */
export function withTax<Line extends TaxedLine>(
  line: Line,
  taxAmount: Decimal,
  pricing: Omit<Pricing, 'taxRounding'>,
): Line {
  const shares = inProportion(
    taxAmount,
    line.taxes.map(({ amount }) => amount),
    pricing.currency,
  );
  const taxes = line.taxes.map((tax, index) => ({ ...tax, amount: shares[index] ?? zero }));
  const amount = pricing.pricesIncludeTax ? line.amount.plus(line.taxAmount).minus(taxAmount) : line.amount;
  return { ...line, taxes, taxAmount, amount };
}

/** Divides an amount in proportion to others; all of it is the first one's if those add up to nothing. */
export function inProportion(whole: Decimal, parts: readonly Decimal[], currency: string): Decimal[] {
  const total = sum(parts);
  if (total.eq(zero)) return parts.map((_, index) => (index === 0 ? whole : zero));
  return apportion(
    whole,
    parts.map((part) => whole.times(part).div(total)),
    placesOf(currency),
  );
}

/** Whether a stated tax is within 0.01 of the calculated one, for each of so many lines. */
export function isNear(stated: Decimal, calculated: Decimal, lines: number): boolean {
  return stated
    .minus(calculated)
    .abs()
    .lte(unitOf(2).times(String(lines)));
}
