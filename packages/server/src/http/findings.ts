import type { Operation } from '../contract/contract.ts';
import type { Finding } from '../contract/validator.ts';
import { Problem, type ProblemDetail } from './problem.ts';

/** What `anyOf` and its branches say beside the branch that matters tells a caller nothing more. */
const echoes = new Set(['anyOf', 'oneOf', 'if']);

const places: Record<string, ProblemDetail['in']> = { body: 'body', params: 'path', query: 'query', headers: 'header' };

/** The findings of a request as the problem that the caller gets, each at its value. */
export function problemOf(operation: Operation, findings: readonly Finding[]): Problem {
  const errors = findings
    .filter((finding) => !echoes.has(finding.keyword))
    .map((finding) => detailOf(operation, finding));
  if (findings.some((finding) => finding.path === '/body' && finding.keyword === 'required')) {
    return new Problem('MISSING_BODY', 'This operation needs a JSON body. Some proxies drop the body of a DELETE.');
  }
  const count =
    errors.length === 1 ? 'One value of the request is wrong.' : `${errors.length} values of the request are wrong.`;
  return new Problem('VALIDATION_ERROR', count, { errors });
}

function detailOf(operation: Operation, { path, keyword, message }: Finding): ProblemDetail {
  const [, where = '', ...rest] = path.split('/');
  const place = places[where] ?? 'body';
  // Node knows headers in lower case; the contract writes them as people do.
  const header = Object.keys(operation.headers).find((name) => name.toLowerCase() === rest[0]);
  const pointer = place === 'header' && header !== undefined ? `/${header}` : rest.map((part) => `/${part}`).join('');
  return { in: place, pointer, code: codeOf(keyword), detail: wording(keyword, message) };
}

/** `minLength` becomes `MIN_LENGTH`: the keyword of the contract that the value breaks. */
function codeOf(keyword: string): string {
  if (keyword === '') return 'UNKNOWN_PARAMETER';
  if (keyword === 'additionalProperties' || keyword === 'unevaluatedProperties') return 'UNKNOWN_PROPERTY';
  return keyword.replaceAll(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase();
}

function wording(keyword: string, message: string): string {
  if (keyword === 'additionalProperties' || keyword === 'unevaluatedProperties')
    return 'The contract knows no such property here.';
  if (keyword === 'required') return 'It is missing.';
  if (keyword === 'readOnly') return 'The service computes it; it cannot be written.';
  const sentence = message.charAt(0).toUpperCase() + message.slice(1);
  return sentence.endsWith('.') ? sentence : `${sentence}.`;
}
