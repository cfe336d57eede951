import { escapePointer } from '../contract/pointer.ts';
import { type ItemRejection, Rejection } from '../contract/rejection.ts';

/** Rejects the provided value of a field. */
export function invalidField(field: string, detail: string): ItemRejection {
  return new Rejection('VALIDATION_ERROR', detail, `/${escapePointer(field)}`);
}
