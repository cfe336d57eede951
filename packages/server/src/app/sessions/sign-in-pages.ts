import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { checkAccess } from '../../admission/access.ts';
import { operationOf } from '../../contract/contract.ts';
import { Rejection } from '../../contract/rejection.ts';
import type { Service } from '../../entity/service.ts';
import { maxUploadBytes, placeForUpload } from '../../modules/files/index.ts';
import type { Caller, Tenant } from '../../platform/auth/caller.ts';
import type { Exchange } from '../../wire/exchange.ts';
import { readFields, readUpload, type SentFile } from '../../wire/form.ts';
import { type HtmlContent, html } from '../../wire/html.ts';
import { isOwnOrigin } from '../../wire/own-origin.ts';
import { type PageResult, pageResult, redirect } from '../../wire/result.ts';
import { progressOf, toRejection } from '../failure.ts';
import { foreignForm, maxPackedLength } from './cookies.ts';
import { Sessions } from './sessions.ts';

/** Maximum size of a form of someone who is signed in, in bytes: that of the lines of a long invoice. */
const maxFormBytes = 512 * 1024;

/** Someone who is signed in, and the form that was sent. */
export interface SignedInUser {
  readonly tenant: Tenant;
  readonly caller: Caller;
  /** What each form of the session sends. */
  readonly formKey: string;
  /** Empty unless a form was sent, now or before somebody signed in again. */
  readonly fields: URLSearchParams;
  /** The file that the form sent; the reason if all of the form was too large to be read. */
  readonly file?: SentFile | Rejection | undefined;
  /** Path of that form, or of the page. */
  readonly formPath: string;
  /** The `Set-Cookie` header that forgets a form that was sent before somebody signed in again. */
  readonly forgets?: string;
}

/** The pages on which people sign in and out, below those that they are for. */
export class SignInPages {
  readonly #service: Service;
  readonly #sessions: Sessions;
  readonly #base: string;
  readonly #pageOf: (title: string, body: HtmlContent) => string;
  readonly #pageOfForm: (path: string) => string | undefined;

  /**
   * @param base path of the pages in the browser
   * @param pageOf renders a page for someone who is not signed in
   * @param pageOfForm returns the path of the page that has a form
   */
  constructor(
    service: Service,
    base: string,
    pageOf: (title: string, body: HtmlContent) => string,
    pageOfForm: (path: string) => string | undefined,
  ) {
    this.#pageOfForm = pageOfForm;
    this.#service = service;
    this.#sessions = new Sessions(service);
    this.#base = base;
    this.#pageOf = pageOf;
  }

  /** Returns who is signed in, or the page that signs someone in or out. @throws Rejection also for a form of another site */
  async enter(path: string, exchange: Exchange): Promise<SignedInUser | PageResult> {
    const { config, admission } = this.#service;
    const isForm = exchange.method === 'POST';
    if (isForm && !isOwnOrigin(exchange, config.publicUrl)) throw foreignForm();
    const page = await this.#signIn(path, exchange);
    if (page !== undefined) return page;
    const known = await this.#sessions.of(exchange);
    const { cookies } = this.#sessions;
    const kept = isForm ? undefined : cookies.read('entered', exchange.header('cookie'));
    if (known === undefined)
      return isForm
        ? this.#keep(path, exchange)
        : this.#form(
            path,
            401,
            kept && 'You are signed out, and nothing was changed. Sign in to see again what you entered.',
          );
    const { session, tenant, caller } = known;
    exchange.tenant = tenant.name;
    checkAccess(tenant, exchange);
    await admission.rateLimit.take(operationOf('listEventSubscriptions'), `${tenant.id}/${caller.apiUserId}`);
    const { fields = new URLSearchParams(), file } = isForm ? await this.#formOf(exchange, tenant) : {};
    if (isForm && !(file instanceof Rejection)) cookies.checkForm(session, fields);
    const user = { tenant, caller, formKey: cookies.formKey(session), file };
    // A sign-in at the identity provider leads there.
    if (kept !== undefined && path === '') return redirect(`${this.#base}${encodeURI(kept.page)}`);
    if (kept?.page === path)
      return {
        ...user,
        fields: unpacked(kept.packedFields),
        formPath: kept.formPath,
        forgets: cookies.header('entered'),
      };
    if (!isForm || path !== '/sign-out') return { ...user, fields, formPath: path };
    const url = await this.#sessions.end(exchange, tenant, session);
    const cookie = cookies.header('session');
    // No form may lead to another site, not even by a redirect.
    if (url !== undefined) return this.#leadTo('Signed out', url, cookie);
    return redirect(this.#base, { 'Set-Cookie': cookie });
  }

