/** Answers, and those of them that the contract has no example of. */
import type { IPrismDiagnostic } from '@stoplight/prism-core';
import type { Operation } from './contract.ts';

export interface MockAnswer {
  status: number;
  headers: Record<string, string>;
  body: unknown;
  /** In which ways the request breaks the contract, as sentences. */
  violations: string[];
  /** The `operationId`; null where no operation was found. */
  operation: string | null;
}

type Reason =
  | { kind: 'path'; path: string }
  | { kind: 'method'; path: string; allowed: readonly string[] }
  | { kind: 'preference'; detail: string }
  | { kind: 'fault'; detail: string };

/** A problem document of the mock's own: about what stands outside every operation, or about the mock itself. */
export function ownProblem(reason: Reason): MockAnswer {
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
      const detail = `${reason.path} takes ${reason.allowed.join(', ').toUpperCase()}.`;
      return { status: 405, code: 'METHOD_NOT_ALLOWED', title: 'Method not allowed', detail };
    }
    case 'preference':
      // Not a code of the contract, so that nobody takes it for an answer of the service.
      return { status: 400, code: 'UNKNOWN_PREFERENCE', title: 'Unknown preference', detail: reason.detail };
    case 'fault':
      return { status: 500, code: 'INTERNAL_ERROR', title: 'The mock failed', detail: reason.detail };
  }
}

/**
 * Puts what is wrong with this very request in the place of what is wrong in the example, so that nobody searches for a
 * mistake that he has not made. Answers that were asked for by `Prefer` stay as they are.
 */
export function withViolations(body: unknown, violations: IPrismDiagnostic[], operation: Operation): unknown {
  const refusals = operation.answers.find(({ status }) => status === 400)?.examples ?? [];
  const validation = refusals.map(({ value }) => value).find(isValidationProblem);
  if (violations.length === 0 || validation === undefined) return body;
  const errors = violations.map((violation) => problemError(violation, operation));
  const detail = `${errors.length === 1 ? 'One value' : `${errors.length} values`} of the request ${errors.length === 1 ? 'is' : 'are'} wrong.`;
  return { ...validation, detail, errors };
}

function isValidationProblem(value: unknown): value is object {
  return typeof value === 'object' && value !== null && 'code' in value && value.code === 'VALIDATION_ERROR';
}

function problemError(
  { path: [place = 'body', ...rest] = [], code = 'invalid', message }: IPrismDiagnostic,
  operation: Operation,
) {
  // Prism tells of a parameter in lower case, and of one that is missing in its message only.
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
    detail: `It ${missing === undefined ? message.replace(/^Request \w+ parameter \S+ /, '') : 'is missing'}.`,
  };
}
