import type { Exchange } from './exchange.ts';

/** Maximum size of a form, in bytes. */
const largestForm = 16 * 1024;

/** Browsers submit forms in the encoding of the page. */
const formType = /^application\/x-www-form-urlencoded *(; *charset *= *"?utf-8"? *)?$/i;

/** Reads the fields of a form; undefined if the body is not a form. */
export async function readFields(
  exchange: Exchange,
  tenant: string,
  user: string,
): Promise<URLSearchParams | undefined> {
  if (!formType.test(exchange.header('content-type') ?? '')) return undefined;
  return new URLSearchParams((await exchange.body(largestForm, tenant, user)).toString());
}
