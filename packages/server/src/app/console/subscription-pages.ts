import { schemaOf } from '../../contract/contract.ts';
import { Rejection } from '../../contract/rejection.ts';
import { eventBody } from '../../modules/events/index.ts';
import { type HtmlContent, html } from '../../wire/html.ts';
import { dataLists, propertiesOf } from './catalog.ts';
import { badge, count, none, when } from './formats.ts';
import { alert, framed, keyField, table } from './layout.ts';
import { namesIn } from './names.ts';
import { fields } from './values.ts';
import { type ConsoleVisit, call, contextIn, operationOf } from './visit.ts';
import { typeInWords, typesInWords, valueInWords } from './words.ts';

const pageSize = 50;

export async function subscriptionsPage(visit: ConsoleVisit): Promise<string> {
  const { frame, query } = visit;
  const url = `${frame.base}/subscriptions`;
  const { data, nextCursor } = await call(visit, 'listEventSubscriptions', { query: pageQuery(visit) });
  const isAll = query.get('inactive') === 'on';
  const active = data.filter((row) => row.active);
  const hidden = data.length - active.length;
  const rows = (isAll ? data : active).map((row) => [
    html`<a href="${url}/${row.id}">${typesInWords(row.entityType)}</a>`,
    state(row),
    html`<code>${row.deliveryUrl}</code>`,
    when(frame, row.lastDeliveryAt),
    count(row.consecutiveFailures),
  ]);
  const heads = ['Events of', 'State', 'Delivered to', 'Last delivery'];
  return framed(frame, {
    title: 'Subscriptions',
    part: '/subscriptions',
    lead: 'Who receives events, and whether deliveries succeed.',
    body: html`<form class="row" method="post" action="${frame.base}/secret">${keyField(frame)}<button class="plain">Show the secret of deliveries</button></form><section class="card">${
      rows.length === 0
        ? html`<p>No ${!isAll && hidden > 0 && 'active '}subscriptions.</p>`
        : table('Subscriptions', [...heads, { text: 'Failures in a row', isNumber: true }], rows)
    }${!isAll && hidden > 0 && html`<p><a href="${url}?inactive=on">Show ${count(hidden)} inactive ones</a></p>`}${nextLink(url, nextCursor)}</section>`,
  });
}

function pageQuery({ query }: ConsoleVisit) {
  const cursor = query.get('page');
  return { pageSize: String(pageSize), ...(cursor === null ? {} : { cursor }) };
}

function nextLink(url: string, cursor: string | null | undefined): HtmlContent {
  if (cursor === null || cursor === undefined) return false;
  return html`<div class="row"><a class="button plain" href="${url}?page=${cursor}">Next page</a></div>`;
}

function state(row: { readonly active: boolean; readonly consecutiveFailures: number }): HtmlContent {
  if (!row.active) return badge('Inactive');
  return row.consecutiveFailures > 0 ? badge('Failing', 'bad') : badge('Active', 'good');
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
  const row = await call(visit, 'getEventSubscription', { path: { id } });
  const { data, nextCursor } = await call(visit, 'listDeliveries', { path: { id }, query: pageQuery(visit) });
  const isActive = row.active;
  const rows = data.map((attempt) => [
    when(frame, attempt.attemptedAt),
    badge(valueInWords(attempt.outcome), attempt.outcome === 'SUCCESS' ? 'good' : 'bad'),
    html`<a href="${url}/events/${attempt.eventId}">${valueInWords(attempt.operation)}</a>, <a href="${frame.base}/data/${attempt.entityType}/${attempt.entityId}">${typeInWords(attempt.entityType)}</a>, attempt ${attempt.attempt}`,
    attempt.httpStatusCode === null ? none() : String(attempt.httpStatusCode),
    html`<code>${attempt.errorMessage ?? attempt.responseSnippet ?? ''}</code>`,
    `${count(attempt.durationMs)} ms`,
    isActive &&
      html`<form method="post" action="${url}/retry">${keyField(frame)}<input type="hidden" name="deliveryId" value="${attempt.id}"><button class="plain">Deliver again</button></form>`,
  ]);
  const properties = dataLists.get('EventSubscription')?.properties ?? new Map();
  const view = { frame, names: await namesIn(visit, [row], properties) };
  return framed(frame, {
    title: `Events of ${typesInWords(row.entityType).toLowerCase()}`,
    part: '/subscriptions',
    lead: html`<a href="${frame.base}/subscriptions">All subscriptions</a>`,
    notice: doneNotice(query),
    body: html`<section class="card"><h2>Subscription ${state(row)}</h2>${fields(view, row, properties)}
<div class="row">${
      isActive
        ? html`<form method="post" action="${url}/test">${keyField(frame)}<button class="plain">Send a test event</button></form><form method="post" action="${url}/deactivate">${keyField(frame)}<button class="danger">Deactivate</button></form>`
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
        : table(
            'Deliveries',
            ['Time', 'Outcome', 'Event', 'Status', 'Response', { text: 'Took', isNumber: true }, 'Again'],
            rows,
          )
    }${nextLink(url, nextCursor)}</section>`,
  });
}

