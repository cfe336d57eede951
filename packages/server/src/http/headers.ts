import accepts from 'accepts';
import { unauthenticated } from '../auth/tokens.ts';
import { Problem } from './problem.ts';

/** What is answered; with the parameter too, because some callers name it. */
const types = ['application/json', 'application/json; charset=utf-8', 'application/problem+json'];

/** @throws Problem `NOT_ACCEPTABLE` where a caller takes nothing that the service can answer. */
export function checkAccept(accept: string | undefined): void {
  if (accept === undefined || accept === '*/*' || accept === 'application/json') return;
  const request = { headers: { accept } } as Parameters<typeof accepts>[0];
  if (accepts(request).types(types) === false) {
    throw new Problem('NOT_ACCEPTABLE', 'The service returns application/json. Accept it in the Accept header.');
  }
}

/**
 * The token of an `Authorization: Bearer …` header.
 *
 * @throws Problem `UNAUTHENTICATED` where there is none.
 */
export function readBearer(authorization: string | undefined): string {
  const token = /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1];
  if (token !== undefined) return token;
  throw unauthenticated('Send an access token as "Authorization: Bearer …". POST /v1/auth/token returns one.');
}

/**
 * The versions that `If-Match` accepts, or undefined where any does. The rest of a tag is not compared, because a response can
 * change without a change of the row; tags of release v9.8.0 had nothing else. A weak tag and a tag of another server match no
 * version.
 */
export function readIfMatch(ifMatch: string | undefined): number[] | undefined {
  if (ifMatch === undefined || ifMatch === '*') return undefined;
  const versions = tagsIn(ifMatch).map((tag) => /^"(?:[0-9a-f]{16}-)?(\d+)"$/.exec(tag)?.[1]);
  return versions.flatMap((version) => (version === undefined ? [] : [Number(version)]));
}

/** Whether a list of tags, such as that of `If-None-Match`, has this one: weakly compared, as RFC 9110 says, or `*`. */
export function hasTag(list: string | undefined, tag: string): boolean {
  if (list === undefined) return false;
  return list.trim() === '*' || tagsIn(list).some((one) => one.replace(/^W\//, '') === tag);
}

/** Whether a condition on tags that counts for updates, such as `If-Match`, holds: strongly compared, or `*`. */
export function hasStrongTag(list: string, tag: string): boolean {
  return list.trim() === '*' || tagsIn(list).includes(tag);
}

/** The tags of a list. One may contain a comma. */
function tagsIn(list: string): string[] {
  return list.match(/(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"/g) ?? [];
}

/** @throws Problem `PRECONDITION_FAILED` where the row has changed since the caller read it. */
export function checkVersion(ifMatch: readonly number[] | undefined, version: number): void {
  if (ifMatch === undefined || ifMatch.includes(version)) return;
  throw new Problem(
    'PRECONDITION_FAILED',
    `The row has changed; its version is now ${version}. Read it again before you update it.`,
  );
}
