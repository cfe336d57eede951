import { decodeProtectedHeader } from 'jose';
import { sql } from 'kysely';
import { checkAccess } from '../../admission/access.ts';
import { createKey } from '../../admission/create-key.ts';
import { isFailedAttempt } from '../../admission/failure-limit.ts';
import { operationOf, schemaOf } from '../../contract/contract.ts';
import { unauthenticated } from '../../contract/problem.ts';
import { Rejection } from '../../contract/rejection.ts';
import type { Service } from '../../entity/service.ts';
import { createToken } from '../../modules/authentication/index.ts';
import type { Caller, Tenant } from '../../platform/auth/caller.ts';
import { type Claims, IdentityProvider, type SignedIn } from '../../platform/auth/identity-provider.ts';
import { faultOf } from '../../wire/body.ts';
import { checkRequest } from '../../wire/check-request.ts';
import type { Exchange } from '../../wire/exchange.ts';
import { readFields } from '../../wire/form.ts';
import { progressOf, toRejection } from '../failure.ts';
import { openContext } from '../sign-in.ts';
import {
  type BrowserSession,
  type EndedSession,
  type Limited,
  maxIdTokenLength,
  newCookieId,
  SessionCookies,
  sessionLasts,
} from './cookies.ts';

const maxNameLength = 100;

/** The sessions of people at one address of the console. */
export class Sessions {
  readonly cookies: SessionCookies;
  readonly #service: Service;
  readonly #provider: IdentityProvider | undefined;

