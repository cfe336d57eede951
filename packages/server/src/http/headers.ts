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
    throw new Problem('NOT_ACCEPTABLE', 'The service answers application/json. Accept that.');
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
  throw unauthenticated('Send an access token as "Authorization: Bearer …". Get one at /v1/auth/token.');
}

/** The versions that `If-Match` accepts, or undefined where any will do. Its form is checked by the contract. */
export function readIfMatch(ifMatch: string | undefined): number[] | undefined {
  if (ifMatch === undefined || ifMatch === '*') return undefined;
  return [...ifMatch.matchAll(/"(\d+)"/g)].map((match) => Number(match[1]));
}

/** @throws Problem `PRECONDITION_FAILED` where the row has changed since the caller read it. */
export function checkVersion(ifMatch: readonly number[] | undefined, version: number): void {
  if (ifMatch === undefined || ifMatch.includes(version)) return;
  throw new Problem('PRECONDITION_FAILED', `The row is at version ${version} now. Read it again before you change it.`);
}
