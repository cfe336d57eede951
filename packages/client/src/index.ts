export type { CustomTypeName, DecimalString } from '@financial-automation/spec';
export { type Client, createClient } from './client.ts';
export { customType } from './custom-type.ts';
export {
  type MirrorBatch,
  type MirroredRow,
  type MirrorRun,
  type MirrorStore,
  type MirrorType,
  mirror,
} from './mirror.ts';
export type { ClientOptions } from './options.ts';
export {
  isProblem,
  orThrow,
  type Problem,
  type ProblemCode,
  ProblemError,
  UnexpectedResponseError,
} from './problem.ts';
export type { AccessToken } from './tokens.ts';
export type {
  ApiResponse,
  CallOptions,
  Input,
  ListOperationId,
  OperationId,
  Page,
  Result,
  Row,
  Schema,
} from './types.ts';
