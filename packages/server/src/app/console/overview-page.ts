import { sql } from 'kysely';
import { operationOf } from '../../contract/contract.ts';
import { Rejection } from '../../contract/rejection.ts';
import { type Decimal, formatDecimal, zero } from '../../platform/decimal.ts';
import { type Bar, columnChart, rowChart } from '../../wire/charts.ts';
import { type HtmlContent, html } from '../../wire/html.ts';
import { listOf } from './catalog.ts';
import { listUrl } from './data-pages.ts';
import {
  figures,
  type Group,
  isByMonth,
  isNamed,
  type OverviewFigure,
  type Point,
  requestOf,
  type Scope,
  type Series,
  seriesOf,
  whereOf,
} from './figures.ts';
import type { RowConditions } from './filter.ts';
import { count, decimal, monthOf, when } from './formats.ts';
import { queryForm } from './forms.ts';
import { type ConsolePage, card, isAdministrator, linkList, table } from './layout.ts';
import { namesIn } from './names.ts';
import { type ConsoleVisit, callOperation, rowsIn, todayOf } from './visit.ts';
import { typeInWords } from './words.ts';

/** The first page: figures of the firm, and what requires attention. */
export async function overviewPage(visit: ConsoleVisit): Promise<ConsolePage> {
  const scope = await scopeOf(visit);
  // Each costly aggregate waits for its turn among all those of the firm.
  const [cards, form, attention, failed] = await Promise.all([
    Promise.all(figures.map((figure) => figureCard(visit, figure, scope))),
    scopeForm(visit, scope),
    needsPerson(visit),
    failedJobs(visit),
  ]);
  return {
    title: 'Overview',
    lead: `Amounts in ${scope.currency}, business days in ${visit.tenant.timeZone}.`,
    body: html`${form}${attention}<div class="charts">${cards}</div>${failed}`,
  };
}

async function scopeOf(visit: ConsoleVisit): Promise<Scope> {
  const { tenant } = visit;
  const entered = (name: string) => visit.query.get(name)?.trim() || undefined;
  const asOf = entered('asOf') ?? (await todayOf(visit));
  if (new Date(asOf).toJSON()?.slice(0, 10) !== asOf)
    throw new Rejection('VALIDATION_ERROR', `“${asOf}” is not a day, such as 2026-09-30.`);
  const currency = entered('currency') ?? tenant.currency;
  const [orgId, officeId, serviceLineId] = ['orgId', 'officeId', 'serviceLineId'].map(entered);
  return { asOf, currency, orgId, officeId, serviceLineId };
}

const orgChoice = { 'x-references': 'Org', description: 'All, if you choose none.' } as const;

async function scopeForm(visit: ConsoleVisit, scope: Scope): Promise<HtmlContent> {
  const body = { measures: { clients: { function: 'COUNT' } }, groupBy: [{ column: 'currency' }] };
  const [used, orgs] = await Promise.all([
    ifAllowed(callOperation(visit, operationOf('aggregateClients'), { body })).then(rowsIn),
    callOperation(visit, operationOf('listOrgs'), { body: { pageSize: 2 } }).then(rowsIn),
  ]);
  const currencies = used.map(({ key }) => String(Object(key).currency));
  return queryForm(visit, '', { ...scope }, [
    { path: 'asOf', schema: { format: 'date' } },
    ...(orgs.length > 1 ? [{ path: 'orgId', schema: orgChoice }] : []),
    { path: 'officeId', schema: { 'x-references': 'Office', description: 'All, if you choose none.' } },
    { path: 'serviceLineId', schema: { 'x-references': 'ServiceLine', description: 'All, if you choose none.' } },
    ...(currencies.length > 1 ? [{ path: 'currency', schema: { enum: currencies }, isRequired: true }] : []),
  ]);
}

/** Rows that meet conditions, by what they are called. */
export type WaitingRows = readonly [type: string, text: string, where: RowConditions];

/** What waits for a person: rows of a list, which need no date, office or service line. */
const waiting: readonly WaitingRows[] = [
  ['DraftInvoice', 'Draft invoices to review', { status: { _eq: 'IN_REVIEW' }, active: { _eq: true } }],
  ['TimeEntry', 'Time entries to approve', { status: { _eq: 'SUBMITTED' }, active: { _eq: true } }],
  ['ExpenseEntry', 'Expenses to approve', { status: { _eq: 'SUBMITTED' }, active: { _eq: true } }],
  ['Mail', 'Mails that did not arrive', { status: { _in: ['BOUNCED', 'FAILED', 'UNKNOWN'] } }],
  ['Payment', 'Payments that a bank returned', { status: { _eq: 'RETURNED' }, active: { _eq: true } }],
  ['Payment', 'Payments with money to apply', { status: { _eq: 'COMPLETED' }, unappliedAmount: { _gt: '0.00' } }],
];

async function needsPerson(visit: ConsoleVisit): Promise<HtmlContent> {
  const items = await countsOf(visit, waiting);
  const subscriptions = callOperation(visit, operationOf('listEventSubscriptions'), { query: { pageSize: '100' } });
  const failing = rowsIn(await ifAllowed(subscriptions)).filter(
    ({ active, consecutiveFailures }) => active && Number(consecutiveFailures) > 0,
  ).length;
  const url = `${visit.base}/data/EventSubscription`;
  if (failing > 0) items.push(waitingItem(url, failing, 'Receivers of events that fail'));
  return card('What needs a person', items.length === 0 ? html`<p>Nothing.</p>` : linkList(items));
}

