import type { Vault } from './vault.ts';

const purpose = 'debug-token';

/** Creates a token with which all steps of a request are logged, until a time in seconds since 1970. */
export function createDebugToken(vault: Vault, expires: number): string {
  return `${expires}.${vault.sign(purpose, String(expires))}`;
}

/** @param now in milliseconds since 1970 */
export function isDebugToken(vault: Vault, token: string, now: number): boolean {
  const [, expires = '', signature = ''] = /^(\d{1,12})\.([\w-]{43})$/.exec(token) ?? [];
  return Number(expires) * 1000 > now && vault.verify(purpose, expires, signature);
}
