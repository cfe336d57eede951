import { escapePointer } from '../contract/pointer.ts';
import { type ErrorCode, type ItemRejection, Rejection } from '../contract/rejection.ts';

/** Rejects the provided value of a field. */
export function invalidField(field: string, detail: string, errorCode: ErrorCode = 'VALIDATION_ERROR'): ItemRejection {
  return new Rejection('VALIDATION_ERROR', detail, { pointer: `/${escapePointer(field)}`, errorCode });
}
