import { schemaOf } from '../../contract/contract.ts';
import { CsvFile } from '../../contract/csv.ts';
import { html } from '../../wire/html.ts';
import type { PageResult } from '../../wire/result.ts';
import { propertiesOf } from './catalog.ts';
import { money } from './formats.ts';
import { card, framed, pageLinks, table } from './layout.ts';
import { namesIn } from './names.ts';
import { csvFile } from './results.ts';
import { currencyOf, headOf, type ShownRow, shownValue } from './values.ts';
import { type ConsoleVisit, callOperation, nextPage, operationOf, rowsIn, todayOf } from './visit.ts';
import { fieldInWords } from './words.ts';

const operation = operationOf('getClientStatement');
const properties = propertiesOf(schemaOf('StatementMovement'));

/** The statement of account of a client over a period: the last three months, unless another one is entered. */
export async function statementPage(visit: ConsoleVisit, id: string): Promise<string> {
  const { frame, query } = visit;
  const input = {
    path: { id },
    query: { ...(await period(visit)), pageSize: '100', ...(query.has('page') && { cursor: query.get('page') }) },
  };
  const body = await callOperation(visit, operation, input);
  const { clientName, from, to, openingBalance, closingBalance } = body;
  const rows = rowsIn(body);
  const view = { frame, names: await namesIn(visit, rows, properties) };
  const currency = currencyOf(body);
  const columns = [...properties.keys()].filter((name) =>
    rows.some((row) => row[name] !== null && row[name] !== undefined),
  );
  const url = `${frame.base}/statements/${encodeURIComponent(id)}`;
  const parameters = new URLSearchParams({ from: String(from), to: String(to), currency: String(currency) }).toString();
  const next = nextPage(body);
  const inputFor = (name: string, label: string, value: unknown, kind: string) =>
    html`<div><label for="${name}">${label}</label><input type="${kind}" id="${name}" name="${name}" value="${String(value)}"></div>`;
  const balance = (title: string, amount: unknown) =>
    card(title, html`<p class="figure">${money(String(amount), currency)}</p>`);
  const ageing: Readonly<Record<string, string>> = Object(body.ageing);
  const ages = Object.keys(ageing).map((name) => ({ text: fieldInWords(name), isNumber: true }));
  const open = [Object.values(ageing).map((amount) => money(amount, currency))];
  const heads = columns.map((column) => headOf(properties, column));
  const cellsOf = (row: ShownRow) =>
    columns.map((column) => shownValue(view, row[column], properties.get(column), currency));
  const movements =
    rows.length === 0 ? html`<p>None in this period.</p>` : table('Movements', heads, rows.map(cellsOf));
  return framed(frame, {
    title: `Statement of account: ${String(clientName)}`,
    part: '/data',
    lead: html`<a href="${frame.base}/data/Client/${id}">${String(clientName)}</a>`,
    body: html`<form class="card scope" method="get" action="${url}">${inputFor('from', 'From', from, 'date')}${inputFor('to', 'To', to, 'date')}${inputFor('currency', 'Currency', currency, 'text')}<button>Show</button></form>
<div class="cards balances">${balance('Balance before', openingBalance)}${balance('Balance at the end', closingBalance)}</div>
${card('Age of what is open', table('Age of what is open', ages, open))}
${card('Movements', [movements, pageLinks(undefined, next && `${url}?${parameters}&page=${next}`), html`<p><a href="${url}.csv?${parameters}">As a file for spreadsheets (CSV)</a></p>`])}`,
  });
}

export async function statementFile(visit: ConsoleVisit, id: string): Promise<PageResult> {
  const query = { ...(await period(visit)), format: 'csv' };
  const body: unknown = await callOperation(visit, operation, { path: { id }, query });
  if (!(body instanceof CsvFile)) throw new Error('The statement is no file for spreadsheets.');
  return csvFile('statement', body);
}

async function period(visit: ConsoleVisit): Promise<Record<string, string>> {
  const entered = (name: string) => visit.query.get(name)?.trim() ?? '';
  const today = await todayOf(visit);
  const to = entered('to') || today;
  const from = entered('from') || Temporal.PlainDate.from(today).with({ day: 1 }).subtract({ months: 2 }).toString();
  return { from, to, ...(entered('currency') !== '' && { currency: entered('currency') }) };
}
