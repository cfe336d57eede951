import { placesOf } from '../../../contract/currency.ts';
import { heightOf, type Pages, type Style } from '../../../platform/pdf/pages.ts';
import { columnsOf, setRow, type TableColumn } from '../../../platform/pdf/table.ts';
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
  const columns: readonly TableColumn[] = [
    { name: texts.taxes, isFlexible: true },
    { name: texts.base, align: 'right' },
    { name: texts.taxRate, align: 'right' },
    { name: texts.amount, align: 'right' },
  ];
  const rows = taxes.map(({ name, ratePercent, amount, tax }) => [
    name,
    amountOf(amount),
    formatPercent(ratePercent, locale),
    amountOf(tax),
  ]);
  const cells = columnsOf(page, columns, rows, { head: heading, body: small, inset: 4 });
  page.reserve((taxes.length + 2) * heightOf(small));
  page.space(14);
  setRow(
    page,
    cells,
    columns.map(({ name }) => name),
    heading,
  );
  for (const [index, { category }] of taxes.entries()) {
    setRow(page, cells, rows[index] ?? [], small);
    const reason = category === 'E' ? face.taxExemptReason : category === null ? undefined : texts.reasons[category];
    if (reason) page.text(reason, label, cells[0]);
  }
}
