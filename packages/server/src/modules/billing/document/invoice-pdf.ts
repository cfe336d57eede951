import { placesOf } from '../../../contract/currency.ts';
import { type Column, heightOf, type Pages, renderPages, type Style } from '../../../platform/pdf/pages.ts';
import {
  formatAmount,
  formatDay,
  formatNumber,
  formatPercent,
  formatPeriod,
  localeOf,
  pageTexts,
  paperIn,
} from '../../documents/index.ts';
import { type DocumentStyle, documentTexts } from './document-texts.ts';
import { earlyPaymentTerms } from './early-payment-terms.ts';
import { addressesOf, type DocumentLine, type InvoiceDocument, type InvoiceFace } from './invoice-document.ts';
import { taxNumberLine, titleWord } from './tax-number.ts';
import { setTaxes } from './tax-table.ts';

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
  const style = styleOf(face);
  const { texts, locale } = style;
  const title = titleOf(face, style);
  const stamp = face.voidedOn === null ? undefined : texts.void;
  const paper = paperIn(parties.firmAddress?.country ?? 'US');
  const about = { title, author: parties.firmName, createdAt, reference: title, stamp, margin, locale, paper } as const;
  return renderPages({ ...about, page: pageTexts[parties.language] }, (page) => {
    setTop(page, face, style);
    setLines(page, face, lines, style);
    setTotals(page, face, style);
    setTaxes(page, face, style);
    setNotes(page, face, style);
  });
}

export function styleOf({ parties: { language, firmAddress }, billingAddress }: InvoiceFace): DocumentStyle {
  return {
    texts: documentTexts[language],
    locale: localeOf(language, billingAddress.country, firmAddress?.country),
  };
}

/** Sets the discount for early payment, the bank accounts and the memo. */
function setNotes(page: Pages, face: InvoiceFace, style: DocumentStyle): void {
  const { memo, parties, voidedOn, documentType } = face;
  const { texts } = style;
  const isPayable = voidedOn === null && documentType === 'INVOICE';
  const terms = isPayable ? earlyPaymentTerms(face, style) : undefined;
  setNote(page, texts.earlyPayment, terms === undefined ? [] : [terms]);
  const accounts = isPayable ? (parties.bankAccounts ?? []) : [];
  const details = accounts.map(({ iban, accountNumber, bank, bic, accountHolder }) =>
    [
      iban === null ? [] : `IBAN ${iban.replaceAll(/(.{4})(?=.)/g, '$1 ')}`,
      accountNumber == null ? [] : `${texts.accountNumber} ${accountNumber}`,
      bank ?? [],
      bic === null ? [] : `BIC ${bic}`,
      `${texts.accountHolder} ${accountHolder ?? parties.firmName}`,
    ]
      .flat()
      .join('   '),
  );
  setNote(page, texts.bankDetails, details);
  setNote(page, texts.memo, memo?.split(/\r\n?|\n/) ?? []);
}

function setNote(page: Pages, name: string, lines: readonly string[]): void {
  if (lines.length === 0) return;
  page.space(18);
  page.reserve(3 * heightOf(small));
  page.text(name, heading);
  for (const line of lines) page.text(line, small);
}

/** Sets the firm, the client, and the facts of the invoice. */
function setTop(page: Pages, face: InvoiceFace, style: DocumentStyle): void {
  const { parties } = face;
  const { texts } = style;
  const [left, right] = halves(page);
  const addresses = addressesOf(face);
  const top = page.y;
  const title: Style = { size: 22, weight: 'bold' };
  page.line(titleWord(face, texts), title, { ...right, align: 'right' });
  page.text(parties.firmName, { size: 14, weight: 'bold' }, left);
  page.space(2);
  for (const line of addresses.firm) page.text(line, label, left);
  if (parties.firmVatId !== null) page.text(taxNumberLine(parties.firmVatId, texts), label, left);
  page.y = Math.max(page.y, top + heightOf(title)) + 12;
  page.rule();
  page.space(12);
  const middle = page.y;
  page.text(texts.billTo, label, left);
  page.text(parties.clientName, { weight: 'bold' }, left);
  if (parties.contactName !== null) page.text(parties.contactName, {}, left);
  for (const line of addresses.billing) page.text(line, {}, left);
  if (parties.clientVatId !== null) page.text(taxNumberLine(parties.clientVatId, texts), {}, left);
  const end = page.y;
  page.y = middle;
  const facts = factsOf(face, style);
  const indent = Math.max(96, ...facts.map(([name]) => page.widthOf(name, label))) + 8;
  for (const [name, value] of facts) {
    page.line(name, label, right);
    page.text(value, small, { left: right.left + indent, width: right.width - indent });
  }
  page.y = Math.max(page.y, end) + 20;
}

function titleOf(face: InvoiceFace, { texts }: DocumentStyle): string {
  return `${titleWord(face, texts)} ${face.invoiceNumber}`;
}

