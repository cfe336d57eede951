import { randomBytes } from 'node:crypto';
import { Rejection } from '../../contract/rejection.ts';
import type { SignInAttempt } from '../../platform/auth/identity-provider.ts';
import type { Vault } from '../../platform/auth/vault.ts';
import { databaseClock } from '../../platform/database-clock.ts';
import { cookieName, readCookie } from '../../wire/cookies.ts';

/** How long a person stays signed in, in seconds. A session is not extended. */
export const sessionLasts = 3600;

/** Who is signed in. The cookie does not contain the API key, and cannot be read: it is of no use anywhere else. */
export interface BrowserSession {
  readonly tenant: string;
  readonly keyId: string;
  /** The signing key of the API key, whose retirement ends the session. */
  readonly signingKey: string;
  readonly id: string;
  /** Of a person who signed in at the identity provider, what ends the session there; empty if it is too long for a cookie. */
  readonly idToken?: string;
}

/** What the server keeps of a session that has ended, until it would have expired. */
export type EndedSession = Pick<Limited<BrowserSession>, 'tenant' | 'id' | 'until'>;

/** What cookies contain: encrypted, so that only this service reads and writes them. */
interface CookieContents {
  session: BrowserSession;
  /** A sign-in form, which nobody is signed in for yet. */
  form: { readonly id: string };
  /** A sign-in at the identity provider that has not ended, for the tenant that the person has chosen. */
  attempt: SignInAttempt & { readonly tenant: string | undefined; readonly former: EndedSession | undefined };
  /** A form that somebody sent whose session had ended, and the page that has it. */
  entered: { readonly formPath: string; readonly page: string; readonly packedFields: string };
}
type CookieName = keyof CookieContents;

/** Until when a cookie is valid, in milliseconds since 1970. */
export type Limited<Content> = Content & { readonly until: number };

/** Strict: no other site can send it with a request. Sign-in gets its cookie also after another site has sent the browser there. */
const kinds = {
  session: { path: '', seconds: sessionLasts, site: 'Strict' },
  form: { path: '', seconds: 86_400, site: 'Strict' },
  attempt: { path: '/sign-in', seconds: 600, site: 'Lax' },
  entered: { path: '', seconds: 600, site: 'Strict' },
} as const;

/** With a longer one, the cookie would have more than the 4,096 bytes that browsers keep. */
export const maxIdTokenLength = 2400;
export const maxPackedLength = 2400;

/** The cookies of the console, which no script can read. */
export class SessionCookies {
  readonly #vault: Vault;
  readonly #base: string;
  readonly #isSecure: boolean;

  /** @param url at which browsers reach the console */
  constructor(vault: Vault, url: URL) {
    this.#vault = vault;
    this.#base = url.pathname;
    this.#isSecure = url.protocol === 'https:';
  }

  /** The `Set-Cookie` header; without content, it removes the cookie. */
  header<Name extends CookieName>(name: Name, content?: CookieContents[Name]): string {
    const { path, seconds, site } = kinds[name];
    const text = JSON.stringify({ ...content, until: databaseClock.now() + seconds * 1000 });
    const value = content === undefined ? '' : this.#vault.encrypt(`console ${name}`, text).toString('base64url');
    const lasts = content === undefined ? 0 : seconds;
    return `${this.#nameOf(name)}=${value}; Path=${this.#base}${path}; Max-Age=${lasts}; HttpOnly; SameSite=${site}${this.#isSecure ? '; Secure' : ''}`;
  }

  /** @returns undefined if there is no cookie, or it is not ours or has expired */
  read<Name extends CookieName>(name: Name, cookies: string | undefined) {
    const value = readCookie(cookies, this.#nameOf(name), /^[\w-]{1,4096}$/);
    if (value === undefined) return undefined;
    try {
      const text = this.#vault.decrypt(`console ${name}`, Buffer.from(value, 'base64url'));
      const content: Limited<CookieContents[Name]> = JSON.parse(text);
      return content.until > databaseClock.now() ? content : undefined;
    } catch {
      return undefined;
    }
  }

  #nameOf(name: CookieName): string {
    return cookieName(`console_${name}`, this.#base, this.#isSecure);
  }

  /** The anti-forgery key of forms, bound to what the browser has in a cookie. */
  formKey({ id }: { readonly id: string }): string {
    return this.#vault.sign('console form', id);
  }

  /** @throws Rejection `FORBIDDEN` if the form is not of this browser */
  checkForm(cookie: { readonly id: string } | undefined, fields: URLSearchParams | undefined): void {
    const key = fields?.get('formKey') ?? '';
    if (cookie === undefined || !this.#vault.verify('console form', cookie.id, key)) throw foreignForm();
  }
}

/** The rejection of a form that is not of this browser. */
export function foreignForm(): Rejection {
  const reason =
    'Nothing was changed: the form is not of your present session. Open its page again, and send it from there.';
  return new Rejection('FORBIDDEN', reason);
}

export function newCookieId(): string {
  return randomBytes(18).toString('base64url');
}
