/** Tax in prices and on them, rounded on each line or over the document. `document.test.ts` compares prices without tax with SQL. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { divideHalfUp, divideToUnits, money, scaled, total, unitOf } from '../../../../test/books/cents.ts';
import { isNightly } from '../../../../test/nightly.ts';
import { type Decimal, parseDecimal } from '../../../platform/decimal.ts';
import { calculateLines, type Pricing, totalsOf } from './document.ts';

interface Line {
  readonly quantity: string;
  readonly unitAmount: string;
  readonly rates: readonly string[];
}

const text = (value: Decimal) => value.toFixed(2).replace(/^-(0\.00)$/, '$1');

/** The tax of a document with a rate: each has a name of its own. */
const taxAt = (rate: string) => ({
  name: `Tax ${rate}`,
  ratePercent: parseDecimal(rate),
  category: null,
  regionId: null,
});

function calculated(lines: readonly Line[], pricing: Pricing) {
  const decimals = lines.map(({ quantity, unitAmount, rates }) => ({
    lineType: 'OTHER',
    quantity: parseDecimal(quantity),
    unitAmount: parseDecimal(unitAmount),
    taxes: rates.map(taxAt),
  }));
  const priced = calculateLines(decimals, pricing);
  return {
    lines: priced.map(({ amount, taxAmount, taxes }) => ({
      amount: text(amount),
      tax: text(taxAmount),
      parts: taxes.map((tax) => text(tax.amount)),
    })),
    totals: totalsOf(priced),
  };
}

const rate = fc.constantFrom('0', '5.5', '5', '7', '8.25', '9.975', '13', '19', '20', '21', '0.0625', '25');
const line = fc.record({
  quantity: fc.constantFrom('1', '2', '3.5', '0.3333', '40', '-1'),
  unitAmount: fc
    .tuple(fc.nat({ max: 2_000 }), fc.nat({ max: 9_999 }))
    .map(([whole, part]) => `${whole}.${String(part).padStart(4, '0')}`),
  rates: fc.oneof(
    { weight: 3, arbitrary: fc.array(rate, { maxLength: 1 }) },
    { weight: 2, arbitrary: fc.uniqueArray(rate, { minLength: 2, maxLength: 4 }) },
  ),
});
const pricing = fc.record({
  currency: fc.constantFrom('USD', 'JPY'),
  pricesIncludeTax: fc.boolean(),
  taxRounding: fc.constantFrom('LINE' as const, 'DOCUMENT' as const),
});

/** The price of a line in hundredths, from whole numbers. */
const priceOf = ({ quantity, unitAmount }: Line, currency: string) =>
  divideToUnits(scaled(quantity, 4) * scaled(unitAmount, 4), 10n ** 6n, unitOf(currency));
/** The numerator and the denominator of the exact tax of a rate in the price of a line, in hundredths. */
function taxOf(line: Line, percent: string, currency: string, isIncluded: boolean): readonly [bigint, bigint] {
  const all = total(line.rates.map((one) => scaled(one, 4)));
  return [priceOf(line, currency) * scaled(percent, 4), isIncluded ? 1_000_000n + all : 1_000_000n];
}
/** The sum of fractions, as one. */
function sumOf(fractions: readonly (readonly [bigint, bigint])[]): readonly [bigint, bigint] {
  return fractions.reduce(([over, under], [more, of]) => [over * of + more * under, under * of] as const, [
    0n,
    1n,
  ] as const);
}

