import { sql } from 'kysely';
import { Rejection } from '../../contract/rejection.ts';
import { formatDecimal } from '../../platform/decimal.ts';
import { type HtmlContent, html } from '../../wire/html.ts';
import { aggregateOf, type DataList, dataLists } from './catalog.ts';
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
import { count, decimal, monthOf, when } from './formats.ts';
import { type Choices, card, framed, options, table } from './layout.ts';
import { type Names, namesIn } from './names.ts';
import { type ConsoleVisit, call, callOperation, operationOf, rowsIn, todayOf } from './visit.ts';
import { typeInWords } from './words.ts';

/** The first page: figures of the firm, and what requires attention. */
export async function overviewPage(visit: ConsoleVisit): Promise<string> {
  const scope = await scopeOf(visit);
  // Each costly aggregate waits for its turn among all those of the firm.
  const [cards, form, attention, failed] = await Promise.all([
    Promise.all(figures.map((figure) => figureCard(visit, figure, scope))),
    scopeForm(visit, scope),
    needsPerson(visit),
    failedJobs(visit),
  ]);
  return framed(visit.frame, {
    title: 'Overview',
    part: '',
    lead: `Amounts in ${scope.currency}, business days in ${visit.tenant.timeZone}.`,
    body: html`${form}${attention}<div class="charts">${cards}</div>${failed}`,
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
  const used = rowsIn(await callOperation(visit, operationOf('aggregateClients'), { body }));
  const currencies = used.map(({ key }) => [String(Object(key).currency), String(Object(key).currency)] as const);
  const all = async (type: string, words: string): Promise<Choices> => {
    const list = dataLists.get(type);
    const rows =
      list && rowsIn(await callOperation(visit, list.operation, { path: list.path, body: { pageSize: 1000 } }));
    return [['', words], ...(rows ?? []).map((row) => [String(row.id), String(row.name)] as const)];
  };
  const select = (name: string, label: string, chosen: string | undefined, choices: Choices) =>
    choices.length > 1 &&
    html`<div><label for="${name}">${label}</label><select id="${name}" name="${name}">${options(choices, chosen)}</select></div>`;
  return html`<form class="card scope" method="get" action="${visit.frame.base}">
<div><label for="asOf">As of</label><input type="date" id="asOf" name="asOf" value="${asOf}"></div>
${select('office', 'Office', officeId, await all('Office', 'All offices'))}${select('serviceLine', 'Service line', serviceLineId, await all('ServiceLine', 'All service lines'))}${select('currency', 'Currency', currency, currencies)}
<button>Show</button></form>`;
}

/** Rows that meet conditions, by what they are called. */
export type CountedRows = readonly [type: string, text: string, where: RowConditions];

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
  const { data } = await call(visit, 'listEventSubscriptions', { query: { pageSize: '100' } });
  const failing = data.filter(({ active, consecutiveFailures }) => active && consecutiveFailures > 0).length;
  if (failing > 0)
    items.push(waitingItem(`${visit.frame.base}/data/EventSubscription`, failing, 'Receivers of events that fail'));
  return card(
    'What needs a person',
    items.length === 0 ? html`<p>Nothing.</p>` : html`<ul class="links">${items}</ul>`,
  );
}

/** How many there are of each, with a link to them, but for those that there are none of. */
export async function countsOf(visit: ConsoleVisit, counted: readonly CountedRows[]): Promise<HtmlContent[]> {
  const items = counted.map(async ([type, text, where]) => {
    const list = dataLists.get(type);
    if (list === undefined) return [];
    const body = { pageSize: 1, includeTotal: true, where };
    const { total } = await ifAllowed(callOperation(visit, list.operation, { body }));
    const url = listUrl(visit.frame.base, list, { where });
    return typeof total === 'number' && total > 0 ? [waitingItem(url, total, text)] : [];
  });
  return (await Promise.all(items)).flat();
}

function waitingItem(url: string, found: number, text: string): HtmlContent {
  return html`<li><a href="${url}">${text}: <strong>${count(found)}</strong></a></li>`;
}

/** The result; nothing if the caller has not the roles. */
async function ifAllowed(result: Promise<Record<string, unknown>>): Promise<Record<string, unknown>> {
  try {
    return await result;
  } catch (error) {
    if (error instanceof Rejection && error.status === 403) return {};
    throw error;
  }
}

/** What the service has given up, of the last 30 days: documents without a file, and other work. */
async function failedJobs({ service: { store }, tenant, frame }: ConsoleVisit): Promise<HtmlContent> {
  const jobs = await store.read(tenant.id, (session) =>
    session.all<{ name: string; data: { invoiceId?: string }; at: string; failure: string | null }>(sql`
      select name, data, ended_at as at, failure from background_job
      where tenant_id = ${tenant.id} and status = 'DEAD' and ended_at > now() - interval '30 days'
      order by ended_at desc limit 20`),
  );
  const rows = jobs.map(({ name, data: { invoiceId }, at, failure }) => [
    when(frame, at),
    invoiceId === undefined ? name : html`${name}: <a href="${frame.base}/data/Invoice/${invoiceId}">invoice</a>`,
    failure ?? '',
  ]);
  const title = 'Work that failed for good';
  return (
    jobs.length > 0 &&
    card(title, html`<p>The operator can retry it.</p>${table(title, ['Time', 'Work', 'Reason'], rows)}`)
  );
}

async function figureCard(visit: ConsoleVisit, figure: OverviewFigure, scope: Scope): Promise<HtmlContent> {
  const { id, title, lead, type } = figure;
  const body = { pageSize: 1000, ...figure.request(scope) };
  const { data } = await ifAllowed(callOperation(visit, aggregateOf(type), { body }));
  const groups = rowsIn({ data }).map((row): Group => ({ key: Object(row.key), values: Object(row.values) }));
  const series = seriesOf(figure, groups, scope);
  const isEmpty = series.every(({ points }) => points.every((point) => (point?.groups.length ?? 0) === 0));
  const nothing = data === undefined ? 'Your API user does not have the roles to read this.' : 'Nothing to show.';
  return html`<section class="card" id="${id}"><h2>${title}</h2><p class="soft">${lead}</p>${isEmpty ? html`<p>${nothing}</p>` : await drawn(visit, figure, scope, series)}</section>`;
}

/** The chart, with the table behind it. */
async function drawn(visit: ConsoleVisit, figure: OverviewFigure, scope: Scope, series: readonly Series[]) {
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
      const name = by === 'MONTH' ? nameOf(key).slice(0, 3) : nameOf(key);
      const value = Number(formatDecimal(point.value, 2));
      return [{ name, value, text: textOf(figure, point), isSecond: index === 1 }];
    }),
  );
  const linked = (point: Point | undefined): HtmlContent => {
    const group = point?.groups[0];
    if (point === undefined || group === undefined || list === undefined) return '–';
    return html`<a href="${listUrl(visit.frame.base, list, { where: whereOfGroup(request, group) })}">${textOf(figure, point)}</a>`;
  };
  const legend = names.map((name, index) => html`<span class="key${index === 1 && ' second'}">${name}</span>`);
  const heads = [
    shape === 'ROWS' ? 'Name' : by === 'MONTH' ? 'Month' : 'Age',
    ...names.map((text) => ({ text, isNumber: true })),
  ];
  const rows = series.map(({ key, points }) => [nameOf(key), ...points.map(linked)]);
  return html`${names.length > 1 && html`<p class="legend">${legend}</p>`}${await (shape === 'ROWS' ? rowChart : columnChart)(title, bars)}
<details><summary>Figures and their rows</summary>${table(title, heads, rows)}</details>`;
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
