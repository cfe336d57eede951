import { Rejection } from '../../contract/rejection.ts';
import { formatDecimal } from '../../platform/decimal.ts';
import { type HtmlContent, html } from '../../wire/html.ts';
import { type DataList, dataLists } from './catalog.ts';
import { type Bar, columnChart, rowChart } from './charts.ts';
import { listUrl } from './data-pages.ts';
import {
  figures,
  type Group,
  type OverviewFigure,
  type Point,
  type Scope,
  type Series,
  seriesOf,
  whereOfGroup,
} from './figures.ts';
import type { RowConditions } from './filter.ts';
import { count, decimal, monthOf } from './formats.ts';
import { framed, table } from './layout.ts';
import { type Names, namesIn } from './names.ts';
import { failedJobs, integratorCards, receivers } from './tenant-pages.ts';
import { type ConsoleVisit, callOperation, operationOf, rowsIn, todayOf } from './visit.ts';
import { typeInWords } from './words.ts';

/** The first page: figures of the firm, and what requires attention. */
export async function overviewPage(visit: ConsoleVisit): Promise<string> {
  const { frame, tenant } = visit;
  const scope = await scopeOf(visit);
  const cards: HtmlContent[] = [];
  // One after another: few aggregates of a firm run at the same time.
  for (const figure of figures) cards.push(await figureCard(visit, figure, scope));
  return framed(frame, {
    title: 'Overview',
    part: '',
    lead: `Amounts in ${scope.currency}, business days in ${tenant.timeZone}.`,
    body: html`${await scopeForm(visit, scope)}${await needsPerson(visit)}
<div class="charts">${cards}</div>
${await failedJobs(visit)}${await integratorCards(visit)}`,
  });
}

async function scopeOf(visit: ConsoleVisit): Promise<Scope> {
  const { tenant, query } = visit;
  const entered = (name: string) => query.get(name)?.trim() || undefined;
  const asOf = entered('asOf') ?? (await todayOf(visit));
  if (!isDay(asOf)) throw new Rejection('VALIDATION_ERROR', `“${asOf}” is not a day, such as 2026-09-30.`);
  const currency = entered('currency') ?? tenant.currency;
  return { asOf, currency, officeId: entered('office'), serviceLineId: entered('serviceLine') };
}

function isDay(text: string): boolean {
  try {
    return Temporal.PlainDate.from(text).toString() === text;
  } catch {
    return false;
  }
}

async function scopeForm(
  visit: ConsoleVisit,
  { asOf, currency, officeId, serviceLineId }: Scope,
): Promise<HtmlContent> {
  const body = { measures: { clients: { function: 'COUNT' } }, groupBy: [{ column: 'currency' }] };
  const currencies = rowsIn(await callOperation(visit, operationOf('aggregateClients'), { body }))
    .map((group) => String(Object(group.key).currency))
    .map((code) => [code, code] as const);
  const named = async (type: string) => {
    const list = dataLists.get(type);
    if (list === undefined) return [];
    const rows = rowsIn(await callOperation(visit, list.operation, { path: list.path, body: { pageSize: 1000 } }));
    return rows.map((row) => [String(row.id), String(row.name)] as const);
  };
  const select = (
    name: string,
    label: string,
    chosen: string | undefined,
    options: readonly (readonly [string, string])[],
    all?: string,
  ) =>
    options.length > (all === undefined ? 1 : 0) &&
    html`<div><label for="${name}">${label}</label><select id="${name}" name="${name}">${all !== undefined && html`<option value="">${all}</option>`}${options.map(([value, text]) => html`<option value="${value}"${value === chosen && html` selected`}>${text}</option>`)}</select></div>`;
  return html`<form class="card scope" method="get" action="${visit.frame.base}">
<div><label for="asOf">As of</label><input type="date" id="asOf" name="asOf" value="${asOf}"></div>
${select('office', 'Office', officeId, await named('Office'), 'All offices')}${select('serviceLine', 'Service line', serviceLineId, await named('ServiceLine'), 'All service lines')}${select('currency', 'Currency', currency, currencies)}
<button>Show</button></form>`;
}

/** What waits for a person: rows of a list, which need no date, office or service line. */
const waiting: readonly CountedRows[] = [
  ['DraftInvoice', 'Draft invoices to review', { status: { _eq: 'IN_REVIEW' }, active: { _eq: true } }],
  ['TimeEntry', 'Time entries to approve', { status: { _eq: 'SUBMITTED' }, active: { _eq: true } }],
  ['ExpenseEntry', 'Expenses to approve', { status: { _eq: 'SUBMITTED' }, active: { _eq: true } }],
  ['Mail', 'Mails that did not arrive', { status: { _in: ['BOUNCED', 'FAILED', 'UNKNOWN'] } }],
  ['Payment', 'Payments that a bank returned', { status: { _eq: 'RETURNED' }, active: { _eq: true } }],
  ['Payment', 'Payments with money to apply', { status: { _eq: 'COMPLETED' }, unappliedAmount: { _gt: '0.00' } }],
];

async function needsPerson(visit: ConsoleVisit): Promise<HtmlContent> {
  const items = await countsOf(visit, waiting);
  const { failing } = await receivers(visit);
  if (failing > 0)
    items.push(waitingItem(`${visit.frame.base}/subscriptions`, failing, 'Receivers of events that fail'));
  return html`<section class="card"><h2>What needs a person</h2>${items.length === 0 ? html`<p>Nothing.</p>` : html`<ul class="links">${items}</ul>`}</section>`;
}

