import { placesOf } from '../../../contract/currency.ts';
import { type Column, heightOf, type Pages, renderPages, type Style } from '../../../platform/pdf/pages.ts';
import { columnsOf, countLines, setRow, type TableColumn } from '../../../platform/pdf/table.ts';
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
  setNote(page, texts.memo, memo === null ? [] : [memo]);
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

function setLines(page: Pages, face: InvoiceFace, lines: readonly DocumentLine[], style: DocumentStyle): void {
  const { currency } = face;
  const places = placesOf(currency);
  const { texts, locale } = style;
  const number = (text: string, least: number, most = least) => formatNumber(text, least, most, locale);
  // An amount is without tax, so beside such a price it would look wrong under the usual name.
  const includesTax = lines.some((line) => line.includesTax);
  const hasTaxes = lines.some((line) => line.taxes.length > 0);
  const columns: readonly TableColumn[] = [
    { name: texts.description, isFlexible: true },
    { name: texts.quantity, align: 'right' },
    { name: includesTax ? texts.rateWithTax : texts.rate, align: 'right' },
    ...(hasTaxes ? [{ name: texts.tax, align: 'right' } as const] : []),
    { name: `${includesTax ? texts.netAmount : texts.amount} (${currency})`, align: 'right' },
  ];
  const rows = lines.map(({ description, quantity, unitCode, unitAmount, taxes, amount }) => [
    description,
    `${number(quantity, 0, 4)} ${texts.units[unitCode] ?? ''}`.trim(),
    number(unitAmount, places, 4),
    ...(hasTaxes ? [taxes.map(({ ratePercent }) => formatPercent(ratePercent, locale)).join('\u00a0+ ')] : []),
    number(amount, places),
  ]);
  const names = columns.map(({ name }) => name);
  const cells = columnsOf(page, columns, rows, { head: heading, body: small, inset: 4 });
  const setHead = () => {
    page.shade(countLines(page, cells, names, heading) * heightOf(small) + 6, faint);
    page.space(3);
    setRow(page, cells, names, heading);
    page.space(7);
  };
  page.reserve(4 * heightOf(small));
  setHead();
  page.repeat(() => {
    setRunningHead(page, face, style);
    setHead();
  });
  const last = rows.slice(-together);
  const heightOfLast = last.reduce((sum, row) => sum + countLines(page, cells, row, small) * heightOf(small) + 8, 0);
  for (const [index, row] of rows.entries()) {
    // Totals are never alone on a page: the last lines go with them.
    if (index === rows.length - together) page.reserve(heightOfLast + heightOfTotals(face, style));
    setRow(page, cells, row, small, 8);
    page.space(3);
    page.rule(undefined, pale);
    page.space(5);
  }
  page.repeat(() => setRunningHead(page, face, style));
}

function setRunningHead(page: Pages, face: InvoiceFace, style: DocumentStyle): void {
  const title = titleOf(face, style);
  const left: Column = { left: margin, width: page.width - page.widthOf(title, label) - gap };
  const [name = ''] = page.lines(face.parties.firmName, left.width, label);
  page.line(name, label, left);
  page.line(title, label, { left: margin, width: page.width, align: 'right' });
  page.space(heightOf(label) + 10);
}

/** The number of lines that are on the page of the totals, at least. */
const together = 2;

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
  const last = isCredit(face) ? texts.amountCredited : texts.amountDue;
  const due = voidedOn === null ? total.replace(isCredit(face) ? '-' : '', '') : '0';
  const amount = formatAmount(due, currency, locale);
  const large: Style = { weight: 'bold', size: 12 };
  const [, { width: half }] = halves(page);
  const width = Math.max(half, page.widthOf(last, large) + gap + page.widthOf(amount, large) + 4);
  const right: Column = { left: margin + page.width - width, width };
  const numbers: Column = { ...right, width: width - 4, align: 'right' };
  for (const [name, amount] of sumsOf(face, style)) {
    page.line(name, label, right);
    page.text(formatNumber(amount, places, places, locale), small, numbers);
  }
  page.space(2);
  page.rule(right);
  page.space(5);
  setTotal(page, texts.total, formatAmount(total, currency, locale), { weight: 'bold' }, numbers);
  setTotal(page, last, amount, large, numbers);
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