function factsOf(face: InvoiceFace, { texts, locale }: DocumentStyle): readonly (readonly [string, string])[] {
  const { documentType, servicePeriodStart, servicePeriodEnd } = face;
  const day = (one: string) => formatDay(one, locale);
  const facts: (readonly [string, string | null])[] = [
    [texts.number[documentType], face.invoiceNumber],
    [texts.date[documentType], day(face.invoiceDate)],
    [texts.servicePeriod, formatPeriod(servicePeriodStart, servicePeriodEnd, locale)],
    [texts.due, isCredit(face) ? null : day(face.dueDate)],
    [texts.credited, face.creditedNumber],
    [texts.purchaseOrder, face.purchaseOrder],
    [texts.orderReference, face.orderReference],
    [texts.buyerReference, face.buyerReference],
    [texts.clientNumber, face.clientRef],
    [texts.currency, face.currency],
    [texts.voided, face.voidedOn === null ? null : day(face.voidedOn)],
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

function setLines(page: Pages, face: InvoiceFace, lines: readonly DocumentLine[], style: DocumentStyle): void {
  const { currency } = face;
  const places = placesOf(currency);
  const { texts, locale } = style;
  const number = (text: string, least: number, most = least) => formatNumber(text, least, most, locale);
  // An amount is without tax, so beside such a price it would look wrong under the usual name.
  const includesTax = lines.some((line) => line.includesTax);
  const taxes: TableColumn = {
    name: texts.tax,
    text: (line) => line.taxes.map(({ ratePercent }) => formatPercent(ratePercent, locale)).join(' + '),
  };
  const columns: readonly TableColumn[] = [
    {
      name: texts.quantity,
      text: ({ quantity, unitCode }) => `${number(quantity, 0, 4)} ${texts.units[unitCode] ?? ''}`.trim(),
    },
    {
      name: includesTax ? texts.rateWithTax : texts.rate,
      text: ({ unitAmount }) => number(unitAmount, places, 4),
    },
    ...(lines.some((line) => line.taxes.length > 0) ? [taxes] : []),
    {
      name: `${includesTax ? texts.netAmount : texts.amount} (${currency})`,
      text: ({ amount }) => number(amount, places),
    },
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
    page.line(texts.description, heading, description);
    for (const [index, cell] of cells.entries()) page.line(columns[index]?.name ?? '', heading, cell);
    page.space(heightOf(small) + 7);
  };
  setHead();
  page.repeat(() => {
    setRunningHead(page, face, style);
    setHead();
  });
  for (const [index, row] of rows.entries()) {
    // Totals are never alone on a page: the last lines go with them.
    if (index === rows.length - together)
      page.reserve(heightOfLast(page, rows.slice(-together), description) + heightOfTotals(face, style));
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
  page.repeat(() => setRunningHead(page, face, style));
}

function setRunningHead(page: Pages, face: InvoiceFace, style: DocumentStyle): void {
  const [left, right] = halves(page);
  const [name = ''] = page.lines(face.parties.firmName, left.width, label);
  page.line(name, label, left);
  page.line(titleOf(face, style), label, { ...right, align: 'right' });
  page.space(heightOf(label) + 10);
}

/** The number of lines that are on the page of the totals, at least. */
const together = 2;

function heightOfLast(page: Pages, rows: readonly { readonly description: string }[], { width }: Column): number {
  const lines = rows.flatMap(({ description }) => page.lines(description, width, small));
  return lines.length * heightOf(small) + rows.length * 8;
}

function heightOfTotals(face: InvoiceFace, style: DocumentStyle): number {
  return (sumsOf(face, style).length + 4) * heightOf() + 22;
}

/** What makes up the total, with its name. */
function sumsOf(face: InvoiceFace, { texts }: DocumentStyle): readonly (readonly [string, string])[] {
  const { taxes, subtotal, discountTotal, interestTotal, taxTotal } = face;
  return [
    [texts.subtotal, subtotal],
    ...(isZero(discountTotal) ? [] : [[texts.discounts, `-${discountTotal}`] as const]),
    ...(isZero(interestTotal) ? [] : [[texts.interest, interestTotal] as const]),
    ...(taxes.length === 0 ? [] : [[texts.tax, taxTotal] as const]),
  ];
}

function setTotals(page: Pages, face: InvoiceFace, style: DocumentStyle): void {
  const { currency, total, voidedOn } = face;
  const { texts, locale } = style;
  const places = placesOf(currency);
  page.reserve(heightOfTotals(face, style));
  page.space(6);
  const [, right] = halves(page);
  const numbers: Column = { ...right, width: right.width - 4, align: 'right' };
  for (const [name, amount] of sumsOf(face, style)) {
    page.line(formatNumber(amount, places, places, locale), small, numbers);
    page.text(name, label, right);
  }
  page.space(2);
  page.rule(right);
  page.space(5);
  const last = isCredit(face) ? texts.amountCredited : texts.amountDue;
  const due = voidedOn === null ? total.replace(isCredit(face) ? '-' : '', '') : '0';
  const amount = formatAmount(due, currency, locale);
  const large: Style = { weight: 'bold', size: 12 };
  const isNarrow = page.widthOf(`${last}${amount}`, large) + gap > numbers.width;
  setTotal(page, texts.total, formatAmount(total, currency, locale), { weight: 'bold' }, numbers);
  setTotal(page, last, amount, isNarrow ? { weight: 'bold' } : large, numbers);
  if (!isCredit(face) && voidedOn === null)
    setTotal(page, texts.dueBy, formatDay(face.dueDate, locale), label, numbers);
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
