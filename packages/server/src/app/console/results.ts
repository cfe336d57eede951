import type { CsvFile } from '../../contract/csv.ts';
import type { Rejection } from '../../contract/rejection.ts';
import type { Vault } from '../../platform/auth/vault.ts';
import { html } from '../../wire/html.ts';
import type { PageResult } from '../../wire/result.ts';
import { alert, type ConsolePage, framed, plainPage, rejected } from './layout.ts';
import { ConsoleCookies, type ConsoleSession, consoleRole, newCookieId } from './session.ts';
import { framingPolicy } from './style.ts';
import type { ConsoleVisit } from './visit.ts';
import { doneWords } from './words.ts';

/** The results of requests for the console, beside its pages. They depend on the URL at which browsers reach it. */
export class ConsoleResults {
  /** Path of the console in the browser. */
  readonly base: string;
  readonly cookies: ConsoleCookies;
  readonly #issuer: string | undefined;

  /** @param issuer the identity provider at which people sign in, if there is one */
  constructor(publicUrl: string, vault: Vault, issuer: string | undefined) {
    this.#issuer = issuer;
    this.base = `${new URL(publicUrl).pathname.replace(/\/$/, '')}/console`;
    this.cookies = new ConsoleCookies(vault, this.base, publicUrl.startsWith('https:'));
  }

  redirect(path: string): PageResult {
    return withHeaders(shown('', 303), { Location: `${this.base}${path}` });
  }

  /** A page that leads from another site to the console or back, where a redirect would not do; it starts or ends a session. */
  leadTo(title: string, url: string, session?: Omit<ConsoleSession, 'until'>): PageResult {
    const page = plainPage(title, html`<p><a href="${url}">Continue</a></p>`);
    return withHeaders(shown(page), {
      'Set-Cookie': this.cookies.header('session', session),
      Refresh: `0; url=${url}`,
    });
  }

  /** Ends the session. */
  ended(result: PageResult): PageResult {
    return withHeaders(result, { 'Set-Cookie': this.cookies.header('session') });
  }

  /** Asks a person of several tenants which one it wants. */
  tenantPage(names: readonly string[]): PageResult {
    const url = `${this.base}/sign-in/provider?tenant=`;
    const links = names.map((name) => html`<li><a href="${url}${encodeURIComponent(name)}">${name}</a></li>`);
    const body = html`<p>Your account belongs to several firms.</p><ul class="links">${links}</ul>`;
    return shown(plainPage('Choose a firm', body));
  }

  signInPage(status: number, error?: string): PageResult {
    const form = { id: newCookieId() };
    const provider =
      this.#issuer !== undefined &&
      html`<p><a class="button" href="${this.base}/sign-in/provider">Sign in with your account at ${new URL(this.#issuer).host}</a></p>`;
    const text = plainPage(
      'Sign in',
      html`<p class="lead">See how the firm stands, find anything by its name, and do the work of the month.</p>${error !== undefined && alert('bad', error)}${provider}
<form method="post" action="${this.base}/sign-in"><input type="hidden" name="formKey" value="${this.cookies.formKey(form)}"><label for="apiKey">API key <span class="hint">of an API user with the role ${consoleRole}</span></label>
<input type="password" id="apiKey" name="apiKey" required autocomplete="off" autofocus>
<div class="row"><button>Sign in</button></div></form>
<p class="soft">You stay signed in for an hour. The key itself is not stored.</p>`,
    );
    return withHeaders(shown(text, status), { 'Set-Cookie': this.cookies.header('form', form) });
  }

  /** What someone who is not signed in sees of a problem. */
  failed(problem: Rejection, requestId: string): PageResult {
    const body = html`${alert('bad', problem.message)}<p class="soft">Request <code>${requestId}</code></p><p><a href="${this.base}">Go to the console</a></p>`;
    return withHeaders(shown(plainPage('This did not work', body), problem.status), problem.headers);
  }

  /** A page for someone who is signed in, or the problem that there is instead, with the errors of the form. */
  shownAt(path: string, { frame, query }: ConsoleVisit, page: ConsolePage): PageResult {
    const { hasDocument = false, status } = page;
    const done = query.get('done');
    const notice = page.notice ?? (done !== null && alert('good', doneWords[done] ?? 'Done.'));
    const result = shown(framed(frame, path, { ...page, notice }), status);
    return hasDocument ? withHeaders(result, { 'Content-Security-Policy': framingPolicy }) : result;
  }

  failedAt(path: string, visit: ConsoleVisit, problem: Rejection): PageResult {
    const { method, id } = visit.exchange;
    const isForm = method === 'POST';
    const [page = ''] = (isForm && /^\/data\/[^/]+\/[^/]+|^\/[a-z]+/.exec(path)) || [];
    const body = html`<p class="soft">Request <code>${id}</code></p><p><a href="${this.base}${page}">${isForm ? 'Back' : 'Go to the overview'}</a></p>`;
    const { status, headers } = problem;
    return withHeaders(
      this.shownAt(path, visit, { title: 'This did not work', status, notice: rejected(problem), body }),
      headers,
    );
  }
}

export function shown(text: string, status = 200): PageResult {
  return { kind: 'page', status, text };
}

export function withHeaders(result: PageResult, headers: Readonly<Record<string, string>>): PageResult {
  return { ...result, headers: { ...result.headers, ...headers } };
}

export function csvFile(name: string, { text }: CsvFile): PageResult {
  const headers = { 'Content-Disposition': `attachment; filename="${name}.csv"` };
  return { kind: 'page', status: 200, text, headers, type: 'text/csv; charset=utf-8; header=present' };
}
