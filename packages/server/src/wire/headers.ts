import accepts from 'accepts';
import { Rejection } from '../contract/rejection.ts';

/** Media types of responses, also with the parameter that some callers name. */
const types = ['application/json', 'application/json; charset=utf-8', 'application/problem+json'];
const fileTypes = ['text/csv', 'application/pdf', 'application/xml'];

/**
 * @param isFile whether the request chooses a file
 * @throws Rejection `NOT_ACCEPTABLE` if the header accepts no media type of the service
 */
export function checkAccept(accept: string | undefined, isFile = false): void {
  if (accept === undefined || accept === '*/*' || accept === 'application/json') return;
  const request = { headers: { accept } } as Parameters<typeof accepts>[0];
  if (accepts(request).types(isFile ? [...types, ...fileTypes] : types) === false) {
    throw new Rejection('NOT_ACCEPTABLE', 'The service returns application/json. Accept it in the Accept header.');
  }
}

/** Headers with one value that the service reads, and of which Node ignores each further one. */
const single: ReadonlySet<string> = new Set(['host', 'authorization', 'content-type']);

/**
 * @param raw names and values as they were sent, in turn
 * @throws Rejection `MALFORMED_REQUEST` if a header was sent twice that has one value: whoever is in front of the service might have read
 * the other one (RFC 9112, section 3.2, for `Host`)
 */
export function checkSentOnce(raw: readonly string[]): void {
  const seen = new Set<string>();
  for (let index = 0; index < raw.length; index += 2) {
    const name = raw[index]?.toLowerCase() ?? '';
    if (!single.has(name)) continue;
    if (seen.has(name))
      throw new Rejection('MALFORMED_REQUEST', `The header ${raw[index]} was sent twice. Send it once.`);
    seen.add(name);
  }
}

/**
 * Returns the token of an `Authorization: Bearer …` header.
 *
 * @throws Rejection `UNAUTHENTICATED` if there is none.
 */
export function readBearer(authorization: string | undefined): string {
  const token = /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1];
  if (token !== undefined) return token;
  // Without a token, the challenge names no error (RFC 6750, section 3.1).
  const detail = 'Send an access token as "Authorization: Bearer …". POST /v1/auth/token returns one.';
  throw new Rejection('UNAUTHENTICATED', detail, {
    headers: { 'WWW-Authenticate': 'Bearer realm="financial-automation"' },
  });
}

/** Whether a list of tags, such as `If-None-Match`, contains the tag, by weak comparison (RFC 9110), or is `*`. */
export function hasTag(list: string | undefined, tag: string): boolean {
  if (list === undefined) return false;
  return list.trim() === '*' || tagsIn(list).some((one) => one.replace(/^W\//, '') === tag);
}

/** Whether a list of tags for an update, such as `If-Match`, contains the tag, by strong comparison, or is `*`. */
export function hasStrongTag(list: string, tag: string): boolean {
  return list.trim() === '*' || tagsIn(list).includes(tag);
}

/** Splits a list of tags. A tag may contain a comma. */
function tagsIn(list: string): string[] {
  return list.match(/(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"/g) ?? [];
}
