import { createHash, randomBytes } from 'node:crypto';
import type { Vault } from '../auth/vault.ts';

const cookieName = 'payment_session';
/** As long as a link can be paid, so that its receipt can be read again. In seconds. */
const cookieLasts = 30 * 24 * 3600;

/** The browser of a payer, by a cookie that says nothing else. */
export interface Browser {
  readonly session: string;
  /** In hex, as attempts keep it. */
  readonly sessionHash: string;
  /** The header that gives it to a browser that has none yet. */
  readonly setCookie: string | undefined;
}

export function browserOf(cookies: string | undefined, isSecure: boolean): Browser {
  const known = new RegExp(`(?:^|; *)${cookieName}=([\\w-]{32})(?:;|$)`).exec(cookies ?? '')?.[1];
  const session = known ?? randomBytes(24).toString('base64url');
  // Lax, because a processor elsewhere leads payers back here.
  const attributes = `Path=/; Max-Age=${cookieLasts}; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`;
  return {
    session,
    sessionHash: createHash('sha256').update(session).digest('hex'),
    setCookie: known === undefined ? `${cookieName}=${session}; ${attributes}` : undefined,
  };
}

const purpose = 'payment form';

/** What a form carries so that no other site can send it: it is bound to the link and to the browser. */
export function formKey(vault: Vault, linkId: string, { session }: Browser): string {
  return vault.sign(purpose, `${linkId} ${session}`);
}

export function isFormKey(vault: Vault, linkId: string, { session }: Browser, key: string): boolean {
  return vault.verify(purpose, `${linkId} ${session}`, key);
}

/** What tells where a form was sent from. */
export interface FormOrigin {
  readonly site: string | undefined;
  readonly origin: string | undefined;
  readonly host: string | undefined;
}

/**
 * Whether a form can come from this service's own pages. Browsers send no origin from pages that send no referrer, but say whether
 * the request stays on the site; older ones say neither, and then the key of the form alone decides.
 */
export function isOwnOrigin({ site, origin, host }: FormOrigin, publicUrl: string): boolean {
  if (site !== undefined) return site === 'same-origin';
  if (origin === undefined || origin === 'null') return true;
  return URL.canParse(origin) && (origin === new URL(publicUrl).origin || new URL(origin).host === host);
}