/** What was sent with an event, and what the receiver responded to each attempt. */
export async function sentEventPage(visit: ConsoleVisit, id: string, eventId: string): Promise<string> {
  const { frame } = visit;
  const { data } = await call(visit, 'listDeliveries', { path: { id }, query: { pageSize: '100' } });
  const attempts = data.filter((attempt) => attempt.eventId === eventId);
  const [latest] = attempts;
  if (latest === undefined) throw new Rejection('NOT_FOUND', 'The event is not among the latest deliveries.');
  const sent = await eventBody(contextIn(visit, operationOf('listEvents')), eventId);
  const rows = attempts.map((attempt) => [
    when(frame, attempt.attemptedAt),
    badge(valueInWords(attempt.outcome), attempt.outcome === 'SUCCESS' ? 'good' : 'bad'),
    attempt.httpStatusCode === null ? none() : String(attempt.httpStatusCode),
    html`<pre>${attempt.errorMessage ?? attempt.responseSnippet ?? ''}</pre>`,
  ]);
  return framed(frame, {
    title: `${valueInWords(latest.operation)} of ${typeInWords(latest.entityType).toLowerCase()}`,
    part: '/subscriptions',
    lead: html`<a href="${frame.base}/subscriptions/${id}">All deliveries of the subscription</a>`,
    body: html`<section class="card"><h2>Received in return</h2>${table('Attempts', ['Time', 'Outcome', 'Status', 'Response'], rows)}</section>
<section class="card"><h2>Sent</h2><p class="soft"><code>POST ${latest.deliveryUrl}</code>, <code>webhook-id: ${eventId}</code></p>${
      sent === undefined
        ? html`<p>The event is no longer kept, or your API user does not have the roles to read it.</p>`
        : html`<pre>${JSON.stringify(JSON.parse(sent), null, 2)}</pre>`
    }</section>`,
  });
}

function doneNotice(query: URLSearchParams): HtmlContent {
  const text = done[query.get('done') ?? ''];
  return text !== undefined && alert('good', html`<p>${text}</p>`);
}

/** Sends a test event, and shows what the receiver returned. */
export async function testEventPage(visit: ConsoleVisit, id: string): Promise<string> {
  const { frame } = visit;
  const result = await call(visit, 'sendTestEvent', { path: { id } });
  return framed(frame, {
    title: 'Test event',
    part: '/subscriptions',
    lead: html`<a href="${frame.base}/subscriptions/${id}">Back to the subscription</a>`,
    notice:
      result.outcome === 'SUCCESS'
        ? alert('good', html`<p>The receiver accepted it.</p>`)
        : alert('bad', html`<p>The receiver did not accept it.</p>`),
    body: html`<section class="card"><h2>Result</h2>${fields({ frame, names: new Map() }, result, propertiesOf(schemaOf('TestDelivery')))}</section>`,
  });
}

/** The secret that deliveries are signed with; a rotated one, if that is asked for. The one before is valid for some time. */
export async function secretPage(visit: ConsoleVisit): Promise<string> {
  const { frame, fields: entered } = visit;
  const isRotated = entered.get('rotate') === 'yes';
  const body = isRotated
    ? await call(visit, 'rotateWebhookSecret', { body: { overlapMinutes: Number(entered.get('overlap')) * 60 } })
    : await call(visit, 'getWebhookSecret');
  return framed(frame, {
    title: 'Secret of deliveries',
    part: '/subscriptions',
    lead: html`<a href="${frame.base}/subscriptions">All subscriptions</a>`,
    notice: isRotated && alert('good', html`<p>The secret is rotated.</p>`),
    body: html`<section class="card">${fields({ frame, names: new Map() }, body, new Map())}
<form method="post" action="${frame.base}/secret">${keyField(frame)}<input type="hidden" name="rotate" value="yes"><details><summary>Rotate</summary><label for="overlap">Hours for which the one before is valid, too</label><input id="overlap" name="overlap" value="24" inputmode="numeric" required autocomplete="off"><div class="row"><button class="danger">Rotate the secret now</button></div></details></form></section>`,
  });
}

/** Handles a form of the page. @returns what was done, or undefined if there is no such form */
export async function changeSubscription(visit: ConsoleVisit, id: string, action: string): Promise<string | undefined> {
  const { fields: entered } = visit;
  switch (action) {
    case 'retry':
      await call(visit, 'retryDelivery', {
        path: { id, deliveryId: entered.get('deliveryId') ?? '' },
      });
      return 'retried';
    case 'recover':
      await call(visit, 'recoverEvents', {
        path: { id },
        body: { since: entered.get('since')?.trim() ?? '' },
      });
      return 'recovered';
    case 'deactivate':
      await call(visit, 'deactivateEventSubscription', { path: { id } });
      return 'deactivated';
    case 'reactivate':
      await call(visit, 'reactivateEventSubscription', { path: { id } });
      return 'reactivated';
    default:
      return undefined;
  }
}
