/** What was delivered to a subscriber, and how it responded. */
import { mayCall } from '@financial-automation/spec/roles';
import { operationOf } from '../../contract/contract.ts';
import { Rejection } from '../../contract/rejection.ts';
import { eventBody } from '../../modules/events/index.ts';
import { type HtmlContent, html } from '../../wire/html.ts';
import { searchOf } from './catalog.ts';
import { badge, count, none, when } from './formats.ts';
import { type ConsolePage, card, keyField, pageLinks, table } from './layout.ts';
import { type ConsoleVisit, call, contextIn } from './visit.ts';
import { typeInWords, valueInWords } from './words.ts';

type Attempt = Awaited<ReturnType<typeof attemptsOf>>['data'][number];

function attemptsOf(visit: ConsoleVisit, id: string, pageSize: number) {
  const cursor = visit.query.get('page');
  return call(visit, 'listDeliveries', { path: { id }, query: { pageSize, ...(cursor !== null && { cursor }) } });
}

function cells({ tenant }: ConsoleVisit, attempt: Attempt, event: HtmlContent) {
  return [
    when(tenant, attempt.attemptedAt),
    badge(valueInWords(attempt.outcome), attempt.outcome === 'SUCCESS' ? 'good' : 'bad'),
    event,
    attempt.httpStatusCode === null ? none() : String(attempt.httpStatusCode),
    html`<pre>${attempt.errorMessage ?? attempt.responseSnippet ?? ''}</pre>`,
    `${count(attempt.durationMs)} ms`,
  ];
}

const heads = ['Time', 'Outcome', 'Event', 'Status', 'Response', { text: 'Took', isNumber: true }];

/** The latest attempts to deliver events to a subscription. */
export async function deliveriesCard(visit: ConsoleVisit, id: string): Promise<HtmlContent> {
  const { data, nextCursor } = await attemptsOf(visit, id, 25);
  const url = `${visit.base}/data/EventSubscription/${id}`;
  const rows = data.map((attempt) => {
    const { operation, entityType, eventId } = attempt;
    const event = `${valueInWords(operation)} of ${typeInWords(entityType).toLowerCase()}`;
    return cells(visit, attempt, html`<a href="${url}/events/${eventId}">${event}</a>, attempt ${attempt.attempt}`);
  });
  return card('Deliveries', [
    rows.length === 0 ? html`<p>Nothing has been delivered yet.</p>` : table('Deliveries', heads, rows),
    pageLinks(undefined, nextCursor ? `${url}?page=${nextCursor}` : undefined),
  ]);
}

/** What was sent with an event, and what the receiver responded to each attempt. */
export async function sentEventPage(visit: ConsoleVisit, id: string, eventId: string): Promise<ConsolePage> {
  const url = `${visit.base}/data/EventSubscription/${id}`;
  const { data } = await attemptsOf(visit, id, 100);
  const attempts = data.filter((attempt) => attempt.eventId === eventId);
  const [latest] = attempts;
  if (latest === undefined) throw new Rejection('NOT_FOUND', 'The event is not among the latest deliveries.');
  const sent = await eventBody(contextIn(visit, operationOf('listEvents')), eventId);
  const named = typeInWords(latest.entityType);
  const row = `${visit.base}/data/${latest.entityType}/${latest.entityId}`;
  const link = mayCall(searchOf(latest.entityType), visit.caller.roles) ? html`<a href="${row}">${named}</a>` : named;
  const rows = attempts.map((attempt) => cells(visit, attempt, link));
  const request = html`<p class="soft"><code>POST ${latest.deliveryUrl}</code>, <code>webhook-id: ${eventId}</code></p>`;
  const content =
    sent === undefined
      ? html`<p>The event is no longer kept, or your API user does not have the roles to read it.</p>`
      : html`<pre>${JSON.stringify(JSON.parse(sent), null, 2)}</pre>`;
  const again = html`<form class="row" method="post" action="${url}/deliveries/${latest.id}/retry">${keyField(visit)}<button>Deliver again</button></form>`;
  return {
    title: `${valueInWords(latest.operation)} of ${typeInWords(latest.entityType).toLowerCase()}`,
    lead: html`<a href="${url}">All deliveries of the subscription</a>`,
    body: [card('Received in return', [table('Attempts', heads, rows), again]), card('Sent', [request, content])],
  };
}

/** Delivers an event again. */
export async function retry(visit: ConsoleVisit, id: string, deliveryId: string): Promise<string> {
  await call(visit, 'retryDelivery', { path: { id, deliveryId } });
  return `/data/EventSubscription/${encodeURIComponent(id)}?done=yes`;
}
