import type { components } from '@financial-automation/spec';
import { placesOf } from '../../../contract/currency.ts';
import { type Column, heightOf, type Pages, renderPages, type Style } from '../../../platform/pdf/pages.ts';
import { formatAmount, formatDay, formatNumber } from '../../documents/index.ts';

type Statement = components['schemas']['ClientStatementPage'];

/** What the document of a statement shows. */
export interface StatementDocument
  extends Pick<Statement, 'clientRef' | 'currency' | 'from' | 'to' | 'openingBalance' | 'closingBalance' | 'ageing'> {
  readonly clientName: string;
  readonly firmName: string;
  readonly createdAt: string;
  readonly movements: readonly Statement['data'][number][];
}

const margin = 54;
const small: Style = { size: 9 };
const label: Style = { ...small, color: '#5f6368' };
const heading: Style = { ...small, weight: 'bold' };

/** What the movements are called. */
const kinds: Readonly<Record<string, string>> = {
  INVOICE: 'Invoice',
  ALLOCATION: 'Payment applied',
  DEALLOCATION: 'Payment unapplied',
  WRITE_OFF: 'Written off',
  RECOVERY: 'Write-off reversed',
  VOID: 'Voided',
  PAYMENT: 'Payment',
  CREDIT_NOTE: 'Credit note',
  REFUND: 'Refund',
  RETURN: 'Returned payment',
  PAYMENT_VOID: 'Payment voided',
  IDENTIFICATION: 'Payment identified',
  NOTE_VOID: 'Credit note voided',
};

const ages: readonly (readonly [keyof Statement['ageing'], string])[] = [
  ['notDue', 'Not due'],
  ['days1To30', '1 to 30 days overdue'],
  ['days31To60', '31 to 60 days overdue'],
  ['days61To90', '61 to 90 days overdue'],
  ['daysOver90', 'More than 90 days overdue'],
  ['unappliedCredit', 'Credit'],
];

/** Renders the statement of account of a client. */
export function render(statement: StatementDocument): Promise<Buffer> {
  const { firmName, clientName, clientRef, createdAt, from, to, movements, currency } = statement;
  const title = `Statement of account ${clientRef}`;
  const period = `${formatDay(from)} to ${formatDay(to)}`;
  return renderPages({ title, author: firmName, createdAt, reference: `${title}, ${period}`, margin }, (page) => {
    page.text(firmName, { size: 14, weight: 'bold' });
    page.space(8);
    page.text('Statement of account', { size: 20, weight: 'bold' });
    page.text(`${clientName} (${clientRef})`, { weight: 'bold' });
    page.text(`${period}, all amounts in ${currency}`, label);
    page.space(12);
    const cells = cellsOf(page);
    const places = placesOf(currency);
    const setRow = (texts: readonly string[], style: Style) => {
      page.reserve(heightOf(style) + 4);
      for (const [index, cell] of cells.entries()) page.line(texts[index] ?? '', style, cell);
      page.space(heightOf(style) + 4);
    };
    const setHead = () => setRow(['Date', 'Movement', 'Document', 'Amount', 'Balance'], heading);
    setHead();
    page.repeat(setHead);
    setRow([from, 'Opening balance', '', '', formatNumber(statement.openingBalance, places)], heading);
    for (const { businessDate, kind, documentNumber, amount, balance } of movements)
      setRow(
        [
          businessDate,
          kinds[kind] ?? kind,
          documentNumber ?? '',
          formatNumber(amount, places),
          formatNumber(balance, places),
        ],
        small,
      );
    setRow([to, 'Closing balance', '', '', formatNumber(statement.closingBalance, places)], heading);
    page.repeat(undefined);
    setAges(page, statement);
  });
}

function setAges(page: Pages, { ageing, currency, closingBalance }: StatementDocument): void {
  const shown = ages.filter(([name]) => !/^[0.]+$/.test(ageing[name]));
  page.reserve((shown.length + 2) * heightOf(small) + 20);
  page.space(14);
  const names: Column = { left: margin, width: 240 };
  const amounts: Column = { ...names, align: 'right' };
  for (const [name, words] of shown) {
    page.line(words, label, names);
    page.line(formatAmount(ageing[name], currency), small, amounts);
    page.space(heightOf(small));
  }
  page.line('Balance', heading, names);
  page.line(formatAmount(closingBalance, currency), heading, amounts);
  page.space(heightOf(small));
}

/** The columns of the table, in points. */
function cellsOf({ width }: Pages): readonly Column[] {
  const widths = [60, 130, 150];
  const amount = (width - widths.reduce((all, one) => all + one)) / 2;
  let left = margin;
  return [...widths, amount, amount].map((one, index) => {
    const cell: Column = { left, width: one, align: index > 2 ? 'right' : 'left' };
    left += one;
    return cell;
  });
}