/** How many there are of each, with a link to them, but for those that there are none of. */
export async function countsOf(visit: ConsoleVisit, counted: readonly WaitingRows[]): Promise<HtmlContent[]> {
  const items = counted.map(async ([type, text, where]) => {
    const list = listOf(type);
    const { aggregate } = list;
    // Counting reads less than a page with its total does.
    const body = aggregate ? { measures: { rows: { function: 'COUNT' } } } : { pageSize: 1, includeTotal: true };
    const counting = callOperation(visit, aggregate ?? list.operation, { body: { ...body, where } });
    const { total, data } = await ifAllowed(counting);
    const found = Number(total ?? Object(rowsIn({ data })[0]?.values).rows ?? 0);
    return found > 0 ? [waitingItem(listUrl(visit.base, list, { where }), found, text)] : [];
  });
  return (await Promise.all(items)).flat();
}

function waitingItem(url: string, found: number, text: string): HtmlContent {
  return html`<a href="${url}">${text}: <strong>${count(found)}</strong></a>`;
}

/** The result; nothing if the caller has not the roles. */
function ifAllowed(result: Promise<Record<string, unknown>>): Promise<Record<string, unknown>> {
  return result.catch((error: unknown) => {
    if (error instanceof Rejection && error.status === 403) return {};
    throw error;
  });
}

/** What the service has given up, of the last 30 days: documents without a file, and other work. */
async function failedJobs({ service: { store }, tenant, caller, base }: ConsoleVisit): Promise<HtmlContent> {
  if (!isAdministrator(caller.roles)) return false;
  const jobs = await store.read(tenant.id, (session) =>
    session.all<{ name: string; data: { invoiceId?: string }; at: string; failure: string | null }>(sql`
      select name, data, ended_at as at, failure from background_job
      where tenant_id = ${tenant.id} and status = 'DEAD' and ended_at > now() - interval '30 days'
      order by ended_at desc limit 20`),
  );
  if (jobs.length === 0) return false;
  const rows = jobs.map(({ name, data: { invoiceId }, at, failure }) => [
    when(tenant, at),
    invoiceId === undefined ? name : html`${name}: <a href="${base}/data/Invoice/${invoiceId}">invoice</a>`,
    failure ?? '',
  ]);
  const title = 'Work that failed for good';
  return card(title, html`<p>The operator can retry it.</p>${table(title, ['Time', 'Work', 'Reason'], rows)}`);
}

async function figureCard(visit: ConsoleVisit, figure: OverviewFigure, scope: Scope): Promise<HtmlContent> {
  const { id, title, lead, type } = figure;
  const { aggregate, operation } = listOf(type);
  const body = requestOf(figure, scope);
  // A figure that is rejected, also because too much is going on, does not take the others with it.
  const read = await callOperation(visit, aggregate ?? operation, { body }).catch((error: unknown) => {
    if (error instanceof Rejection && [403, 429, 503].includes(error.status)) return error.message;
    throw error;
  });
  const rows = typeof read === 'string' ? [] : rowsIn(read);
  const groups = rows.map((row): Group => ({ key: Object(row.key), values: Object(row.values) }));
  const nothing = html`<p>${typeof read === 'string' ? read : 'Nothing to show.'}</p>`;
  const content = groups.length === 0 ? nothing : await drawn(visit, figure, scope, seriesOf(figure, groups, scope));
  return html`<section class="card" id="${id}"><h2>${title}</h2><p class="soft">${lead}</p>${content}</section>`;
}

/** The chart, with the table behind it. */
async function drawn(visit: ConsoleVisit, figure: OverviewFigure, scope: Scope, series: readonly Series[]) {
  const { title, unit, type, column, ages, hasYearBefore } = figure;
  const list = listOf(type);
  const names = await namesIn(visit, [{ [column]: series.map(({ key }) => key) }], list.properties);
  const nameOf = (key: string | null): string => {
    if (key === null) return 'None';
    return isByMonth(figure) ? monthOf(key) : (ages?.[key] ?? names.get(key) ?? typeInWords(type));
  };
  const text = (value: Decimal): string =>
    unit === 'MONEY' ? decimal(formatDecimal(value, 2)) : `${formatDecimal(value, 1)}${unit === 'PERCENT' ? ' %' : ''}`;
  const bars = series.flatMap(({ key, points }) =>
    points.map((point, index): Bar => {
      const name = isByMonth(figure) ? nameOf(key).slice(0, 3) : nameOf(key);
      const value = Number(formatDecimal(point?.value ?? zero, 2));
      return { name, value, text: point ? text(point.value) : '–', isSecond: index === 1 };
    }),
  );
  const linked = (point: Point | undefined): HtmlContent => {
    if (point === undefined) return '–';
    const url = listUrl(visit.base, list, { where: whereOf(figure, scope, point.key) });
    return html`<a href="${url}">${text(point.value)}</a>`;
  };
  const titles = hasYearBefore ? ['This year', 'A year before'] : [title];
  const legend = titles.map((name, index) => html`<span class="key${index === 1 && ' second'}">${name}</span>`);
  const first = isByMonth(figure) ? 'Month' : isNamed(figure) ? 'Name' : 'Age';
  const heads = [first, ...titles.map((name) => ({ text: name, isNumber: true }))];
  const rows = series.map(({ key, points }) => [nameOf(key), ...points.map(linked)]);
  return html`${titles.length > 1 && html`<p class="legend">${legend}</p>`}${await (isNamed(figure) ? rowChart : columnChart)(title, bars)}
<details><summary>Figures and their rows</summary>${table(title, heads, rows)}</details>`;
}
