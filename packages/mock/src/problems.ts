/** Responses, and problems without an example in the contract. */
import type { IPrismDiagnostic } from '@stoplight/prism-core';
import type { Operation } from './contract.ts';

export interface MockResponse {
  status: number;
  headers: Record<string, string>;
  body: unknown;
  /** How the request violates the contract, as sentences. */
  violations: string[];
  /** The `operationId`; null if no operation was found. */
  operation: string | null;
}

type Reason =
  | { kind: 'path'; path: string }
  | { kind: 'method'; path: string; allowed: readonly string[] }
  | { kind: 'encoding'; path: string }
  | { kind: 'preference'; detail: string }
  | { kind: 'fault'; detail: string };

/** A problem that belongs to no operation, or to the mock itself. */
export function ownProblem(reason: Reason): MockResponse {
  const { status, code, title, detail } = describe(reason);
  const requestId = crypto.randomUUID();
  return {
    status,
    headers: {
      'content-type': 'application/problem+json',
      'x-request-id': requestId,
      ...(reason.kind === 'method' && { allow: reason.allowed.join(', ').toUpperCase() }),
    },
    body: {
      type: `urn:financial-automation:${reason.kind === 'preference' ? 'mock' : 'problem'}:${code}`,
      title,
      status,
      detail,
      instance: `urn:uuid:${requestId}`,
      code,
      requestId,
    },
    violations: [detail],
    operation: null,
  };
}

function describe(reason: Reason): { status: number; code: string; title: string; detail: string } {
  switch (reason.kind) {
    case 'path':
      return { status: 404, code: 'NOT_FOUND', title: 'Not found', detail: `The contract has no path ${reason.path}.` };
    case 'method': {
      const detail = `${reason.path} supports ${reason.allowed.join(', ').toUpperCase()}.`;
      return { status: 405, code: 'METHOD_NOT_ALLOWED', title: 'Method not allowed', detail };
    }
    case 'encoding': {
      const detail = `The path ${reason.path} is not valid: % must be followed by two hexadecimal digits, and the bytes must be UTF-8.`;
      return { status: 400, code: 'MALFORMED_REQUEST', title: 'Malformed request', detail };
    }
    case 'preference':
      // Not a code of the contract, so that it is not mistaken for a response of the service.
      return { status: 400, code: 'UNKNOWN_PREFERENCE', title: 'Unknown preference', detail: reason.detail };
    case 'fault':
      return { status: 500, code: 'INTERNAL_ERROR', title: 'The mock failed', detail: reason.detail };
  }
}

/**
 * Replaces the errors of the example by those of this request, so that
 * they describe the actual request. Responses that `Prefer` selected are not changed.
 */
export function withViolations(body: unknown, violations: IPrismDiagnostic[], operation: Operation): unknown {
  const rejections = operation.responses.find(({ status }) => status === 400)?.examples ?? [];
  const validation = rejections.map(({ value }) => value).find(isValidationProblem);
  if (violations.length === 0 || validation === undefined) return body;
  const errors = violations.map((violation) => problemError(violation, operation));
  const detail = `${errors.length === 1 ? 'One value' : `${errors.length} values`} of the request ${errors.length === 1 ? 'is' : 'are'} invalid.`;
  return { ...validation, detail, errors };
}

function isValidationProblem(value: unknown): value is object {
  return typeof value === 'object' && value !== null && 'code' in value && value.code === 'VALIDATION_ERROR';
}

function problemError(
  { path: [place = 'body', ...rest] = [], code = 'invalid', message }: IPrismDiagnostic,
  operation: Operation,
) {
  // Prism reports a parameter in lower case, and a missing one only in its message.
  const missing = place === 'body' ? undefined : /required property '(.+)'/.exec(message)?.[1];
  const [first, ...deeper] = missing === undefined ? rest : [missing, ...rest];
  const parameter = operation.parameters.find(({ name }) => name.toLowerCase() === first?.toLowerCase());
  const names = first === undefined ? [] : [place === 'body' ? first : (parameter?.name ?? first), ...deeper];
  return {
    in: place,
    pointer: names.map((name) => `/${name}`).join(''),
    code: String(code)
      .replace(/[A-Z]/g, (letter) => `_${letter}`)
      .toUpperCase(),
    detail: `The value ${missing === undefined ? message.replace(/^Request \w+ parameter \S+ /, '') : 'is missing'}.`,
  };
}
