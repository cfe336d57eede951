export { type Client, createClient } from './client.ts';
export type { ClientOptions } from './options.ts';
export { isProblem, orThrow, type Problem, type ProblemCode, ProblemError, UnexpectedAnswerError } from './problem.ts';
export type { AccessToken } from './tokens.ts';
export type {
  Answer,
  CallOptions,
  Input,
  ListOperationId,
  OperationId,
  Page,
  Result,
  Row,
  Schema,
} from './types.ts';
