import { invalidField } from './invalid-field.ts';
import type { AnyPendingChange } from './rules.ts';

/**
 * Checks that a period does not end before it starts.
 *
 * @throws Rejection `VALIDATION_ERROR` at the provided date; at the end date if both were provided.
 */
export function checkDateOrder(
  { values, input }: Pick<AnyPendingChange, 'values' | 'input'>,
  start: string,
  end: string,
): void {
  const [first, last] = [values[start], values[end]];
  if (typeof first !== 'string' || typeof last !== 'string' || first <= last) return;
  const isStartAlone = input[start] !== undefined && input[end] === undefined;
  throw invalidField(isStartAlone ? start : end, `${end} must not be before ${start}.`);
}
