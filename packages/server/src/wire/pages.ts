import { createHash } from 'node:crypto';

/** On every response: browsers must not guess another type from the content. */
export const alwaysHeaders = { 'X-Content-Type-Options': 'nosniff' } as const;

/** For data of tenants, which no cache may store. */
export const dataHeaders = { ...alwaysHeaders, 'Cache-Control': 'no-store' } as const;

/** For documents that a browser may open, but must not execute or embed in another page. */
export const documentHeaders = {
  ...alwaysHeaders,
  'Content-Security-Policy': `default-src 'none'; frame-ancestors 'none'`,
  'X-Frame-Options': 'DENY',
  'Referrer-Policy': 'no-referrer',
} as const;

/**
 * Headers of an HTML page. Only its own scripts run, identified by their hashes; it loads nothing from other origins, sends
 * requests to its own, submits no forms, and cannot be framed. Inline styles are allowed, because the components of the
 * reference generate them.
 */
export function pageHeaders(html: string): Record<string, string> {
  const hashes = [...html.matchAll(/<script(?:\s[^>]*)?>([\s\S]*?)<\/script/gi)].map(
    ([, script = '']) => `'sha256-${createHash('sha256').update(script).digest('base64')}'`,
  );
  const policy = [
    `default-src 'none'`,
    `script-src ${hashes.length === 0 ? `'none'` : [...new Set(hashes)].join(' ')}`,
    `style-src 'unsafe-inline'`,
    'img-src data:',
    'font-src data:',
    // The reference sends what its reader tries to the server that serves it.
    `connect-src 'self'`,
    `base-uri 'none'`,
    `form-action 'none'`,
    `frame-ancestors 'none'`,
  ];
  return { ...documentHeaders, 'Content-Security-Policy': policy.join('; ') };
}
