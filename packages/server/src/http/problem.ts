import type { components } from '@financial-automation/spec';
import { contract, schemaOf } from '../contract/contract.ts';

export type ProblemCode = components['schemas']['ProblemCode'];
export type ProblemDocument = components['schemas']['Problem'];
export type ProblemDetail = components['schemas']['ProblemError'];

/** Limits that the contract declares: a hostile body can have very many errors, at very long paths. */
const maximum = { errors: 100, pointer: 1_000, detail: 1_000, problemDetail: 2_000 };

/** An error that is reported to the caller. The contract's responses map its code to a status. */
export class Problem extends Error {
  override readonly name = 'Problem';
  readonly code: ProblemCode;
  readonly errors: readonly ProblemDetail[] | undefined;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    code: ProblemCode,
    detail: string,
    more: { errors?: readonly ProblemDetail[]; headers?: Readonly<Record<string, string>>; cause?: unknown } = {},
  ) {
    super(cut(detail, maximum.problemDetail), { cause: more.cause });
    this.code = code;
    this.errors = more.errors?.slice(0, maximum.errors).map((error) => ({
      ...error,
      pointer: cut(error.pointer, maximum.pointer),
      detail: cut(error.detail, maximum.detail),
    }));
    this.headers = more.headers ?? {};
  }

  get status(): number {
    return statusOf(this.code);
  }
}

function cut(text: string, length: number): string {
  return text.length <= length ? text : text.slice(0, length).toWellFormed();
}

/** Creates a problem for one invalid value of the request. */
export function invalid(pointer: string, code: string, detail: string, place: ProblemDetail['in'] = 'body'): Problem {
  return new Problem('VALIDATION_ERROR', 'One value of the request is invalid.', {
    errors: [{ in: place, pointer, code, detail }],
  });
}

/** Creates a 401 problem with the challenge of RFC 6750. */
export function unauthenticated(detail: string, cause?: unknown): Problem {
  return new Problem('UNAUTHENTICATED', detail, {
    headers: { 'WWW-Authenticate': 'Bearer realm="financial-automation", error="invalid_token"' },
    ...(cause === undefined ? {} : { cause }),
  });
}

/** Creates the body of a problem response (RFC 9457). */
export function problemDocument(problem: Problem, requestId: string): ProblemDocument {
  const words = problem.code.replaceAll('_', ' ').toLowerCase();
  return {
    type: `urn:financial-automation:problem:${problem.code}`,
    title: words.charAt(0).toUpperCase() + words.slice(1),
    status: problem.status,
    detail: problem.message,
    instance: `urn:uuid:${requestId}`,
    code: problem.code,
    requestId,
    ...(problem.errors === undefined ? {} : { errors: [...problem.errors] }),
  };
}

const statuses = readStatuses();

function statusOf(code: ProblemCode): number {
  const status = statuses.get(code);
  if (status === undefined) throw new Error(`No response of the contract has the code ${code}.`);
  return status;
}

/** Maps codes to statuses: each problem schema of the contract declares one status and its codes. */
function readStatuses(): Map<string, number> {
  const found = new Map<string, number>();
  for (const schema of Object.values(contract.components.schemas)) {
    const status = schema.properties?.status?.const;
    if (typeof status !== 'number') continue;
    for (const code of schema.properties?.code?.enum ?? []) found.set(code, status);
  }
  const outside = schemaOf('ProblemCode') as { 'x-codes-outside-operations'?: Record<string, number> };
  for (const [code, status] of Object.entries(outside['x-codes-outside-operations'] ?? {})) found.set(code, status);
  return found;
}
