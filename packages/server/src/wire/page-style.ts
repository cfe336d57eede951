import { createHash } from 'node:crypto';
import { Html } from './html.ts';

/** The colors of all pages. Both schemes have a contrast of at least 4.5 for text, and of 3 for the borders of fields. */
const colors = `
:root{color-scheme:light dark;--page:#f3f5f8;--card:#fff;--text:#1a2230;--soft:#4a5568;--line:#d8dee8;--field:#6b7688;
--accent:#1f5fae;--on-accent:#fff;--accent-dark:#174a8a;--error:#b3261e;--error-bg:#fdeceb;--good:#146c43;--good-bg:#e8f5ee;--info-bg:#eaf1fb}
@media (prefers-color-scheme:dark){:root{--page:#12161d;--card:#1b212b;--text:#e8ecf3;--soft:#b3bccb;--line:#353e4d;--field:#8591a5;
--accent:#8ab8f5;--on-accent:#0d1a2b;--accent-dark:#b1d0fa;--error:#ffb4ab;--error-bg:#3a1d1c;--good:#7fd6a6;--good-bg:#16301f;--info-bg:#1c2a3d}}`;

export interface PageStyle {
  readonly element: Html;
  /** The content security policy: the page runs no script and loads nothing, and only this style is allowed. */
  readonly policy: string;
}

/** @param css the rules of the page, which use the colors */
export function pageStyle(css: string): PageStyle {
  const text = `${colors}\n${css}`;
  const hash = createHash('sha256').update(text).digest('base64');
  const policy = [
    `default-src 'none'`,
    `style-src 'sha256-${hash}'`,
    `form-action 'self'`,
    `base-uri 'none'`,
    `frame-ancestors 'none'`,
  ];
  return { element: new Html(`<style>${text}</style>`), policy: policy.join('; ') };
}

/** Headers of pages with data of a tenant: no search engine, other page or device may use them. */
export function privatePageHeaders(policy: string) {
  return {
    'Content-Security-Policy': policy,
    'Referrer-Policy': 'no-referrer',
    'X-Frame-Options': 'DENY',
    'X-Robots-Tag': 'noindex, nofollow',
    'Permissions-Policy': 'geolocation=(), camera=(), microphone=()',
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Cross-Origin-Resource-Policy': 'same-origin',
  } as const;
}
