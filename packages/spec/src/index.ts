/**
 * The contract for TypeScript programs. `Operations` are the types of requests and responses, `operations` is the
 * index of operations: path, roles and limits. `calls` is its short form for clients, and `mirrored` says how copies read
 * the rows of each type.
 */
export { calls, mirrored } from '../generated/calls.ts';
export { impliedRoles, operations } from '../generated/operations.ts';
export type {
  CustomTypeName,
  components,
  DecimalString,
  operations as Operations,
  paths,
  SchemasOfTypes,
  webhooks,
} from '../generated/types.ts';
export type { RowValues, StateMachine, StateTransition } from './state-machine.ts';
