import { createHash, randomBytes } from 'node:crypto';
import type { Vault } from '../../../platform/auth/vault.ts';
import { cookieName, readCookie } from '../../../wire/cookies.ts';

/** As long as a link can be paid, so that its receipt remains readable. In seconds. */
const cookieLasts = 30 * 24 * 3600;

/** A payer's browser, identified by a random cookie. */
export interface Browser {
  readonly session: string;
  /** In hex, as stored with attempts. */
  readonly sessionHash: string;
  /** The `Set-Cookie` header for a browser without the cookie. */
  readonly setCookie: string | undefined;
}

export function browserOf(cookies: string | undefined, isSecure: boolean): Browser {
  const name = cookieName('payment_session', '/', isSecure);
  const known = readCookie(cookies, name, /^[\w-]{32}$/);
  const session = known ?? randomBytes(24).toString('base64url');
  // Lax, because external processors redirect payers back here.
  const attributes = `Path=/; Max-Age=${cookieLasts}; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`;
  return {
    session,
    sessionHash: createHash('sha256').update(session).digest('hex'),
    setCookie: known === undefined ? `${name}=${session}; ${attributes}` : undefined,
  };
}

const purpose = 'payment form';

/** The anti-forgery key of a form: it is bound to the link and to the browser. */
export function formKey(vault: Vault, linkId: string, { session }: Browser): string {
  return vault.sign(purpose, `${linkId} ${session}`);
}

export function isFormKey(vault: Vault, linkId: string, { session }: Browser, key: string): boolean {
  return vault.verify(purpose, `${linkId} ${session}`, key);
}