  constructor(service: Service) {
    const { identityProvider } = service.config;
    this.#service = service;
    this.#provider = identityProvider && new IdentityProvider(identityProvider);
    this.cookies = new SessionCookies(service.vault, new URL(this.#url));
  }

  /** The identity provider at which people sign in; undefined if there is none. */
  get issuer(): URL | undefined {
    return this.#provider && new URL(this.#provider.settings.issuer);
  }

  /** A form to sign in, for this browser: its key, and the cookie that belongs to it. */
  newForm(): { readonly formKey: string; readonly cookie: string } {
    const form = { id: newCookieId() };
    return { formKey: this.cookies.formKey(form), cookie: this.cookies.header('form', form) };
  }

  /**
   * Exchanges the key of a form like the API does: with its checks, its limits, and failed attempts counted by address.
   *
   * @returns the cookie of a new session
   * @throws Rejection
   */
  async signIn(exchange: Exchange): Promise<string> {
    const { admission, tokens, validator } = this.#service;
    admission.failureLimit.checkBody(exchange.address);
    try {
      const fields = await readFields(exchange);
      this.cookies.checkForm(this.cookies.read('form', exchange.header('cookie')), fields);
      const apiKey = fields?.get('apiKey')?.trim() ?? '';
      const operation = operationOf('createToken');
      const bytes = Buffer.from(JSON.stringify({ apiKey }));
      const headers = { 'content-type': 'application/json' };
      const { query, body } = checkRequest(validator, operation, { path: {}, query: {}, headers, bytes });
      const input = { path: {}, query, body, bytes } as Parameters<typeof createToken>[1];
      const result = await createToken(openContext(this.#service, operation, exchange), input);
      const signingKey = decodeProtectedHeader(apiKey).kid ?? '';
      const { client_id: keyId, tenant } = await tokens.verifyAccessToken(result.body.access_token);
      exchange.tenant = tenant;
      await this.#endFormer(this.#sessionOf(exchange));
      return this.cookies.header('session', { tenant, keyId, signingKey, id: newCookieId() });
    } catch (error) {
      const problem = toRejection(error, exchange.log, progressOf(exchange));
      if (isFailedAttempt(problem)) admission.failureLimit.count(exchange.address);
      if (![400, 401].includes(problem.status)) throw problem;
      throw unauthenticated('This is not a valid API key.');
    }
  }

  /** Where the browser signs a person in, and the cookie that it needs afterwards. @throws Rejection */
  async start(exchange: Exchange): Promise<{ readonly url: string; readonly cookie: string }> {
    this.#service.admission.failureLimit.check(exchange.address);
    try {
      const { url, attempt } = await this.#providerOf().start(this.#returnUrl);
      const { tenant } = exchange.query;
      const chosen = typeof tenant === 'string' ? tenant : undefined;
      return {
        url,
        cookie: this.cookies.header('attempt', { ...attempt, tenant: chosen, former: this.#sessionOf(exchange) }),
      };
    } catch (error) {
      exchange.log.error({ err: error }, 'The identity provider cannot be reached');
      const detail = 'The service for signing in cannot be reached. Try again later, or use an API key.';
      throw new Rejection('SERVICE_UNAVAILABLE', detail);
    }
  }

  /**
   * Handles the return from the provider: starts a session as an API user of this person, with the roles of its claims.
   *
   * @returns the cookie of the session, or the names of the tenants of which the person has to choose one
   * @throws Rejection
   */
  async finish(exchange: Exchange): Promise<string | readonly string[]> {
    const { settings } = this.#providerOf();
    const { claims, idToken, tenant: asked, former } = await this.#signedInAt(exchange);
    const names = textsIn(claims[settings.tenantClaim]);
    const chosen = asked ?? (names.length === 1 ? names[0] : undefined);
    if (chosen === undefined && names.length > 1) return names;
    const isOwn = chosen !== undefined && names.includes(chosen);
    const tenant = isOwn ? await this.#service.directory.tenant(chosen) : undefined;
    if (tenant === undefined) throw new Rejection('FORBIDDEN', 'Your account belongs to no firm of this service.');
    exchange.tenant = tenant.name;
    checkAccess(tenant, exchange);
    const known = schemaOf('Role').enum ?? [];
    const roles = textsIn(claims[settings.rolesClaim]).filter((role) => known.includes(role));
    if (roles.length === 0) throw new Rejection('FORBIDDEN', 'Your account has no role of this service.');
    const user = nameOf(claims);
    // The key is never shown: it is what the session ends with, and what an administrator revokes.
    const key = {
      user,
      identity: `${claims.iss} ${claims.sub}`,
      roles: [...new Set(roles)].sort(),
      days: sessionLasts / 86_400,
      description: `Signed in at ${new URL(claims.iss).host}`,
    };
    const origin = { apiUserId: null, actor: user, requestId: exchange.id };
    const { id: keyId, signingKey } = await createKey(this.#service, tenant, key, origin);
    await this.#endFormer(former);
    return this.cookies.header('session', {
      tenant: tenant.name,
      keyId,
      signingKey,
      id: newCookieId(),
      idToken: idToken.length <= maxIdTokenLength ? idToken : '',
    });
  }

  async #signedInAt(
    exchange: Exchange,
  ): Promise<SignedIn & { readonly tenant: string | undefined; readonly former: EndedSession | undefined }> {
    const { failureLimit } = this.#service.admission;
    failureLimit.check(exchange.address);
    const attempt = this.cookies.read('attempt', exchange.header('cookie'));
    const url = new URL(this.#returnUrl);
    for (const [name, value] of Object.entries(exchange.query))
      if (typeof value === 'string') url.searchParams.set(name, value);
    try {
      if (attempt === undefined) throw new Error('This browser has no sign-in to finish.');
      const { tenant, former } = attempt;
      return { ...(await this.#providerOf().finish(url, attempt)), tenant, former };
    } catch (error) {
      exchange.log.warn({ err: error }, 'A person could not sign in');
      failureLimit.count(exchange.address);
      throw new Rejection('UNAUTHENTICATED', 'You are not signed in. Try again.');
    }
  }

  /** The session of a browser, and its API user as it is now: keys are revoked, and roles change, while people are signed in. */
  async of(exchange: Exchange) {
    const session = this.cookies.read('session', exchange.header('cookie'));
    const known = session && (await this.#callerOf(session));
    return session && known && { session, ...known };
  }

  async #callerOf({ tenant: name, keyId, signingKey, id }: BrowserSession) {
    const { directory, keys, store } = this.#service;
    const tenant = await directory.tenant(name);
    const key = tenant && (await directory.key(tenant.id, keyId));
    if (tenant === undefined || key === undefined || !key.usable) return undefined;
    if ((await keys.publicKey(signingKey)) === undefined) return undefined;
    const ended = await store.read(tenant.id, (session) =>
      session.first(sql`select 1 as found from ended_session where tenant_id = ${tenant.id} and id = ${id}`),
    );
    if (ended !== undefined) return undefined;
    const { apiUserId, apiUserName, roles, staffId } = key;
    const caller: Caller = { apiUserId, apiUserName, roles: new Set(roles), staffId };
    return { tenant, caller };
  }

  /**
   * Ends a session in all processes, and forgets those that have expired.
   *
   * @returns where the browser ends the session at the provider; undefined if nobody has signed in there, or it has no such page
   */
  async end(
    exchange: Exchange,
    { id: tenantId }: Tenant,
    session: Limited<BrowserSession>,
  ): Promise<string | undefined> {
    const { idToken } = session;
    await this.#forget(tenantId, session);
    if (idToken === undefined) return undefined;
    return this.#provider?.endSessionUrl(idToken, this.#url).catch((error: unknown) => {
      exchange.log.error({ err: error }, 'The session at the identity provider is not ended');
      return undefined;
    });
  }

  /** The session of a browser that signs in again, which the new one replaces. */
  #sessionOf(exchange: Exchange): EndedSession | undefined {
    const found = this.cookies.read('session', exchange.header('cookie'));
    return found && { tenant: found.tenant, id: found.id, until: found.until };
  }

  async #endFormer(former: EndedSession | undefined): Promise<void> {
    if (former === undefined) return;
    const tenant = await this.#service.directory.tenant(former.tenant);
    if (tenant !== undefined) await this.#forget(tenant.id, former);
  }

  #forget(tenantId: number, { id, until }: Pick<EndedSession, 'id' | 'until'>): Promise<void> {
    return this.#service.store.write(tenantId, async (transaction) => {
      await transaction.all(sql`delete from ended_session where tenant_id = ${tenantId} and expires_at < now()`);
      await transaction.all(sql`
        insert into ended_session (tenant_id, id, expires_at) values (${tenantId}, ${id}, to_timestamp(${until / 1000}::double precision))
        on conflict do nothing`);
    });
  }

  get #url(): string {
    return `${this.#service.config.publicUrl}/console`;
  }

  #providerOf(): IdentityProvider {
    if (this.#provider === undefined)
      throw new Rejection('NOT_FOUND', 'People do not sign in at an identity provider here.');
    return this.#provider;
  }

  get #returnUrl(): string {
    return `${this.#url}/sign-in/return`;
  }
}

/** A claim with one text, or a list of them. */
function textsIn(claim: unknown): string[] {
  return [claim].flat().filter((value) => typeof value === 'string');
}

/** The name of the API user: what the person is called, and the address that tells two of one name apart. */
function nameOf({ name, preferred_username: userName, email, email_verified: isVerified, sub }: Claims): string {
  const readable = (text: unknown) =>
    typeof text === 'string' && text.trim() !== '' && text.length <= maxNameLength && faultOf(text) === undefined
      ? text.trim()
      : undefined;
  // An address that is not verified can be that of another person.
  const account = (isVerified === false ? undefined : readable(email)) ?? readable(userName) ?? readable(sub);
  if (account === undefined)
    throw new Rejection('VALIDATION_ERROR', 'Your account has neither a name nor an address that can be shown.');
  const known = readable(name);
  return (known === undefined ? undefined : readable(`${known} (${account})`)) ?? account;
}
