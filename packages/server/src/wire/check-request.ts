import type { Operation } from '../contract/contract.ts';
import { problemOf } from '../contract/findings.ts';
import type { ContractValidator } from '../contract/validator.ts';
import { parseBody } from './body.ts';
import { linesType } from './input.ts';

/** The raw parts of a request. Parameters have been checked for characters that are not allowed in text. */
export interface RawRequest {
  readonly path: Readonly<Record<string, string>>;
  readonly query: Record<string, unknown>;
  readonly headers: Record<string, unknown>;
  /** The raw body; undefined if the operation has none. */
  readonly bytes: Uint8Array | undefined;
}

/** The validated input of a handler. */
export interface CheckedRequest extends Pick<RawRequest, 'bytes'> {
  readonly query: Record<string, unknown>;
  readonly body: unknown;
}

/**
 * Parses the body of a request and validates the request against the contract.
 *
 * @throws Rejection `MALFORMED_REQUEST`, `VALIDATION_ERROR` or `MISSING_BODY`.
 */
export function checkRequest(
  validator: ContractValidator,
  operation: Operation,
  { path, query, headers, bytes }: RawRequest,
): CheckedRequest {
  const isOfLines = operation.lines !== null && linesType.test(String(headers['content-type']));
  const body = bytes === undefined ? undefined : parseBody(bytes, isOfLines);
  const checked = validator.request(operation, { path, query, headers, body });
  if (checked.findings.length > 0) throw problemOf(operation, checked.findings, body);
  return { query: checked.query, body, bytes };
}
