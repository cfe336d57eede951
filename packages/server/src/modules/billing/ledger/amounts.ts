import { roundMoney } from '../../../contract/currency.ts';
import { type Decimal, parseDecimal, sum, zero } from '../../../platform/decimal.ts';
import { otherLines, totalOfLines } from '../money-rules.ts';

/** The values that determine the amounts of a line. */
export interface Price {
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
export interface Totals {
  readonly subtotal: Decimal;
  readonly discountTotal: Decimal;
  readonly taxTotal: Decimal;
  readonly interestTotal: Decimal;
  readonly total: Decimal;
}

const hundred = parseDecimal('100');

/** Calculates the amount of a line and its tax, each rounded half up to the minor unit of the currency. */
export function lineAmounts({ quantity, unitAmount, taxable, taxRatePercent }: Price, currency: string): LineAmounts {
  const amount = roundMoney(quantity.times(unitAmount), currency);
  return { amount, taxAmount: taxable ? roundMoney(amount.times(taxRatePercent).div(hundred), currency) : zero };
}

/** Calculates the totals of lines: discounts as a positive amount, interest separate from the subtotal. */
export function totalsOf(lines: readonly (LineAmounts & { readonly lineType: string })[]): Totals {
  const parts = { subtotal: zero, discountTotal: zero, interestTotal: zero };
  for (const { lineType, amount } of lines) {
    const [name, sign] = totalOfLines[lineType] ?? otherLines;
    parts[name] = sign === 1 ? parts[name].plus(amount) : parts[name].minus(amount);
  }
  const { subtotal, discountTotal, interestTotal } = parts;
  const taxTotal = sum(lines.map((line) => line.taxAmount));
  return {
    subtotal,
    discountTotal,
    taxTotal,
    interestTotal,
    total: subtotal.minus(discountTotal).plus(taxTotal).plus(interestTotal),
  };
}