/** Rows that meet conditions, by what they are called. */
export type CountedRows = readonly [type: string, text: string, where: RowConditions];

/** How many there are of each, with a link to them, but for those that there are none of. */
export async function countsOf(visit: ConsoleVisit, counted: readonly CountedRows[]): Promise<HtmlContent[]> {
  const items: HtmlContent[] = [];
  for (const [type, text, where] of counted) {
    const list = dataLists.get(type);
    const found = list && (await countOf(visit, list, where));
    if (list !== undefined && found !== undefined && found > 0)
      items.push(waitingItem(listUrl(visit.frame.base, list, { where }), found, text));
  }
  return items;
}

function waitingItem(url: string, found: number, text: string): HtmlContent {
  return html`<li><a href="${url}">${text}: <strong>${count(found)}</strong></a></li>`;
}

/** How many rows of a list meet conditions; undefined if the caller may not read it. */
async function countOf(visit: ConsoleVisit, list: DataList, where: RowConditions): Promise<number | undefined> {
  const body = { pageSize: 1, includeTotal: true, where };
  const { total } = await ifAllowed(callOperation(visit, list.operation, { body }), {});
  return typeof total === 'number' ? total : undefined;
}

/** The result, or another one if the caller has not the roles. */
async function ifAllowed<Result>(result: Promise<Result>, other: Result): Promise<Result> {
  try {
    return await result;
  } catch (error) {
    if (error instanceof Rejection && error.status === 403) return other;
    throw error;
  }
}

async function figureCard(visit: ConsoleVisit, figure: OverviewFigure, scope: Scope): Promise<HtmlContent> {
  const { title, lead, operation } = figure;
  const request = figure.request(scope);
  const body = await ifAllowed(
    callOperation(visit, operationOf(operation), { body: { pageSize: 1000, ...request } }),
    {},
  );
  const groups = rowsIn(body).map((row): Group => ({ key: Object(row.key), values: Object(row.values) }));
  const series = seriesOf(figure, groups, scope);
  const isEmpty = series.every(({ points }) =>
    points.every((point) => point === undefined || point.groups.length === 0),
  );
  return html`<section class="card" id="${figure.id}"><h2>${title}</h2><p class="soft">${lead}</p>${
    body.data === undefined
      ? html`<p>Your API user does not have the roles to read this.</p>`
      : isEmpty
        ? html`<p>Nothing to show.</p>`
        : await drawn(visit, figure, scope, series)
  }</section>`;
}

async function drawn(
  visit: ConsoleVisit,
  figure: OverviewFigure,
  scope: Scope,
  series: readonly Series[],
): Promise<HtmlContent> {
  const { title, shape, series: names = [title], type } = figure;
  const request = figure.request(scope);
  const { column, by } = request.groupBy[0];
  const list = dataLists.get(type);
  const references = await keyNames(visit, column, list, series);
  const nameOf = (key: string | null): string => {
    if (key === null) return 'None';
    return by === 'MONTH' ? monthOf(key) : (figure.keys?.[key] ?? references.get(key) ?? typeInWords(type));
  };
  const bars = series.flatMap(({ key, points }) =>
    points.flatMap((point, index): Bar[] => {
      if (point === undefined) return [];
      return [
        {
          name: by === 'MONTH' ? nameOf(key).slice(0, 3) : nameOf(key),
          value: Number(formatDecimal(point.value, 2)),
          text: textOf(figure, point),
          isSecond: index === 1,
        },
      ];
    }),
  );
  const linked = (point: Point | undefined): HtmlContent => {
    const group = point?.groups[0];
    if (point === undefined || group === undefined || list === undefined) return '–';
    return html`<a href="${listUrl(visit.frame.base, list, { where: whereOfGroup(request, group) })}">${textOf(figure, point)}</a>`;
  };
  const legend = names.map((name, index) => html`<span class="key${index === 1 && ' second'}">${name}</span>`);
  return html`${names.length > 1 && html`<p class="legend">${legend}</p>`}${await (shape === 'ROWS' ? rowChart : columnChart)(title, bars)}
<details><summary>Figures and their rows</summary>${table(
    title,
    [shape === 'ROWS' ? 'Name' : by === 'MONTH' ? 'Month' : 'Age', ...names.map((text) => ({ text, isNumber: true }))],
    series.map(({ key, points }) => [nameOf(key), ...points.map(linked)]),
  )}</details>`;
}

/** The names of the rows that a column refers to. */
function keyNames(
  visit: ConsoleVisit,
  column: string,
  list: DataList | undefined,
  series: readonly Series[],
): Promise<Names> {
  const [relation = '', name] = column.split('.');
  const of = name === undefined ? list : dataLists.get(list?.relations.get(relation) ?? '');
  const schema = of?.properties.get(name ?? column) ?? {};
  return namesIn(visit, [{ keys: series.map(({ key }) => key) }], new Map([['keys', schema]]));
}

function textOf({ unit }: OverviewFigure, { value }: Point): string {
  if (unit === 'MONEY') return decimal(formatDecimal(value, 2));
  return unit === 'PERCENT' ? `${formatDecimal(value, 1)} %` : formatDecimal(value, 1);
}
