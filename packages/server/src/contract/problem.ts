import type { components } from '@financial-automation/spec';
import { type ErrorCode, type ProblemDetail, Rejection } from './rejection.ts';

export type { ProblemCode, ProblemDetail } from './rejection.ts';
export type ProblemDocument = components['schemas']['Problem'];

/** Rejects a request because of one invalid value. */
export function invalid(
  pointer: string,
  code: ErrorCode,
  detail: string,
  location: ProblemDetail['in'] = 'body',
): Rejection {
  return new Rejection('VALIDATION_ERROR', 'One value of the request is invalid.', {
    errors: [{ in: location, pointer, code, detail }],
  });
}

/** Rejects a request with the challenge of RFC 6750. */
export function unauthenticated(detail: string, cause?: unknown): Rejection {
  return new Rejection('UNAUTHENTICATED', detail, {
    headers: { 'WWW-Authenticate': 'Bearer realm="financial-automation", error="invalid_token"' },
    ...(cause === undefined ? {} : { cause }),
  });
}

/** Rejects a request because another one must end first. */
export function inProgress(detail: string): Rejection {
  return new Rejection('REQUEST_IN_PROGRESS', detail);
}

/** Creates the body of a problem response (RFC 9457). */
export function problemDocument(rejection: Rejection, requestId: string): ProblemDocument {
  const code = rejection.problemCode;
  const words = code.replaceAll('_', ' ').toLowerCase();
  return {
    type: `/reference/errors#${code}`,
    title: words.charAt(0).toUpperCase() + words.slice(1),
    status: rejection.status,
    detail: rejection.message,
    instance: `urn:uuid:${requestId}`,
    code,
    requestId,
    ...(rejection.errors === undefined ? {} : { errors: [...rejection.errors] }),
  };
}
