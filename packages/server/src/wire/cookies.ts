import { parseCookie } from 'cookie';

/**
 * The name of a cookie. With the prefixes, browsers accept it over HTTPS alone, and for `/` from this host alone, so that no other one of the
 * domain can set it.
 */
export function cookieName(name: string, path: string, isSecure: boolean): string {
  if (!isSecure) return name;
  return path === '/' ? `__Host-${name}` : `__Secure-${name}`;
}

/**
 * @param header of the request
 * @returns the value of a cookie, or undefined if the browser has not sent one of this form
 */
export function readCookie(header: string | undefined, name: string, form: RegExp): string | undefined {
  const value = header === undefined ? undefined : parseCookie(header)[name];
  return value !== undefined && form.test(value) ? value : undefined;
}
