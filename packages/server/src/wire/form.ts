import type { Exchange } from './exchange.ts';

/** Maximum size of a form, in bytes. */
const maxFormBytes = 16 * 1024;

/** Browsers submit forms in the encoding of the page. */
const formType = /^application\/x-www-form-urlencoded *(; *charset *= *"?utf-8"? *)?$/i;

/** Reads the fields of a form; undefined if the body is not a form. Browsers compress none. */
export async function readFields(exchange: Exchange): Promise<URLSearchParams | undefined> {
  const isForm = formType.test(exchange.header('content-type') ?? '');
  if (!isForm || exchange.header('content-encoding') !== undefined) return undefined;
  return new URLSearchParams((await exchange.body(maxFormBytes).read()).toString());
}
