import { createHash } from 'node:crypto';

/** On every response: the type that we name holds, whatever the content looks like. */
export const alwaysHeaders = { 'X-Content-Type-Options': 'nosniff' } as const;

/** On data of tenants, which no cache between here and the caller may keep. */
export const dataHeaders = { ...alwaysHeaders, 'Cache-Control': 'no-store' } as const;

/** On what a browser may open but must not run, nor show inside another page. */
export const documentHeaders = {
  ...alwaysHeaders,
  'Content-Security-Policy': `default-src 'none'; frame-ancestors 'none'`,
  'X-Frame-Options': 'DENY',
  'Referrer-Policy': 'no-referrer',
} as const;

/**
 * Headers of an HTML page. Its scripts run as they are in it, by their hashes, and no others; it loads nothing from anywhere,
 * sends nothing, and stands in no frame. Styles may be inline, since the components of the reference write their own.
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
    `base-uri 'none'`,
    `form-action 'none'`,
    `frame-ancestors 'none'`,
  ];
  return { ...documentHeaders, 'Content-Security-Policy': policy.join('; ') };
}
