/** Tax in prices and on them, rounded on each line or over the document. `document.test.ts` compares prices without tax with SQL. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { divideHalfUp, divideToUnits, money, scaled, total, unitOf } from '../../../../test/books/cents.ts';
import { type Decimal, parseDecimal } from '../../../platform/decimal.ts';
import { calculateLines, type Pricing, totalsOf } from './document.ts';

interface Line {
  readonly quantity: string;
  readonly unitAmount: string;
  readonly taxRatePercent: string;
  readonly taxable: boolean;
}

const text = (value: Decimal) => value.toFixed(2).replace(/^-(0\.00)$/, '$1');

function calculated(lines: readonly Line[], pricing: Pricing) {
  const decimals = lines.map(({ quantity, unitAmount, taxRatePercent, taxable }) => ({
    lineType: 'OTHER',
    taxable,
    quantity: parseDecimal(quantity),
    unitAmount: parseDecimal(unitAmount),
    taxRatePercent: parseDecimal(taxRatePercent),
  }));
  const priced = calculateLines(decimals, pricing);
  return {
    lines: priced.map(({ amount, taxAmount }) => [text(amount), text(taxAmount)] as const),
    totals: totalsOf(priced),
  };
}

const rate = fc.constantFrom('0', '5.5', '7', '8.25', '13', '19', '20', '21', '0.0625', '100');
const line = fc.record({
  quantity: fc.constantFrom('1', '2', '3.5', '0.3333', '40', '-1'),
  unitAmount: fc
    .tuple(fc.nat({ max: 2_000 }), fc.nat({ max: 9_999 }))
    .map(([whole, part]) => `${whole}.${String(part).padStart(4, '0')}`),
  taxRatePercent: rate,
  taxable: fc.boolean(),
});
const pricing = fc.record({
  currency: fc.constantFrom('USD', 'JPY'),
  pricesIncludeTax: fc.boolean(),
  taxRounding: fc.constantFrom('LINE' as const, 'DOCUMENT' as const),
});

/** The price of a line in hundredths, from whole numbers. */
const priceOf = ({ quantity, unitAmount }: Line, currency: string) =>
  divideToUnits(scaled(quantity, 4) * scaled(unitAmount, 4), 10n ** 6n, unitOf(currency));
/** The numerator and the denominator of the exact tax of a price, in hundredths. */
function taxOf({ taxRatePercent, taxable }: Line, price: bigint, isIncluded: boolean): readonly [bigint, bigint] {
  const percent = taxable ? scaled(taxRatePercent, 4) : 0n;
  return [price * percent, isIncluded ? 1_000_000n + percent : 1_000_000n];
}

test('tax of 1,000 random documents of 1 to 200 lines is exact, and prices with tax are untouched', () => {
  const documents = fc.oneof(
    { weight: 9, arbitrary: fc.array(line, { minLength: 1, maxLength: 8 }) },
    { weight: 1, arbitrary: fc.array(line, { minLength: 100, maxLength: 200 }) },
  );
  fc.assert(
    fc.property(documents, pricing, (lines, { currency, pricesIncludeTax, taxRounding }) => {
      const result = calculated(lines, { currency, pricesIncludeTax, taxRounding });
      const unit = unitOf(currency);
      const parts = result.lines.map(([amount, tax]) => [scaled(amount, 2), scaled(tax, 2)] as const);
      for (const [index, one] of lines.entries()) {
        const [amount = 0n, tax = 0n] = parts[index] ?? [];
        const price = priceOf(one, currency);
        expect(pricesIncludeTax ? amount + tax : amount).toBe(price);
        const [over, under] = taxOf(one, price, pricesIncludeTax);
        if (taxRounding === 'LINE') expect(tax).toBe(divideHalfUp(over, under * unit) * unit);
        // At most one unit beside the exact tax.
        else expect((tax * under - over) ** 2n < (unit * under) ** 2n).toBe(true);
      }
      if (taxRounding === 'DOCUMENT')
        for (const [key, indexes] of Map.groupBy(
          lines.keys(),
          (index) => `${lines[index]?.taxable} ${lines[index]?.taxRatePercent}`,
        )) {
          const [first] = indexes;
          const one = lines[first ?? 0];
          if (one === undefined) continue;
          const prices = total(indexes.map((index) => priceOf(lines[index] ?? one, currency)));
          const [over, under] = taxOf(one, prices, pricesIncludeTax);
          expect(total(indexes.map((index) => parts[index]?.[1] ?? 0n)), key).toBe(
            divideHalfUp(over, under * unit) * unit,
          );
        }
      expect(text(result.totals.taxTotal)).toBe(money(total(parts.map(([, tax]) => tax))));
      expect(text(result.totals.total)).toBe(money(total(parts.map(([amount, tax]) => amount + tax))));
    }),
    { numRuns: 1_000 },
  );
});

