import { Rejection } from '../../contract/rejection.ts';
import type { RecentRequest } from '../../platform/process/recent-requests.ts';
import { html } from '../../wire/html.ts';
import { badge, count, none, when } from './formats.ts';
import { type ConsolePage, card, options, pageLinks, table } from './layout.ts';
import type { ConsoleVisit } from './visit.ts';

const pageSize = 50;
const maxOffset = 10_000;

const lead =
  'Requests of your firm in the last day, and a sample of them while there are many per second. What was sent is not kept.';

export async function requestsPage(visit: ConsoleVisit): Promise<ConsolePage> {
  const { frame, query } = visit;
  const id = query.get('id')?.trim() ?? '';
  const onlyFailed = query.get('failed') === 'on';
  const first = Math.min(Math.max(0, Math.trunc(Number(query.get('first'))) || 0), maxOffset);
  const choice = { id: id === '' ? undefined : id, onlyFailed, offset: first, limit: pageSize + 1 };
  const found = await visit.service.recentRequests.of(visit.tenant.id, choice);
  const rows = found
    .slice(0, pageSize)
    .map((request) => [
      when(frame, request.receivedAt),
      status(request),
      html`<a href="${frame.base}/requests/${request.id}">${request.operation}</a>`,
      request.problem?.code ?? none(),
      request.user,
      `${count(request.milliseconds)} ms`,
    ]);
  const heads = ['Time', 'Status', 'Operation', 'Problem', 'API user', { text: 'Took', isNumber: true }];
  const failed = onlyFailed ? 'on' : 'off';
  const choices = options(
    [
      ['off', 'all requests'],
      ['on', 'only failed ones'],
    ],
    failed,
  );
  const older = new URLSearchParams({ id, failed, first: String(first + pageSize) }).toString();
  return {
    title: 'Requests',
    lead,
    body: html`<form class="card filter" method="get" action="${frame.base}/requests">
<div><label for="id">Request ID <span class="hint">X-Request-Id of the response</span></label><input id="id" name="id" value="${id}" autocomplete="off"></div>
<div><label for="failed">Show</label><select id="failed" name="failed">${choices}</select></div>
<button>Filter</button></form>
<section class="card">${rows.length === 0 ? html`<p>No requests.</p>` : table('Requests', heads, rows)}${pageLinks(undefined, found.length > pageSize ? `${frame.base}/requests?${older}` : undefined)}</section>`,
  };
}

function status({ status: code }: RecentRequest) {
  return badge(String(code), code >= 400 ? 'bad' : 'good');
}

export async function requestPage(visit: ConsoleVisit, id: string): Promise<ConsolePage> {
  const { frame } = visit;
  const [request] = await visit.service.recentRequests.of(visit.tenant.id, { id, limit: 1 });
  if (request === undefined)
    throw new Rejection('NOT_FOUND', 'This request is not among those of the last day. The log has all of them.');
  const { problem } = request;
  const errors = problem?.errors.map(({ pointer, detail }) => [html`<code>${pointer}</code>`, detail]) ?? [];
  return {
    title: request.operation,
    lead: html`<a href="${frame.base}/requests">All requests</a>`,
    body: html`<section class="card"><h2>Request ${status(request)}</h2><dl>
<dt>Request ID</dt><dd><code>${request.id}</code></dd><dt>Time</dt><dd>${when(frame, request.receivedAt)}</dd>
<dt>Method and path</dt><dd><code>${request.method} ${request.path}</code></dd>
<dt>API user</dt><dd>${request.user}</dd><dt>Took</dt><dd>${count(request.milliseconds)} ms</dd></dl></section>
${problem !== null && card('Problem', [html`<p><strong>${problem.code}</strong>: ${problem.detail}</p>`, errors.length > 0 && table('Errors', ['Pointer', 'Detail'], errors)])}`,
  };
}
