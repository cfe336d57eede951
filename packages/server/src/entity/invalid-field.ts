import { Rejection } from '../contract/rejection.ts';
import { escapePointer } from '../http/pointer.ts';

/** Rejects the provided value of a field. */
export function invalidField(field: string, detail: string): Rejection {
  return new Rejection('VALIDATION_ERROR', detail, `/${escapePointer(field)}`);
}
