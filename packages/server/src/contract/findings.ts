import type { Operation } from './contract.ts';
import { escapePointer } from './pointer.ts';
import type { ProblemDetail } from './problem.ts';
import { type ErrorCode, errorCodeOf, Rejection } from './rejection.ts';
import type { Finding } from './validator.ts';

const locations: Record<string, ProblemDetail['in']> = {
  body: 'body',
  params: 'path',
  query: 'query',
  headers: 'header',
};

/** Converts the findings of a request to a problem, with a pointer to each value. */
export function problemOf(operation: Operation, findings: readonly Finding[], body: unknown): Rejection {
  const errors = findings.map((finding) => detailOf(operation, finding, body));
  if (findings.some((finding) => finding.path === '/body' && finding.keyword === 'required')) {
    return missingBody();
  }
  // If a path parameter has an enum, each value is a resource.
  const absent = errors.find((error) => error.in === 'path' && error.code === 'ENUM');
  if (absent !== undefined) return new Rejection('NOT_FOUND', 'This path does not exist.', { errors: [absent] });
  const count =
    errors.length === 1
      ? 'One value of the request is invalid.'
      : `${errors.length} values of the request are invalid.`;
  return new Rejection('VALIDATION_ERROR', count, { errors });
}

export function missingBody(): Rejection {
  const detail =
    'This operation requires a JSON body. If you sent one, a proxy dropped it, as some do with DELETE requests.';
  return new Rejection('MISSING_BODY', detail);
}

/** A cursor already determines the position, so a number of rows to skip contradicts it. */
export const eitherCursorOrPage = {
  pointer: '/page',
  code: 'EXCLUSIVE',
  detail: 'Send either cursor or page.',
} as const;

function detailOf(operation: Operation, { path, keyword, message }: Finding, body: unknown): ProblemDetail {
  const [, where = '', ...written] = path.split('/');
  if (keyword === 'not' && path === '/body' && isObject(body) && 'cursor' in body && 'page' in body) {
    return { in: 'body', ...eitherCursorOrPage };
  }
  const rest = where === 'body' && isUnknownProperty(keyword) ? escapeName(body, written) : written;
  const location = locations[where] ?? 'body';
  // Node lowercases header names; the contract uses their usual case.
  const header = Object.keys(operation.headers).find((name) => name.toLowerCase() === rest[0]);
  const pointer =
    location === 'header' && header !== undefined ? `/${header}` : rest.map((part) => `/${part}`).join('');
  return { in: location, pointer, code: codeOfKeyword(keyword), detail: message };
}

function isUnknownProperty(keyword: string): boolean {
  return keyword === 'additionalProperties' || keyword === 'unevaluatedProperties';
}

/** The validator reports an unknown property name as it is; a pointer escapes `/` and `~`. */
function escapeName(body: unknown, written: readonly string[]): readonly string[] {
  for (let length = 1; length <= written.length; length++) {
    const above = written.slice(0, -length);
    const name = written.slice(-length).join('/');
    const parent = above.reduce(valueAt, body);
    if (isObject(parent) && Object.hasOwn(parent, name)) return [...above, escapePointer(name)];
  }
  return written;
}

function valueAt(value: unknown, segment: string): unknown {
  return isObject(value) ? value[segment.replaceAll('~1', '/').replaceAll('~0', '~')] : undefined;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

/** Converts a keyword to a code: `minLength` becomes `MIN_LENGTH`. */
export function codeOfKeyword(keyword: string): ErrorCode {
  if (keyword === '') return 'UNKNOWN_PARAMETER';
  if (isUnknownProperty(keyword)) return 'UNKNOWN_PROPERTY';
  return errorCodeOf(
    keyword
      .replace(/^decimalM/, 'm')
      .replaceAll(/[A-Z]/g, (letter) => `_${letter}`)
      .toUpperCase(),
  );
}
