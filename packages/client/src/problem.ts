import type { AnyApiResponse, Schema } from './types.ts';

/** An error of the service (RFC 9457). Base your error handling on `code`, show `detail` to people, include `requestId` in support requests. */
export type Problem = Schema<'Problem'>;
/** Stable error codes. */
export type ProblemCode = Problem['code'];

/**
 * Whether a value is a problem document. With a code, it also narrows to problems that can have that code:
 * `isProblem(response.body, 'DUPLICATE_REF')`.
 */
export function isProblem(value: unknown): value is Problem;
export function isProblem<Code extends ProblemCode>(value: unknown, code: Code): value is Problem & { code: Code };
export function isProblem(value: unknown, code?: ProblemCode): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (!('code' in value) || !('requestId' in value) || !('status' in value)) return false;
  if (typeof value.code !== 'string' || typeof value.requestId !== 'string') return false;
  return code === undefined || value.code === code;
}

/** A problem document as an error. Thrown by {@link orThrow} and the iterators, and by calls if the client cannot get a token. */
export class ProblemError extends Error {
  override readonly name = 'ProblemError';
  readonly problem: Problem;

  constructor(problem: Problem) {
    super(`${problem.code}: ${problem.detail} (request ${problem.requestId})${linesOf(problem.errors ?? [])}`);
    this.problem = problem;
  }
}

/** The first invalid values, one per line; `problem.errors` has all. */
function linesOf(errors: readonly Schema<'ProblemError'>[]): string {
  const shown = errors.slice(0, 5).map(({ in: place, pointer, detail }) => `\n  ${place} ${pointer}: ${detail}`);
  return shown.join('') + (errors.length > shown.length ? `\n  and ${errors.length - shown.length} more` : '');
}

/** A response that does not come from the service, but from a proxy or a gateway. */
export class UnexpectedResponseError extends Error {
  override readonly name = 'UnexpectedResponseError';
  readonly status: number;
  /** The body: text, or the value of its JSON. */
  readonly body: unknown;
  readonly headers: Headers;

  constructor(response: AnyApiResponse) {
    super(`The response with status ${response.status} does not come from the service.`);
    this.status = response.status;
    this.body = response.body;
    this.headers = response.headers;
  }
}

type ResultOf<ApiResponse> = Extract<ApiResponse, { ok: true }> extends { body: infer Body } ? Body : never;

/**
 * Returns the body of a response that is `ok`; throws a {@link ProblemError} for any other:
 * `const client = await orThrow(api.getClient({ path: { id } }))`.
 */
export async function orThrow<ApiResponse extends AnyApiResponse>(
  response: ApiResponse | Promise<ApiResponse>,
): Promise<ResultOf<ApiResponse>> {
  const received: AnyApiResponse = await response;
  if (received.ok) return received.body as ResultOf<ApiResponse>;
  throw failureOf(received);
}

/** The error for a response that is not `ok`. */
export function failureOf(response: AnyApiResponse): Error {
  return isProblem(response.body) ? new ProblemError(response.body) : new UnexpectedResponseError(response);
}
