import type { Exchange } from './exchange.ts';

/**
 * Whether a form can come from this service's own pages. Browsers send no origin from pages without a referrer, but
 * report whether the request is same-site; older ones send neither, and then only the key of the form decides.
 */
export function isOwnOrigin(exchange: Exchange, publicUrl: string): boolean {
  const site = exchange.header('sec-fetch-site');
  if (site !== undefined) return site === 'same-origin';
  const origin = exchange.header('origin');
  if (origin === undefined || origin === 'null') return true;
  return (
    URL.canParse(origin) && (origin === new URL(publicUrl).origin || new URL(origin).host === exchange.header('host'))
  );
}
