import { placesOf } from '../../../contract/currency.ts';
import { type Column, heightOf, type Pages, type Style } from '../../../platform/pdf/pages.ts';
import { formatNumber, formatPercent } from '../../documents/index.ts';
import type { DocumentStyle } from './document-texts.ts';
import type { InvoiceFace } from './invoice-document.ts';

const small: Style = { size: 9 };
const heading: Style = { ...small, weight: 'bold' };
const label: Style = { ...small, color: '#5f6368' };

/** Sets the taxes of a document: what each is charged on, its rate, its amount, and why none is charged. */
export function setTaxes(page: Pages, face: InvoiceFace, { texts, locale }: DocumentStyle): void {
  const { taxes, currency } = face;
  if (taxes.length === 0) return;
  const places = placesOf(currency);
  const amountOf = (amount: string) => formatNumber(amount, places, places, locale);
  const names: Column = { left: page.margin + 4, width: page.width * 0.5 - 8 };
  const width = (page.width * 0.5) / 3;
  const columnOf = (index: number): Column => ({
    left: names.left + names.width + index * width,
    width,
    align: 'right',
  });
  const setRow = ([name, ...numbers]: readonly [string, ...string[]], style: Style) => {
    const [first = '', ...rest] = page.lines(name, names.width, style);
    page.reserve(2 * heightOf(style));
    page.line(first, style, names);
    for (const [index, text] of numbers.entries()) page.line(text, style, columnOf(index));
    page.space(heightOf(style));
    for (const line of rest) page.text(line, style, names);
  };
  page.reserve((taxes.length + 2) * heightOf(small));
  page.space(14);
  setRow([texts.taxes, texts.base, texts.taxRate, texts.amount], heading);
  for (const { name, ratePercent, category, amount, tax } of taxes) {
    setRow([name, amountOf(amount), formatPercent(ratePercent, locale), amountOf(tax)], small);
    const reason = category === 'E' ? face.taxExemptReason : category === null ? undefined : texts.reasons[category];
    if (reason) page.text(reason, label, names);
  }
}
