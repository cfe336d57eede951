import { schemaOf } from '../../contract/contract.ts';
import { CsvFile } from '../../contract/csv.ts';
import { html } from '../../wire/html.ts';
import type { PageResult } from '../../wire/result.ts';
import { propertiesOf } from './catalog.ts';
import { money } from './formats.ts';
import { framed, table } from './layout.ts';
import { namesIn } from './names.ts';
import { currencyOf, headOf, shownValue } from './values.ts';
import { type ConsoleVisit, callOperation, operationOf, rowsIn, todayOf } from './visit.ts';
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
  const { clientName, from, to, openingBalance, closingBalance, nextCursor } = body;
  const rows = rowsIn(body);
  const view = { frame, names: await namesIn(visit, rows, properties) };
  const currency = currencyOf(body);
  const columns = [...properties.keys()].filter((name) =>
    rows.some((row) => row[name] !== null && row[name] !== undefined),
  );
  const url = `${frame.base}/statements/${encodeURIComponent(id)}`;
  const parameters = new URLSearchParams({ from: String(from), to: String(to), currency: String(currency) }).toString();
  return framed(frame, {
    title: `Statement of account: ${String(clientName)}`,
    part: '/data',
    lead: html`<a href="${frame.base}/data/Client/${id}">${String(clientName)}</a>`,
    body: html`<form class="card scope" method="get" action="${url}"><div><label for="from">From</label><input type="date" id="from" name="from" value="${String(from)}"></div><div><label for="to">To</label><input type="date" id="to" name="to" value="${String(to)}"></div><div><label for="currency">Currency</label><input id="currency" name="currency" value="${currency}" maxlength="3"></div><button>Show</button></form>
<div class="cards balances"><section class="card"><h2>Balance before</h2><p class="figure">${money(String(openingBalance), currency)}</p></section><section class="card"><h2>Balance at the end</h2><p class="figure">${money(String(closingBalance), currency)}</p></section></div>
<section class="card"><h2>Age of what is open</h2>${table(
      'Age of what is open',
      Object.keys(Object(body.ageing)).map((name) => ({ text: fieldInWords(name), isNumber: true })),
      [Object.values(Object(body.ageing)).map((amount) => money(String(amount), currency))],
    )}</section>
<section class="card"><h2>Movements</h2>${
      rows.length === 0
        ? html`<p>None in this period.</p>`
        : table(
            'Movements',
            columns.map((column) => headOf(properties, column)),
            rows.map((row) => columns.map((column) => shownValue(view, row[column], properties.get(column), currency))),
          )
    }<div class="row">${typeof nextCursor === 'string' && html`<a class="button plain" href="${url}?${parameters}&page=${nextCursor}">Next page</a>`}<a href="${url}.csv?${parameters}">As a file for spreadsheets (CSV)</a></div></section>`,
  });
}

export async function statementFile(visit: ConsoleVisit, id: string): Promise<PageResult> {
  const body: unknown = await callOperation(visit, operation, {
    path: { id },
    query: { ...(await period(visit)), format: 'csv' },
  });
  if (!(body instanceof CsvFile)) throw new Error('The statement is no file for spreadsheets.');
  const headers = { 'Content-Disposition': 'attachment; filename="statement.csv"' };
  return { kind: 'page', status: 200, text: body.text, headers, type: 'text/csv; charset=utf-8; header=present' };
}

async function period(visit: ConsoleVisit): Promise<Record<string, string>> {
  const entered = (name: string) => visit.query.get(name)?.trim() ?? '';
  const today = await todayOf(visit);
  const to = entered('to') || today;
  const from = entered('from') || Temporal.PlainDate.from(today).with({ day: 1 }).subtract({ months: 2 }).toString();
  return { from, to, ...(entered('currency') !== '' && { currency: entered('currency') }) };
}