test('tax of random documents of 1 to 200 lines and 0 to 4 taxes is exact, and prices with tax are untouched', () => {
  const documents = fc.oneof(
    { weight: 9, arbitrary: fc.array(line, { minLength: 1, maxLength: 8 }) },
    { weight: 1, arbitrary: fc.array(line, { minLength: 100, maxLength: 200 }) },
  );
  fc.assert(
    fc.property(documents, pricing, (lines, { currency, pricesIncludeTax, taxRounding }) => {
      const result = calculated(lines, { currency, pricesIncludeTax, taxRounding });
      const unit = unitOf(currency);
      const rounded = (fractions: readonly (readonly [bigint, bigint])[]) => {
        const [over, under] = sumOf(fractions);
        return divideHalfUp(over, under * unit) * unit;
      };
      const found = result.lines.map(({ amount, tax, parts }) => ({
        amount: scaled(amount, 2),
        tax: scaled(tax, 2),
        parts: parts.map((part) => scaled(part, 2)),
      }));
      const byRate = new Map<string, { exact: (readonly [bigint, bigint])[]; tax: bigint }>();
      for (const [index, one] of lines.entries()) {
        const { amount, tax, parts } = found[index] ?? { amount: 0n, tax: 0n, parts: [] };
        expect(pricesIncludeTax ? amount + tax : amount).toBe(priceOf(one, currency));
        expect(tax).toBe(total(parts));
        const exact = one.rates.map((percent) => taxOf(one, percent, currency, pricesIncludeTax));
        for (const [position, percent] of one.rates.entries()) {
          const [over, under] = exact[position] ?? [0n, 1n];
          const part = parts[position] ?? 0n;
          // At most one unit beside the exact tax.
          expect((part * under - over) ** 2n < (unit * under) ** 2n).toBe(true);
          if (taxRounding === 'LINE' && !pricesIncludeTax) expect(part).toBe(rounded([[over, under]]));
          const sums = byRate.get(percent) ?? { exact: [], tax: 0n };
          sums.exact.push([over, under]);
          byRate.set(percent, { ...sums, tax: sums.tax + part });
        }
        if (taxRounding === 'LINE' && pricesIncludeTax) expect(tax).toBe(rounded(exact));
      }
      if (taxRounding === 'DOCUMENT')
        for (const [percent, sums] of byRate) {
          // Fractions of one divisor first, so that the numbers stay small.
          const sameDivisor = [...Map.groupBy(sums.exact, ([, under]) => under)];
          const added = sameDivisor.map(([under, all]) => [total(all.map(([over]) => over)), under] as const);
          expect(sums.tax, percent).toBe(rounded(added));
        }
      expect(text(result.totals.taxTotal)).toBe(money(total(found.map(({ tax }) => tax))));
      expect(text(result.totals.total)).toBe(money(total(found.map(({ amount, tax }) => amount + tax))));
    }),
    { numRuns: isNightly ? 1_000 : 75 },
  );
});

/** Figures that users of other systems published, with where they did. */
describe('published figures are reproduced', () => {
  const lines = (prices: readonly string[], taxRatePercent: string, quantity = '1'): Line[] =>
    prices.map((unitAmount) => ({ quantity, unitAmount, rates: [taxRatePercent] }));
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
    [
      '0.03 at 19 percent, which no net amount gives',
      lines(['0.03'], '19'),
      included('LINE'),
      ['0.03', '0.00', '0.03'],
    ],
    ['340.00 at 19 percent', lines(['340'], '19'), included('LINE'), ['285.71', '54.29', '340.00']],
  ])('%s', (_, all, by, figures) => expect(summed(all, by)).toEqual(figures));

  test('cents go to the largest fractions', () => {
    // 0.333, 0.666 and 0.999 of tax; the sum of 1.998 is 2.00.
    const { lines: priced } = calculated(lines(['3.33', '6.66', '9.99'], '10'), added('DOCUMENT'));
    expect(priced.map(({ tax }) => tax)).toEqual(['0.33', '0.67', '1.00']);
  });

  test('several taxes of a line are split from one price, or added to it', () => {
    // Québec: 5 % GST and 9.975 % QST. In 114.98, both are 14.98 of tax: 5.002… and 9.979….
    const quebec = (unitAmount: string) => [{ quantity: '1', unitAmount, rates: ['5', '9.975'] }];
    expect(calculated(quebec('100.00'), added('LINE')).lines).toEqual([
      { amount: '100.00', tax: '14.98', parts: ['5.00', '9.98'] },
    ]);
    expect(calculated(quebec('114.98'), included('LINE')).lines).toEqual([
      { amount: '100.00', tax: '14.98', parts: ['5.00', '9.98'] },
    ]);
    // 0.005 and 0.009975 of tax on each of three lines.
    const small = Array.from({ length: 3 }, () => ({ quantity: '1', unitAmount: '0.10', rates: ['5', '9.975'] }));
    expect(calculated(small, added('LINE')).totals.taxTotal.toFixed(2)).toBe('0.06');
    expect(calculated(small, added('DOCUMENT')).totals.taxTotal.toFixed(2)).toBe('0.05');
  });
});
