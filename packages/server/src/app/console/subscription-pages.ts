import { type HtmlContent, html } from '../../wire/html.ts';
import { dataLists } from './catalog.ts';
import { alert, badge, framed, keyField, table, when } from './layout.ts';
import { fields } from './values.ts';
import { type ConsoleVisit, callOperation, operationOf, rowsIn } from './visit.ts';

const pageSize = 50;

export async function subscriptionsPage(visit: ConsoleVisit): Promise<string> {
  const { base } = visit.frame;
  const body = await callOperation(visit, operationOf('listEventSubscriptions'), { query: pageQuery(visit) });
  const rows = rowsIn(body).map((row) => [
    html`<a href="${base}/subscriptions/${String(row.id)}">${String(row.entityType)}</a>`,
    state(row),
    html`<code>${String(row.deliveryUrl)}</code>`,
    when(row.lastDeliveryAt),
    String(row.consecutiveFailures),
  ]);
  return framed(visit.frame, {
    title: 'Subscriptions',
    part: '/subscriptions',
    lead: 'Who receives events, and whether deliveries succeed.',
    body: html`<section class="card">${
      rows.length === 0
        ? html`<p>No subscriptions. <code>createEventSubscription</code> creates one.</p>`
        : table('Subscriptions', ['Events of', 'State', 'Delivered to', 'Last delivery', 'Failures in a row'], rows)
    }${nextLink(`${base}/subscriptions`, body)}</section>`,
  });
}

function pageQuery({ query }: ConsoleVisit) {
  const cursor = query.get('page');
  return { pageSize: String(pageSize), ...(cursor === null ? {} : { cursor }) };
}

function nextLink(url: string, { nextCursor }: Readonly<Record<string, unknown>>): HtmlContent {
  if (typeof nextCursor !== 'string') return false;
  return html`<div class="row"><a class="button plain" href="${url}?page=${nextCursor}">Next page</a></div>`;
}

function state({ active, consecutiveFailures }: Readonly<Record<string, unknown>>): HtmlContent {
  if (active !== true) return badge('inactive');
  return Number(consecutiveFailures) > 0 ? badge('failing', 'bad') : badge('active', 'good');
}

const done: Readonly<Record<string, string>> = {
  retried: 'Another attempt is scheduled. Reload the page to see its result.',
  recovered: 'The failed events since then are scheduled again.',
  deactivated: 'The subscription is inactive. No events are sent to it.',
  reactivated: 'The subscription is active again.',
};

export async function subscriptionPage(visit: ConsoleVisit, id: string): Promise<string> {
  const { frame, query } = visit;
  const url = `${frame.base}/subscriptions/${id}`;
  const row = await callOperation(visit, operationOf('getEventSubscription'), { path: { id } });
  const body = await callOperation(visit, operationOf('listDeliveries'), { path: { id }, query: pageQuery(visit) });
  const isActive = row.active === true;
  const rows = rowsIn(body).map((attempt) => [
    when(attempt.attemptedAt),
    badge(String(attempt.outcome), attempt.outcome === 'SUCCESS' ? 'good' : 'bad'),
    attempt.httpStatusCode === null ? html`<span class="soft">no response</span>` : String(attempt.httpStatusCode),
    html`${String(attempt.operation)} <a href="${frame.base}/data/${String(attempt.entityType)}/${String(attempt.entityId)}">${String(attempt.entityType)}</a>, attempt ${String(attempt.attempt)}`,
    html`${String(attempt.durationMs)} ms`,
    attempt.errorMessage === null && attempt.responseSnippet === null
      ? html`<span class="soft">none</span>`
      : html`<code>${String(attempt.errorMessage ?? attempt.responseSnippet)}</code>`,
    isActive &&
      html`<form method="post" action="${url}/retry">${keyField(frame)}<input type="hidden" name="deliveryId" value="${String(attempt.id)}"><button class="plain">Deliver again</button></form>`,
  ]);
  return framed(frame, {
    title: `Events of ${String(row.entityType)}`,
    part: '/subscriptions',
    lead: html`<a href="${frame.base}/subscriptions">All subscriptions</a>`,
    notice: doneNotice(query),
    body: html`<section class="card"><h2>Subscription ${state(row)}</h2>${fields(frame.base, row, dataLists.get('EventSubscription')?.properties ?? new Map())}
<div class="row">${
      isActive
        ? html`<form method="post" action="${url}/deactivate">${keyField(frame)}<button class="danger">Deactivate</button></form>`
        : html`<form method="post" action="${url}/reactivate">${keyField(frame)}<button>Reactivate</button></form>`
    }</div></section>
${
  isActive &&
  html`<form class="card" method="post" action="${url}/recover"><h2>Deliver failed events again</h2>${keyField(frame)}
<label for="since">Since <span class="hint">an instant in UTC, such as 2026-03-31T08:00:00Z</span></label><input id="since" name="since" required autocomplete="off"><div class="row"><button>Deliver again</button></div></form>`
}
<section class="card"><h2>Deliveries</h2>${
      rows.length === 0
        ? html`<p>Nothing has been delivered yet.</p>`
        : table('Deliveries', ['Attempted', 'Outcome', 'Status', 'Event', 'Took', 'Response', 'Replay'], rows)
    }${nextLink(url, body)}</section>`,
  });
}

function doneNotice(query: URLSearchParams): HtmlContent {
  const text = done[query.get('done') ?? ''];
  return text !== undefined && alert('good', html`<p>${text}</p>`);
}

/** Handles a form of the page. @returns what was done, or undefined if there is no such form */
export async function changeSubscription(visit: ConsoleVisit, id: string, action: string): Promise<string | undefined> {
  const { fields: entered } = visit;
  switch (action) {
    case 'retry':
      await callOperation(visit, operationOf('retryDelivery'), {
        path: { id, deliveryId: entered.get('deliveryId') ?? '' },
      });
      return 'retried';
    case 'recover':
      await callOperation(visit, operationOf('recoverEvents'), {
        path: { id },
        body: { since: entered.get('since')?.trim() ?? '' },
      });
      return 'recovered';
    case 'deactivate':
      await callOperation(visit, operationOf('deactivateEventSubscription'), { path: { id } });
      return 'deactivated';
    case 'reactivate':
      await callOperation(visit, operationOf('reactivateEventSubscription'), { path: { id } });
      return 'reactivated';
    default:
      return undefined;
  }
}
