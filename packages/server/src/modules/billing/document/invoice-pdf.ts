import { placesOf } from '../../../contract/currency.ts';
import { type Column, heightOf, type Pages, renderPages, type Style } from '../../../platform/pdf/pages.ts';
import { formatAmount, formatDay, formatNumber } from '../../documents/index.ts';
import { addressesOf, type DocumentLine, type InvoiceDocument, type InvoiceFace, titles } from './invoice-document.ts';

const margin = 54;
const gap = 14;
const gray = '#5f6368';
const faint = '#f1f3f4';
const pale = '#dadce0';
const small: Style = { size: 9 };
const label: Style = { ...small, color: gray };
const heading: Style = { ...small, weight: 'bold' };

/**
 * Renders the PDF of an invoice or a credit note. The same document results in the same bytes.
 *
 * @throws Error if a font cannot be read.
 */
export function render({ face, lines }: InvoiceDocument): Promise<Buffer> {
  const { parties, createdAt } = face;
  const title = titleOf(face);
  const stamp = face.voidedOn === null ? undefined : 'VOID';
  const about = { title, author: parties.firmName, createdAt, reference: title, stamp, margin };
  return renderPages(about, (page) => {
    setTop(page, face);
    setLines(page, face, lines);
    setTotals(page, face);
    setMemo(page, face);
  });
}

function setMemo(page: Pages, { memo }: InvoiceFace): void {
  if (memo === null) return;
  page.space(18);
  page.reserve(3 * heightOf(small));
  page.text('Memo', heading);
  for (const line of memo.split(/\r\n?|\n/)) page.text(line, small);
}

/** Sets the firm, the client, and the facts of the invoice. */
function setTop(page: Pages, face: InvoiceFace): void {
  const { parties } = face;
  const [left, right] = halves(page);
  const addresses = addressesOf(face);
  const top = page.y;
  page.line(titles[face.documentType], { size: 22, weight: 'bold' }, { ...right, align: 'right' });
  page.text(parties.firmName, { size: 14, weight: 'bold' }, left);
  page.space(2);
  for (const line of addresses.firm) page.text(line, label, left);
  page.y = Math.max(page.y, top + heightOf({ size: 22 })) + 12;
  page.rule();
  page.space(12);
  const middle = page.y;
  page.text('Bill to', label, left);
  page.text(parties.clientName, { weight: 'bold' }, left);
  if (parties.contactName !== null) page.text(parties.contactName, {}, left);
  for (const line of addresses.billing) page.text(line, {}, left);
  const end = page.y;
  page.y = middle;
  for (const [name, value] of factsOf(face)) {
    page.line(name, label, right);
    page.text(value, small, { left: right.left + 104, width: right.width - 104 });
  }
  page.y = Math.max(page.y, end) + 20;
}

function titleOf({ documentType, invoiceNumber }: InvoiceFace): string {
  return `${titles[documentType]} ${invoiceNumber}`;
}

function factsOf(face: InvoiceFace): readonly (readonly [string, string])[] {
  const title = titles[face.documentType];
  const facts: (readonly [string, string | null])[] = [
    [`${title} number`, face.invoiceNumber],
    [`${title} date`, formatDay(face.invoiceDate)],
    ['Due date', isCredit(face) ? null : formatDay(face.dueDate)],
    ['Credited invoice', face.creditedNumber],
    ['Purchase order', face.purchaseOrder],
    ['Client number', face.clientRef],
    ['Currency', face.currency],
    ['Voided', face.voidedOn === null ? null : formatDay(face.voidedOn)],
  ];
  return facts.flatMap(([name, value]) => (value === null ? [] : [[name, value] as const]));
}

function halves({ width }: Pages): readonly [Column, Column] {
  const half = (width - gap) / 2;
  return [
    { left: margin, width: half },
    { left: margin + half + gap, width: half },
  ];
}

/** A column of the table of lines, as wide as its widest text; the description has the rest. */
interface TableColumn {
  readonly name: string;
  text(line: DocumentLine): string;
}