  async #formOf(exchange: Exchange, { name }: Tenant): Promise<Partial<Pick<SignedInUser, 'fields' | 'file'>>> {
    const fields = await readFields(exchange, maxFormBytes);
    if (fields !== undefined) return { fields };
    exchange.hold(placeForUpload(name));
    try {
      return (await readUpload(exchange, maxUploadBytes)) ?? {};
    } catch (error) {
      if (!(error instanceof Rejection) || error.code !== 'PAYLOAD_TOO_LARGE') throw error;
      const limit = `${maxUploadBytes / 2 ** 20} MiB`;
      return { file: new Rejection('PAYLOAD_TOO_LARGE', `The file has more than ${limit}.`, '/file') };
    }
  }

  /** Leads to the page of a form that somebody sent whose session had ended: there it is shown again, and nothing is sent by itself. */
  async #keep(formPath: string, exchange: Exchange): Promise<PageResult> {
    this.#service.admission.failureLimit.checkBody(exchange.address);
    const [page = '', fields] = [this.#pageOfForm(formPath), await readFields(exchange)];
    const url = `${this.#base}${encodeURI(page)}`;
    if (page === '' || fields === undefined) return redirect(url);
    fields.delete('formKey');
    const packedFields = deflateRawSync(fields.toString()).toString('base64url');
    const cookie = this.#sessions.cookies.header('entered', { formPath, page, packedFields });
    return redirect(url, packedFields.length > maxPackedLength ? undefined : { 'Set-Cookie': cookie });
  }

  /** Signs someone in, by a form or at the identity provider; undefined at other paths. What is rejected can be tried again. */
  async #signIn(path: string, exchange: Exchange): Promise<PageResult | undefined> {
    try {
      if (path === '/sign-in' && exchange.method === 'POST')
        return redirect(`${this.#base}${wantedPage(exchange)}`, {
          'Set-Cookie': await this.#sessions.signIn(exchange),
        });
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
      const { status, message, headers } = toRejection(error, exchange.log, progressOf(exchange));
      const page = this.#form(wantedPage(exchange), status, message);
      return { ...page, headers: { ...page.headers, ...headers } };
    }
  }

  /** The form to sign in. @param wanted path of the page that is shown afterwards @param error why nobody is signed in */
  #form(wanted: string, status: number, error?: string): PageResult {
    const { issuer } = this.#sessions;
    const { formKey, cookie } = this.#sessions.newForm();
    const provider =
      issuer !== undefined &&
      html`<p><a class="button" href="${this.#base}/sign-in/provider">Sign in with your account at ${issuer.host}</a></p>`;
    const body = html`<p class="lead">See how the firm stands, find anything by its name, and do the work of the month.</p>${error !== undefined && html`<div class="alert bad" role="alert"><p>${error}</p></div>`}${provider}
<form method="post" action="${this.#base}/sign-in?page=${encodeURIComponent(wanted)}"><input type="hidden" name="formKey" value="${formKey}"><label for="apiKey">API key <span class="hint">its roles say what you see and do here</span></label>
<input type="password" id="apiKey" name="apiKey" required autocomplete="off" autofocus>
<div class="row"><button>Sign in</button></div></form>
<p class="soft">You stay signed in for an hour. The key itself is not stored.</p>`;
    return pageResult(status, this.#pageOf('Sign in', body), { 'Set-Cookie': cookie });
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

function unpacked(packedFields: string): URLSearchParams {
  return new URLSearchParams(inflateRawSync(Buffer.from(packedFields, 'base64url')).toString());
}

/** The path of the page that someone opened before signing in, below those of this site. */
function wantedPage({ query: { page } }: Exchange): string {
  return typeof page === 'string' && /^(?!\/sign-)(?:\/[\w-]+)*$/.test(page) ? page : '';
}
