import type { Rejection } from '../../contract/rejection.ts';
import type { Vault } from '../../platform/auth/vault.ts';
import { type HtmlContent, html } from '../../wire/html.ts';
import type { PageResult } from '../../wire/result.ts';
import { alert, type Frame, framed, plainPage } from './layout.ts';
import { consoleRole, newSignInForm, sessionCookie } from './session.ts';
import type { ConsoleVisit } from './visit.ts';

/** The results of requests for the console, beside its pages. They depend on the URL at which browsers reach it. */
export class ConsoleResults {
  /** Path of the console in the browser. */
  readonly base: string;
  readonly #isSecure: boolean;
  readonly #vault: Vault;
  readonly #issuer: string | undefined;

  /** @param issuer the identity provider at which people sign in, if there is one */
  constructor(publicUrl: string, vault: Vault, issuer: string | undefined) {
    this.#vault = vault;
    this.#issuer = issuer;
    this.base = `${new URL(publicUrl).pathname.replace(/\/$/, '')}/console`;
    this.#isSecure = publicUrl.startsWith('https:');
  }

  redirect(path: string): PageResult {
    return { ...shown('', 303), headers: { Location: `${this.base}${path}` } };
  }

  /** @param session the value of the cookie */
  signedIn(session: string): PageResult {
    return withHeaders(this.redirect(''), { 'Set-Cookie': sessionCookie(this.base, this.#isSecure, session) });
  }

  /** A page that loads the next one: after a redirect from another site, browsers would not send the cookie. */
  personSignedIn(session: string): PageResult {
    const page = plainPage('Signed in', html`<p><a href="${this.base}">Go to the console</a></p>`);
    return withHeaders(shown(page), {
      'Set-Cookie': sessionCookie(this.base, this.#isSecure, session),
      Refresh: `0; url=${this.base}`,
    });
  }

  /** A cookie that only sign-in gets, also after another site has sent the browser there. */
  cookieAcrossSites(name: string, value: string, seconds: number): string {
    return `${name}=${value}; Path=${this.base}/sign-in; Max-Age=${seconds}; HttpOnly; SameSite=Lax${this.#isSecure ? '; Secure' : ''}`;
  }

  /** Asks a person of several tenants which one it wants. */
  tenantPage(names: readonly string[]): PageResult {
    const links = names.map(
      (name) => html`<li><a href="${this.base}/sign-in/provider?tenant=${encodeURIComponent(name)}">${name}</a></li>`,
    );
    return shown(
      plainPage('Choose a firm', html`<p>Your account belongs to several firms.</p><ul class="links">${links}</ul>`),
    );
  }

  /** Ends the session. */
  signedOut(result: PageResult): PageResult {
    return withHeaders(result, { 'Set-Cookie': sessionCookie(this.base, this.#isSecure) });
  }

  signInPage(status: number, error?: string): PageResult {
    const { key, cookie } = newSignInForm(this.#vault, this.base, this.#isSecure);
    const text = plainPage(
      'Sign in',
      html`<p class="lead">See how the firm stands, find anything by its name, and do the work of the month.</p>${error !== undefined && alert('bad', html`<p>${error}</p>`)}${this.#issuer !== undefined && html`<p><a class="button" href="${this.base}/sign-in/provider">Sign in with your account at ${new URL(this.#issuer).host}</a></p>`}
<form method="post" action="${this.base}/sign-in"><input type="hidden" name="formKey" value="${key}"><label for="apiKey">API key <span class="hint">of an API user with the role ${consoleRole}</span></label>
<input type="password" id="apiKey" name="apiKey" required autocomplete="off" autofocus>
<div class="row"><button>Sign in</button></div></form>
<p class="soft">You stay signed in for an hour. The key itself is not stored.</p>`,
    );
    return withHeaders(shown(text, status), { 'Set-Cookie': cookie });
  }

  withoutRole(): PageResult {
    return this.notAllowed(html`The console requires the role <code>${consoleRole}</code>, which you do not have.`);
  }

  notAllowed(reason: HtmlContent): PageResult {
    const body = html`<p>${reason}</p><p><a href="${this.base}">Sign in as somebody else</a></p>`;
    return shown(plainPage('Not allowed', body), 403);
  }

  foreignForm(): PageResult {
    const body = html`<p>The form was not sent from this console, or you signed in again meanwhile. Nothing was changed.</p><p><a href="${this.base}">Go to the console</a></p>`;
    return shown(plainPage('Form not accepted', body), 403);
  }

  missing(frame: Frame): PageResult {
    const body = html`<section class="card"><p>The console has no such page. <a href="${this.base}">Go to the overview</a></p></section>`;
    return shown(framed(frame, { title: 'Page not found', part: 'none', body }), 404);
  }

  failed(problem: Rejection, requestId: string): PageResult {
    const body = html`${alert('bad', html`<p>${problem.message}</p>`)}<p class="soft">Request <code>${requestId}</code></p><p><a href="${this.base}">Go to the console</a></p>`;
    return withHeaders(shown(plainPage('This did not work', body), problem.status), problem.headers);
  }

  /** A problem of someone who is signed in, with the errors of the form. */
  failedIn({ frame, exchange }: ConsoleVisit, path: string, problem: Rejection): PageResult {
    const [part = ''] = /^\/subscriptions\/[^/]+|^\/data\/[^/]+\/[^/]+|^\/[a-z]+/.exec(path) ?? [];
    const errors = problem.errors ?? [];
    const body = html`${alert('bad', html`<p><strong>${problem.problemCode}</strong>: ${problem.message}</p>${errors.length > 0 && html`<ul>${errors.map(({ detail }) => html`<li>${detail}</li>`)}</ul>`}`)}
<p class="soft">Request <code>${exchange.id}</code></p><p><a href="${this.base}${exchange.method === 'POST' ? part : ''}">${exchange.method === 'POST' ? 'Back' : 'Go to the overview'}</a></p>`;
    return withHeaders(
      shown(framed(frame, { title: 'This did not work', part: 'none', body }), problem.status),
      problem.headers,
    );
  }
}

export function shown(text: string, status = 200): PageResult {
  return { kind: 'page', status, text };
}

export function withHeaders(result: PageResult, headers: Readonly<Record<string, string>>): PageResult {
  return { ...result, headers: { ...result.headers, ...headers } };
}
