import type { components } from '@financial-automation/spec';
import { placesOf } from '../../../contract/currency.ts';
import { parseDecimal, zero } from '../../../platform/decimal.ts';
import { type Column, heightOf, type Pages, renderPages, type Style } from '../../../platform/pdf/pages.ts';
import { columnsOf, setRow, type TableColumn } from '../../../platform/pdf/table.ts';
import {
  addressLines,
  formatAmount,
  formatDay,
  formatNumber,
  formatPeriod,
  type Language,
  localeOf,
  pageTexts,
  paperIn,
  type StoredAddress,
} from '../../documents/index.ts';
import { statementTexts } from './statement-texts.ts';

type Statement = components['schemas']['ClientStatementPage'];
type Movement = Statement['data'][number];

/** What the document of a statement shows. */
export interface StatementDocument
  extends Pick<Statement, 'clientRef' | 'currency' | 'from' | 'to' | 'openingBalance' | 'closingBalance' | 'ageing'> {
  readonly language: Language;
  readonly clientName: string;
  readonly clientAddress: StoredAddress | null;
  readonly firmName: string;
  readonly firmAddress: StoredAddress | null;
  readonly firmCountry: string;
  readonly createdAt: string;
  readonly movements: readonly Movement[];
}

const margin = 54;
const small: Style = { size: 9 };
const label: Style = { ...small, color: '#5f6368' };
const heading: Style = { ...small, weight: 'bold' };

/** Renders the statement of account of a client, in its language. */
export function render(statement: StatementDocument): Promise<Buffer> {
  const { firmName, clientRef, createdAt, from, to, currency, language, firmCountry } = statement;
  const texts = statementTexts[language];
  const locale = localeOf(statement.language, statement.clientAddress?.country, statement.firmCountry);
  const title = `${texts.title} ${clientRef}`;
  const period = formatPeriod(from, to, locale) ?? '';
  const about = { title, author: firmName, createdAt, reference: `${title}, ${period}`, margin, locale };
  return renderPages({ ...about, page: pageTexts[language], paper: paperIn(firmCountry) }, (page) => {
    setParties(page, statement);
    page.text(texts.title, { size: 20, weight: 'bold' });
    page.text(texts.period.replace('{period}', period).replace('{currency}', currency), label);
    page.space(12);
    setMovements(page, statement);
    setAges(page, statement);
  });
}

/** Sets the firm and the client with their addresses. A country is only named if they have different ones. */
function setParties(page: Pages, statement: StatementDocument): void {
  const { firmName, firmAddress, firmCountry, clientName, clientRef, clientAddress, language } = statement;
  const isDomestic = (clientAddress?.country ?? firmCountry) === firmCountry;
  const linesOf = (address: StoredAddress | null) => addressLines(address, language, isDomestic);
  page.text(firmName, { size: 14, weight: 'bold' });
  for (const line of linesOf(firmAddress)) page.text(line, label);
  page.space(16);
  page.text(`${clientName} (${clientRef})`, { weight: 'bold' });
  for (const line of linesOf(clientAddress)) page.text(line);
  page.space(20);
}

function setMovements(page: Pages, statement: StatementDocument): void {
  const { from, to, movements, currency, openingBalance, closingBalance } = statement;
  const texts = statementTexts[statement.language];
  const kinds: Readonly<Partial<Record<Movement['kind'], string>>> = texts.kinds;
  const locale = localeOf(statement.language, statement.clientAddress?.country, statement.firmCountry);
  const places = placesOf(currency);
  const day = (date: string) => formatDay(date, locale, 'medium');
  const number = (amount: string) => formatNumber(amount, places, places, locale);
  const columns: readonly TableColumn[] = [
    { name: texts.date },
    { name: texts.movement },
    { name: texts.document, isFlexible: true },
    { name: texts.amount, align: 'right' },
    { name: texts.balance, align: 'right' },
  ];
  const opening = [day(from), texts.opening, '', '', number(openingBalance)];
  const rows = movements.map(({ businessDate, kind, documentNumber, amount, balance }) => [
    day(businessDate),
    kinds[kind] ?? kind,
    documentNumber ?? '',
    number(amount),
    number(balance),
  ]);
  const closing = [day(to), texts.closing, '', '', number(closingBalance)];
  // The style of the head is the wider one.
  const cells = columnsOf(page, columns, [...rows, opening, closing], { head: heading, body: heading });
  const set = (row: readonly string[], style: Style) => {
    setRow(page, cells, row, style, 4);
    page.space(4);
  };
  const setHead = () =>
    set(
      columns.map(({ name }) => name),
      heading,
    );
  setHead();
  page.repeat(setHead);
  set(opening, heading);
  for (const row of rows) set(row, small);
  set(closing, heading);
  page.repeat(undefined);
}

function setAges(page: Pages, statement: StatementDocument): void {
  const { ageing, currency, closingBalance } = statement;
  const texts = statementTexts[statement.language];
  const locale = localeOf(statement.language, statement.clientAddress?.country, statement.firmCountry);
  const ages: readonly (readonly [string, string])[] = [
    [texts.ages.notDue, ageing.notDue],
    [texts.ages.days1To30, ageing.days1To30],
    [texts.ages.days31To60, ageing.days31To60],
    [texts.ages.days61To90, ageing.days61To90],
    [texts.ages.daysOver90, ageing.daysOver90],
    // What is shown adds up to the balance.
    [texts.ages.unappliedCredit, zero.minus(parseDecimal(ageing.unappliedCredit)).toFixed(2)],
  ];
  const shown = ages.filter(([, amount]) => !/^-?[0.]+$/.test(amount));
  page.reserve((shown.length + 2) * heightOf(small) + 20);
  page.space(14);
  const names: Column = { left: margin, width: 240 };
  const amounts: Column = { ...names, align: 'right' };
  for (const [name, amount] of shown) {
    page.line(name, label, names);
    page.line(formatAmount(amount, currency, locale), small, amounts);
    page.space(heightOf(small));
  }
  page.line(texts.balance, heading, names);
  page.line(formatAmount(closingBalance, currency, locale), heading, amounts);
  page.space(heightOf(small));
}
