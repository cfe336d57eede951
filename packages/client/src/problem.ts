import type { AnyAnswer, Schema } from './types.ts';

/** What went wrong, as the service says it (RFC 9457). Decide by `code`, show `detail`, give `requestId` to support. */
export type Problem = Schema<'Problem'>;
/** The stable names of what can go wrong. */
export type ProblemCode = Problem['code'];

/**
 * Whether a value is a problem document. With a code it also narrows to problems that can have that code:
 * `isProblem(answer.body, 'DUPLICATE_REF')`.
 */
export function isProblem(value: unknown): value is Problem;
export function isProblem<Code extends ProblemCode>(value: unknown, code: Code): value is Problem & { code: Code };
export function isProblem(value: unknown, code?: ProblemCode): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (!('code' in value) || !('requestId' in value) || !('status' in value)) return false;
  if (typeof value.code !== 'string' || typeof value.requestId !== 'string') return false;
  return code === undefined || value.code === code;
}

/** A problem document as an error: what {@link orThrow} and the iterators throw, and a call for which there is no token. */
export class ProblemError extends Error {
  override readonly name = 'ProblemError';
  readonly problem: Problem;

  constructor(problem: Problem) {
    super(`${problem.code}: ${problem.detail} (request ${problem.requestId})`);
    this.problem = problem;
  }
}

/** An answer that is none of the service's: something in between (a proxy, a gateway) spoke in its place. */
export class UnexpectedAnswerError extends Error {
  override readonly name = 'UnexpectedAnswerError';
  readonly status: number;
  /** The body as it came: text, or what its JSON says. */
  readonly body: unknown;
  readonly headers: Headers;

  constructor(answer: AnyAnswer) {
    super(`The answer with status ${answer.status} is not one of the service's.`);
    this.status = answer.status;
    this.body = answer.body;
    this.headers = answer.headers;
  }
}

type ResultOf<Answer> = Extract<Answer, { ok: true }> extends { body: infer Body } ? Body : never;

/**
 * The body of an answer that is `ok`; throws a {@link ProblemError} for any other:
 * `const client = await orThrow(api.call('getClient', { path: { id } }))`.
 */
export async function orThrow<Answer extends AnyAnswer>(answer: Answer | Promise<Answer>): Promise<ResultOf<Answer>> {
  const answered: AnyAnswer = await answer;
  if (answered.ok) return answered.body as ResultOf<Answer>;
  throw failureOf(answered);
}

/** The error that an answer amounts to, where its body was wanted. */
export function failureOf(answer: AnyAnswer): Error {
  return isProblem(answer.body) ? new ProblemError(answer.body) : new UnexpectedAnswerError(answer);
}