/** Figures that users of other systems published, with where they did. */
describe('published figures are reproduced', () => {
  const lines = (prices: readonly string[], taxRatePercent: string, quantity = '1'): Line[] =>
    prices.map((unitAmount) => ({ quantity, unitAmount, taxRatePercent, taxable: true }));
  const included = (taxRounding: Pricing['taxRounding']) =>
    ({ currency: 'EUR', pricesIncludeTax: true, taxRounding }) as const;
  const added = (taxRounding: Pricing['taxRounding']) =>
    ({ currency: 'EUR', pricesIncludeTax: false, taxRounding }) as const;
  const summed = (all: readonly Line[], by: Pricing) => {
    const { subtotal, taxTotal, total: whole } = calculated(all, by).totals;
    return [subtotal, taxTotal, whole].map(text);
  };

  test.each<[string, Line[], Pricing, string[]]>([
    ['frappe/erpnext#58712', lines(['379', '379'], '21'), included('LINE'), ['626.44', '131.56', '758.00']],
    ['frappe/erpnext#58712', lines(['379', '379'], '21'), included('DOCUMENT'), ['626.45', '131.55', '758.00']],
    ['odoo/odoo#36675', lines(['55.55', '11.11'], '23'), added('LINE'), ['66.66', '15.34', '82.00']],
    ['odoo/odoo#36675', lines(['55.55', '11.11'], '23'), added('DOCUMENT'), ['66.66', '15.33', '81.99']],
    ['odoo/odoo#155833', lines(['3.60'], '5.5', '10'), added('LINE'), ['36.00', '1.98', '37.98']],
    ['odoo/odoo#155833', lines(Array(10).fill('3.60'), '5.5'), added('LINE'), ['36.00', '2.00', '38.00']],
    ['odoo/odoo#37896', lines(['334.416'], '22', '16'), added('DOCUMENT'), ['5350.66', '1177.15', '6527.81']],
    ['alfio-event/alf.io#576', lines(['99'], '22', '5'), included('LINE'), ['405.74', '89.26', '495.00']],
    ['ZUGFeRD/mustangproject#781', lines(['79.20'], '19'), included('LINE'), ['66.55', '12.65', '79.20']],
    [
      'josemmo/einvoicing#63',
      [...lines(['1.96'], '13', '2'), ...lines(['0.04'], '24', '2')],
      included('LINE'),
      ['3.53', '0.47', '4.00'],
    ],
    ['340.00 at 19 percent', lines(['340'], '19'), included('LINE'), ['285.71', '54.29', '340.00']],
  ])('%s', (_, all, by, figures) => expect(summed(all, by)).toEqual(figures));

  test('cents go to the largest fractions', () => {
    // 0.333, 0.666 and 0.999 of tax; the sum of 1.998 is 2.00.
    const { lines: priced } = calculated(lines(['3.33', '6.66', '9.99'], '10'), added('DOCUMENT'));
    expect(priced.map(([, tax]) => tax)).toEqual(['0.33', '0.67', '1.00']);
  });
});
