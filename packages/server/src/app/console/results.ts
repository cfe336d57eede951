/** The results of requests for the console. */
import type { Rejection } from '../../contract/rejection.ts';
import { html } from '../../wire/html.ts';
import { type PageResult, pageResult } from '../../wire/result.ts';
import { alert, type ConsolePage, framed, plainPage, rejected } from './layout.ts';
import { framingPolicy } from './style.ts';
import type { ConsoleVisit } from './visit.ts';

const failure = 'This did not work';

/** What someone sees of a problem beside all pages. */
export function failedBeside(base: string, { message, status, headers }: Rejection, requestId: string): PageResult {
  const body = html`${alert('bad', message)}<p class="soft">Request <code>${requestId}</code></p><p><a href="${base}">Go to the console</a></p>`;
  return pageResult(status, plainPage(failure, body), headers);
}

/** The path of the page that has a form; undefined for one that every page has. */
export function pageOfForm(path: string): string | undefined {
  return /^\/data\/[^/]+(?:\/(?!selected\/)[^/]+(?:\/edit$)?)?|^\/(?!sign-)[a-z]+/.exec(path)?.[0];
}

/** A page for someone who is signed in. */
export function shownAt(path: string, visit: ConsoleVisit, page: ConsolePage, headers = {}): PageResult {
  const { forgets, query } = visit;
  const again =
    forgets !== undefined && alert('', 'Your session had ended, so nothing was changed. Send again what you entered.');
  const notice = page.notice ?? (again || (query.has('done') && alert('good', 'Done.')));
  const policy = page.hasDocument === true ? { 'Content-Security-Policy': framingPolicy } : {};
  const forgetting = forgets === undefined ? {} : { 'Set-Cookie': forgets };
  const all = { ...headers, ...policy, ...forgetting };
  return pageResult(page.status ?? 200, framed(visit, path, { ...page, notice }), all);
}

/** The problem that there is instead, with the errors of the form. */
export function failedAt(path: string, visit: ConsoleVisit, problem: Rejection): PageResult {
  const { base, exchange } = visit;
  const isForm = exchange.method === 'POST';
  const page = isForm && pageOfForm(path);
  const body = html`<p class="soft">Request <code>${exchange.id}</code></p><p><a href="${base}${page}">${isForm ? 'Back' : 'Go to the overview'}</a></p>`;
  return shownAt(
    path,
    visit,
    { title: failure, notice: rejected(problem), body, status: problem.status },
    problem.headers,
  );
}
