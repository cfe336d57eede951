import { randomBytes } from 'node:crypto';
import { impliedRoles } from '@financial-automation/spec';
import { sql } from 'kysely';
import { Rejection } from '../../contract/rejection.ts';
import type { Service } from '../../entity/service.ts';
import type { Caller, Tenant } from '../../platform/auth/caller.ts';
import type { SignInAttempt } from '../../platform/auth/identity-provider.ts';
import type { Vault } from '../../platform/auth/vault.ts';
import { databaseClock } from '../../platform/database-clock.ts';
import type { Store } from '../../platform/store/store.ts';
import { readCookie } from '../../wire/cookies.ts';

/** The role that can do everything on the console, as it can by the API. */
export const consoleRole = impliedRoles.administrator;

/** How long a person stays signed in, in seconds. A session is not extended. */
export const sessionLasts = 3600;

/** Who is signed in. The cookie does not contain the API key, and cannot be read: it is of no use anywhere else. */
export interface ConsoleSession {
  readonly tenant: string;
  readonly keyId: string;
  /** The signing key of the API key, whose retirement ends the session. */
  readonly signingKey: string;
  readonly id: string;
  /** Of a person who signed in at the identity provider, what ends the session there; empty if it is too long for a cookie. */
  readonly idToken?: string;
  /** Milliseconds since 1970. */
  readonly until: number;
}

/** What cookies contain: encrypted, so that only this service reads and writes them. */
interface CookieContents {
  session: Omit<ConsoleSession, 'until'>;
  /** A sign-in form, which nobody is signed in for yet. */
  form: { readonly id: string };
  /** A sign-in at the identity provider that has not ended, for the tenant that the person has chosen. */
  attempt: SignInAttempt & { readonly tenant: string | undefined };
}
type CookieName = keyof CookieContents;

/** Strict: no other site can send it with a request. Sign-in gets its cookie also after another site has sent the browser there. */
const kinds = {
  session: { path: '', seconds: sessionLasts, site: 'Strict' },
  form: { path: '', seconds: 86_400, site: 'Strict' },
  attempt: { path: '/sign-in', seconds: 600, site: 'Lax' },
} as const;

/** With a longer one, the cookie would have more than the 4,096 bytes that browsers keep. */
export const maxIdTokenLength = 2400;

/** The cookies of the console, which no script can read. */
export class ConsoleCookies {
  readonly #vault: Vault;
  readonly #base: string;
  readonly #isSecure: boolean;

  /** @param base path of the console in the browser */
  constructor(vault: Vault, base: string, isSecure: boolean) {
    this.#vault = vault;
    this.#base = base;
    this.#isSecure = isSecure;
  }

  /** The `Set-Cookie` header; without content, it removes the cookie. */
  header<Name extends CookieName>(name: Name, content?: CookieContents[Name]): string {
    const { path, seconds, site } = kinds[name];
    const text = JSON.stringify({ ...content, until: databaseClock.now() + seconds * 1000 });
    const value = content === undefined ? '' : this.#vault.encrypt(`console ${name}`, text).toString('base64url');
    const lasts = content === undefined ? 0 : seconds;
    return `console_${name}=${value}; Path=${this.#base}${path}; Max-Age=${lasts}; HttpOnly; SameSite=${site}${this.#isSecure ? '; Secure' : ''}`;
  }

  /** @returns undefined if there is no cookie, or it is not ours or has expired */
  read<Name extends CookieName>(name: Name, cookies: string | undefined) {
    const value = readCookie(cookies, `console_${name}`, /^[\w-]{1,4096}$/);
    if (value === undefined) return undefined;
    try {
      const text = this.#vault.decrypt(`console ${name}`, Buffer.from(value, 'base64url'));
      const content: CookieContents[Name] & { readonly until: number } = JSON.parse(text);
      return content.until > databaseClock.now() ? content : undefined;
    } catch {
      return undefined;
    }
  }

  /** The anti-forgery key of forms, bound to what the browser has in a cookie. */
  formKey({ id }: { readonly id: string }): string {
    return this.#vault.sign('console form', id);
  }

  isFormKey({ id }: { readonly id: string }, key: string): boolean {
    return this.#vault.verify('console form', id, key);
  }
}

export function withoutRole(): Rejection {
  return new Rejection('FORBIDDEN', `The console requires the role ${consoleRole}, which you do not have.`);
}

/** The rejection of a form that is not of this browser. */
export function foreignForm(): Rejection {
  const reason = 'The form was not sent from this console, or you signed in again meanwhile. Nothing was changed.';
  return new Rejection('FORBIDDEN', reason);
}

export function newCookieId(): string {
  return randomBytes(18).toString('base64url');
}

/** The API user of a session as it is now: keys are revoked, and roles change, while people are signed in. */
export async function callerOf(
  { directory, keys, store }: Service,
  { tenant: name, keyId, signingKey, id }: ConsoleSession,
): Promise<{ tenant: Tenant; caller: Caller } | undefined> {
  const tenant = await directory.tenant(name);
  const key = tenant && (await directory.key(tenant.id, keyId));
  if (tenant === undefined || key === undefined || !key.usable) return undefined;
  if ((await keys.publicKey(signingKey)) === undefined) return undefined;
  const ended = await store.read(tenant.id, (session) =>
    session.first(sql`select 1 as found from ended_session where tenant_id = ${tenant.id} and id = ${id}`),
  );
  if (ended !== undefined) return undefined;
  const { apiUserId, apiUserName, roles, staffId } = key;
  return { tenant, caller: { apiUserId, apiUserName, roles: new Set(roles), staffId } };
}

/** Ends a session in all processes, and forgets those that have expired. */
export async function endSession(store: Store, tenantId: number, { id, until }: ConsoleSession): Promise<void> {
  await store.write(tenantId, async (transaction) => {
    await transaction.all(sql`delete from ended_session where tenant_id = ${tenantId} and expires_at < now()`);
    await transaction.all(sql`
      insert into ended_session (tenant_id, id, expires_at) values (${tenantId}, ${id}, to_timestamp(${until / 1000}::double precision))
      on conflict do nothing`);
  });
}
