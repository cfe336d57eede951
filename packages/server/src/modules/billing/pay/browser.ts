import { createHash, randomBytes } from 'node:crypto';
import type { Vault } from '../../../platform/auth/vault.ts';

const cookieName = 'payment_session';
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
  const known = new RegExp(`(?:^|; *)${cookieName}=([\\w-]{32})(?:;|$)`).exec(cookies ?? '')?.[1];
  const session = known ?? randomBytes(24).toString('base64url');
  // Lax, because external processors redirect payers back here.
  const attributes = `Path=/; Max-Age=${cookieLasts}; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`;
  return {
    session,
    sessionHash: createHash('sha256').update(session).digest('hex'),
    setCookie: known === undefined ? `${cookieName}=${session}; ${attributes}` : undefined,
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

/** Headers that identify where a form was sent from. */
export interface FormOrigin {
  readonly site: string | undefined;
  readonly origin: string | undefined;
  readonly host: string | undefined;
}

/**
 * Whether a form can come from this service's own pages. Browsers send no origin from pages without a referrer, but
 * report whether the request is same-site; older ones send neither, and then only the key of the form decides.
 */
export function isOwnOrigin({ site, origin, host }: FormOrigin, publicUrl: string): boolean {
  if (site !== undefined) return site === 'same-origin';
  if (origin === undefined || origin === 'null') return true;
  return URL.canParse(origin) && (origin === new URL(publicUrl).origin || new URL(origin).host === host);
}
