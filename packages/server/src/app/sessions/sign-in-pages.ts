import type { Exchange } from '../../wire/exchange.ts';
import { type HtmlContent, html } from '../../wire/html.ts';
import { type PageResult, pageResult, redirect } from '../../wire/result.ts';
import { toRejection } from '../failure.ts';
import type { Sessions } from './sessions.ts';

/** The pages on which people sign in and out, below those that they are for. */
export class SignInPages {
  readonly #sessions: Sessions;
  readonly #base: string;
  readonly #pageOf: (title: string, body: HtmlContent) => string;

  /**
   * @param base path of the pages in the browser
   * @param pageOf renders a page for someone who is not signed in
   */
  constructor(sessions: Sessions, base: string, pageOf: (title: string, body: HtmlContent) => string) {
    this.#sessions = sessions;
    this.#base = base;
    this.#pageOf = pageOf;
  }

  /** Signs someone in, by a form or at the identity provider; undefined at other paths. What is rejected can be tried again. */
  async at(path: string, exchange: Exchange): Promise<PageResult | undefined> {
    try {
      if (path === '/sign-in' && exchange.method === 'POST')
        return redirect(this.#base, { 'Set-Cookie': await this.#sessions.signIn(exchange) });
      if (path === '/sign-in/provider') {
        const { url, cookie } = await this.#sessions.start(exchange);
        return redirect(url, { 'Set-Cookie': cookie });
      }
      if (path !== '/sign-in/return') return undefined;
      const found = await this.#sessions.finish(exchange);
      if (typeof found !== 'string') return this.#tenants(found);
      // After a redirect from another site, browsers would not send the cookie.
      return this.#leadTo('Signed in', this.#base, found);
    } catch (error) {
      const { status, message, headers } = toRejection(error, exchange.log);
      const page = this.form(status, message);
      return { ...page, headers: { ...page.headers, ...headers } };
    }
  }

  /** The form to sign in. @param error why nobody is signed in */
  form(status: number, error?: string): PageResult {
    const { issuer } = this.#sessions;
    const { formKey, cookie } = this.#sessions.newForm();
    const provider =
      issuer !== undefined &&
      html`<p><a class="button" href="${this.#base}/sign-in/provider">Sign in with your account at ${issuer.host}</a></p>`;
    const body = html`<p class="lead">See how the firm stands, find anything by its name, and do the work of the month.</p>${error !== undefined && html`<div class="alert bad" role="alert"><p>${error}</p></div>`}${provider}
<form method="post" action="${this.#base}/sign-in"><input type="hidden" name="formKey" value="${formKey}"><label for="apiKey">API key <span class="hint">its roles say what you see and do here</span></label>
<input type="password" id="apiKey" name="apiKey" required autocomplete="off" autofocus>
<div class="row"><button>Sign in</button></div></form>
<p class="soft">You stay signed in for an hour. The key itself is not stored.</p>`;
    return pageResult(status, this.#pageOf('Sign in', body), { 'Set-Cookie': cookie });
  }

  /** @param url where the session ends at the identity provider */
  signedOut(url: string | undefined): PageResult {
    const cookie = this.#sessions.cookies.header('session');
    // No form may lead to another site, not even by a redirect.
    return url === undefined ? redirect(this.#base, { 'Set-Cookie': cookie }) : this.#leadTo('Signed out', url, cookie);
  }

  /** Asks a person of several tenants which one it wants. */
  #tenants(names: readonly string[]): PageResult {
    const url = `${this.#base}/sign-in/provider?tenant=`;
    const links = names.map((name) => html`<li><a href="${url}${encodeURIComponent(name)}">${name}</a></li>`);
    const body = html`<p>Your account belongs to several firms.</p><ul class="links">${links}</ul>`;
    return pageResult(200, this.#pageOf('Choose a firm', body));
  }

  /** A page that leads from another site and back, where a redirect would not do; it starts or ends a session. */
  #leadTo(title: string, url: string, cookie: string): PageResult {
    const page = this.#pageOf(title, html`<p><a href="${url}">Continue</a></p>`);
    return pageResult(200, page, { 'Set-Cookie': cookie, Refresh: `0; url=${url}` });
  }
}
