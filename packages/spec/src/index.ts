/**
 * What the contract says, as TypeScript sees it. `Operations` are the types of requests and answers, `operations` is the
 * index that programs read: where an operation is, who may call it, its limits. `calls` is the short form that clients ship.
 */
export { calls } from '../generated/calls.ts';
export { operations } from '../generated/operations.ts';
export type {
  $Read,
  $Write,
  components,
  operations as Operations,
  paths,
  Readable,
  Writable,
  webhooks,
} from '../generated/types.ts';
