import { type Decimal, parseDecimal, round, sum, zero } from '../../../platform/decimal.ts';
import type { DocumentLine, InvoiceFace } from './invoice-document.ts';

type Category = NonNullable<InvoiceFace['taxes'][number]['category']>;

/** The one tax that a line of an electronic invoice has. */
export interface LineVat {
  readonly category: Category;
  readonly rate: Decimal;
}

/** What a tax is charged on, and its amount. */
export interface VatTotal extends LineVat {
  readonly base: Decimal;
  readonly tax: Decimal;
}

const hundred = parseDecimal('100');
const one = parseDecimal('1');

/** The tax of each line; undefined where it has none, several, or one without a category. If no line has any, all are outside the scope of tax. */
export function lineVats(lines: readonly Pick<DocumentLine, 'taxes'>[]): readonly (LineVat | undefined)[] {
  const isUntaxed = lines.every(({ taxes }) => taxes.length === 0);
  return lines.map(({ taxes: [first, ...others] }) => {
    if (first === undefined) return isUntaxed ? { category: 'O', rate: zero } : undefined;
    return others.length === 0 ? vatOf(first) : undefined;
  });
}

function vatOf({ category, ratePercent }: DocumentLine['taxes'][number]): LineVat | undefined {
  const rate = parseDecimal(ratePercent);
  const known = category ?? (rate.gt(zero) ? 'S' : null);
  return known === null || (known === 'S') !== rate.gt(zero) ? undefined : { category: known, rate };
}

/** The taxes of a document by category and rate. */
export function vatTotals({ taxes, total }: Pick<InvoiceFace, 'taxes' | 'total'>): readonly VatTotal[] {
  if (taxes.length === 0) return [{ category: 'O', rate: zero, base: parseDecimal(total), tax: zero }];
  const groups = new Map<string, VatTotal[]>();
  for (const tax of taxes) {
    const vat = vatOf(tax);
    if (vat === undefined) continue;
    const key = `${vat.category} ${vat.rate.toFixed()}`;
    const entry = { ...vat, base: parseDecimal(tax.amount), tax: parseDecimal(tax.tax) };
    groups.set(key, [...(groups.get(key) ?? []), entry]);
  }
  return [...groups.values()].flatMap((group) => {
    const [first] = group;
    if (first === undefined) return [];
    return [{ ...first, base: sum(group.map(({ base }) => base)), tax: sum(group.map(({ tax }) => tax)) }];
  });
}

/** Whether tax that is rounded line by line differs from that of the document by more than EN 16931 tolerates (BR-S-09). */
export function exceedsTolerance({ base, rate, tax }: VatTotal): boolean {
  return round(base.times(rate).div(hundred), 2).minus(tax).abs().gte(one);
}