function setLines(page: Pages, face: InvoiceFace, lines: readonly DocumentLine[]): void {
  const { currency } = face;
  const places = placesOf(currency);
  const taxes: TableColumn = {
    name: 'Tax',
    text: ({ taxRates }) => taxRates.map((rate) => `${formatNumber(rate, 0, 4)}%`).join(' + '),
  };
  const columns: readonly TableColumn[] = [
    { name: 'Quantity', text: ({ quantity }) => formatNumber(quantity, 0, 4) },
    {
      name: lines.some(({ includesTax }) => includesTax) ? 'Rate with tax' : 'Rate',
      text: ({ unitAmount }) => formatNumber(unitAmount, places, 4),
    },
    ...(lines.some(({ taxRates }) => taxRates.length > 0) ? [taxes] : []),
    { name: `Amount (${currency})`, text: ({ amount }) => formatNumber(amount, places) },
  ];
  const rows = lines.map((line) => ({ description: line.description, texts: columns.map(({ text }) => text(line)) }));
  let right = margin + page.width - 4;
  const cells: Column[] = [];
  for (const [index, { name }] of [...columns.entries()].reverse()) {
    const width = Math.max(
      page.widthOf(name, heading),
      ...rows.map(({ texts }) => page.widthOf(texts[index] ?? '', small)),
    );
    cells.unshift({ left: right - width, width, align: 'right' });
    right -= width + gap;
  }
  const description: Column = { left: margin + 4, width: right - margin - 4 };
  const setHead = () => {
    page.shade(heightOf(small) + 6, faint);
    page.space(3);
    page.line('Description', heading, description);
    for (const [index, cell] of cells.entries()) page.line(columns[index]?.name ?? '', heading, cell);
    page.space(heightOf(small) + 7);
  };
  setHead();
  page.repeat(() => {
    setRunningHead(page, face);
    setHead();
  });
  for (const [index, row] of rows.entries()) {
    // Totals are never alone on a page: the last lines go with them.
    if (index === rows.length - together)
      page.reserve(heightOfLast(page, rows.slice(-together), description) + heightOfTotals(face));
    const [first = '', ...rest] = page.lines(row.description, description.width, small);
    page.reserve((rest.length > 0 ? 2 : 1) * heightOf(small) + 8);
    page.line(first, small, description);
    for (const [index, cell] of cells.entries()) page.line(row.texts[index] ?? '', small, cell);
    page.space(heightOf(small));
    for (const line of rest) {
      page.reserve(heightOf(small) + 8);
      page.line(line, small, description);
      page.space(heightOf(small));
    }
    page.space(3);
    page.rule(undefined, pale);
    page.space(5);
  }
  page.repeat(() => setRunningHead(page, face));
}

function setRunningHead(page: Pages, face: InvoiceFace): void {
  const [left, right] = halves(page);
  const [name = ''] = page.lines(face.parties.firmName, left.width, label);
  page.line(name, label, left);
  page.line(titleOf(face), label, { ...right, align: 'right' });
  page.space(heightOf(label) + 10);
}

/** The number of lines that are on the page of the totals, at least. */
const together = 2;

function heightOfLast(page: Pages, rows: readonly { readonly description: string }[], { width }: Column): number {
  const lines = rows.flatMap(({ description }) => page.lines(description, width, small));
  return lines.length * heightOf(small) + rows.length * 8;
}

function heightOfTotals(face: InvoiceFace): number {
  return (sumsOf(face).length + 4) * heightOf() + 22;
}

/** What makes up the total, with its name. */
function sumsOf(face: InvoiceFace): readonly (readonly [string, string])[] {
  const { currency, taxes, subtotal, discountTotal, interestTotal } = face;
  const taxed = taxes.map(({ name, ratePercent, amount, tax }) => {
    const base = formatNumber(amount, placesOf(currency));
    return [`${name} ${formatNumber(ratePercent, 0, 4)}% of ${base}`, tax] as const;
  });
  return [
    ['Subtotal', subtotal],
    ...(isZero(discountTotal) ? [] : [['Discounts', `-${discountTotal}`] as const]),
    ...(isZero(interestTotal) ? [] : [['Interest', interestTotal] as const]),
    ...taxed,
  ];
}

function setTotals(page: Pages, face: InvoiceFace): void {
  const { currency, total, voidedOn } = face;
  const places = placesOf(currency);
  page.reserve(heightOfTotals(face));
  page.space(6);
  const [, right] = halves(page);
  const numbers: Column = { ...right, width: right.width - 4, align: 'right' };
  for (const [name, amount] of sumsOf(face)) {
    const text = formatNumber(amount, places);
    const names = { left: right.left, width: right.width - page.widthOf(text, small) - gap };
    page.line(text, small, numbers);
    page.text(name, label, names);
  }
  page.space(2);
  page.rule(right);
  page.space(5);
  const last = isCredit(face) ? 'Amount credited' : 'Amount due';
  const amount = formatAmount(voidedOn === null ? total.replace(isCredit(face) ? '-' : '', '') : '0', currency);
  const large: Style = { weight: 'bold', size: 12 };
  const isNarrow = page.widthOf(`${last}${amount}`, large) + gap > numbers.width;
  setTotal(page, 'Total', formatAmount(total, currency), { weight: 'bold' }, numbers);
  setTotal(page, last, amount, isNarrow ? { weight: 'bold' } : large, numbers);
  if (!isCredit(face) && voidedOn === null) setTotal(page, 'Due by', formatDay(face.dueDate), label, numbers);
}

function isCredit({ documentType }: InvoiceFace): boolean {
  return documentType === 'CREDIT_NOTE';
}

function setTotal(page: Pages, name: string, value: string, style: Style, column: Column): void {
  page.line(name, style, { ...column, align: 'left' });
  page.line(value, style, column);
  page.space(heightOf(style));
}

function isZero(amount: string): boolean {
  return /^-?[0.]+$/.test(amount);
}
