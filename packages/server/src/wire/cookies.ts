import { parseCookie } from 'cookie';

/**
 * @param header of the request
 * @returns the value of a cookie, or undefined if the browser has not sent one of this form
 */
export function readCookie(header: string | undefined, name: string, form: RegExp): string | undefined {
  const value = header === undefined ? undefined : parseCookie(header)[name];
  return value !== undefined && form.test(value) ? value : undefined;
}
