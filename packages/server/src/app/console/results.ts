import type { CsvFile } from '../../contract/csv.ts';
import type { Rejection } from '../../contract/rejection.ts';
import type { ResponseFile } from '../../contract/response-file.ts';
import type { Exchange } from '../../wire/exchange.ts';
import { html } from '../../wire/html.ts';
import { type BytesResult, fileResult, type PageResult } from '../../wire/result.ts';
import { toRejection } from '../failure.ts';
import type { Sessions } from '../sessions/index.ts';
import { alert, type ConsolePage, framed, linkList, plainPage, rejected } from './layout.ts';
import { framingPolicy } from './style.ts';
import type { ConsoleVisit } from './visit.ts';

/** The results of requests for the console, beside its pages. They depend on the URL at which browsers reach it. */
export class ConsoleResults {
  /** Path of the console in the browser. */
  readonly base: string;
  readonly #sessions: Sessions;

  constructor(publicUrl: string, sessions: Sessions) {
    this.base = `${new URL(publicUrl).pathname.replace(/\/$/, '')}/console`;
    this.#sessions = sessions;
  }

  redirect(path: string): PageResult {
    return withHeaders(shown('', 303), { Location: `${this.base}${path}` });
  }

  /** Signs someone in, by a form or at the identity provider; undefined at other paths. What is rejected can be tried again. */
  async signedIn(path: string, exchange: Exchange): Promise<PageResult | undefined> {
    try {
      if (path === '/sign-in' && exchange.method === 'POST')
        return withHeaders(this.redirect(''), { 'Set-Cookie': await this.#sessions.signIn(exchange) });
      if (path === '/sign-in/provider') {
        const { url, cookie } = await this.#sessions.start(exchange);
        return withHeaders(this.redirect(''), { Location: url, 'Set-Cookie': cookie });
      }
      if (path !== '/sign-in/return') return undefined;
      const found = await this.#sessions.finish(exchange);
      if (typeof found !== 'string') return this.#tenantPage(found);
      // After a redirect from another site, browsers would not send the cookie.
      return leadTo('Signed in', this.base, found);
    } catch (error) {
      const problem = toRejection(error, exchange.log);
      return withHeaders(this.signInPage(problem.status, problem.message), problem.headers);
    }
  }

  /** @param url where the session ends at the identity provider */
  signedOut(url: string | undefined): PageResult {
    const cookie = this.#sessions.cookies.header('session');
    // No form of the console may lead to another site, not even by a redirect.
    if (url !== undefined) return leadTo('Signed out', url, cookie);
    return withHeaders(this.redirect(''), { 'Set-Cookie': cookie });
  }

  /** Asks a person of several tenants which one it wants. */
  #tenantPage(names: readonly string[]): PageResult {
    const url = `${this.base}/sign-in/provider?tenant=`;
    const links = names.map((name) => html`<a href="${url}${encodeURIComponent(name)}">${name}</a>`);
    return shown(plainPage('Choose a firm', [html`<p>Your account belongs to several firms.</p>`, linkList(links)]));
  }

  signInPage(status: number, error?: string): PageResult {
    const { issuer } = this.#sessions;
    const { formKey, cookie } = this.#sessions.newForm();
    const provider =
      issuer !== undefined &&
      html`<p><a class="button" href="${this.base}/sign-in/provider">Sign in with your account at ${issuer.host}</a></p>`;
    const text = plainPage(
      'Sign in',
      html`<p class="lead">See how the firm stands, find anything by its name, and do the work of the month.</p>${error !== undefined && alert('bad', error)}${provider}
<form method="post" action="${this.base}/sign-in"><input type="hidden" name="formKey" value="${formKey}"><label for="apiKey">API key <span class="hint">its roles say what you see and do here</span></label>
<input type="password" id="apiKey" name="apiKey" required autocomplete="off" autofocus>
<div class="row"><button>Sign in</button></div></form>
<p class="soft">You stay signed in for an hour. The key itself is not stored.</p>`,
    );
    return withHeaders(shown(text, status), { 'Set-Cookie': cookie });
  }

  /** What someone sees of a problem beside all pages. */
  failed(problem: Rejection, requestId: string): PageResult {
    const body = html`${alert('bad', problem.message)}<p class="soft">Request <code>${requestId}</code></p><p><a href="${this.base}">Go to the console</a></p>`;
    return withHeaders(shown(plainPage('This did not work', body), problem.status), problem.headers);
  }

  /** A page for someone who is signed in, or the problem that there is instead, with the errors of the form. */
  shownAt(path: string, visit: ConsoleVisit, page: ConsolePage): PageResult {
    const { hasDocument = false, status } = page;
    const done = visit.query.get('done');
    const notice = page.notice ?? (done !== null && alert('good', 'Done.'));
    const result = shown(framed(visit, path, { ...page, notice }), status);
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

/** A page that leads from another site to the console or back, where a redirect would not do; it starts or ends a session. */
function leadTo(title: string, url: string, cookie: string): PageResult {
  const page = plainPage(title, html`<p><a href="${url}">Continue</a></p>`);
  return withHeaders(shown(page), { 'Set-Cookie': cookie, Refresh: `0; url=${url}` });
}

function shown(text: string, status = 200): PageResult {
  return { kind: 'page', status, text };
}

function withHeaders(result: PageResult, headers: Readonly<Record<string, string>>): PageResult {
  return { ...result, headers: { ...result.headers, ...headers } };
}

/** A file that is saved under a name. */
export function savedFile(name: string, file: CsvFile | ResponseFile): PageResult | BytesResult {
  return fileResult(file, 200, { 'Content-Disposition': `attachment; filename="${name}"` });
}
