import type { components } from '@financial-automation/spec';
import { escapePointer } from '../http/pointer.ts';
import { Problem } from '../http/problem.ts';

export type ViolationCode = components['schemas']['ItemErrorCode'];

/**
 * A change of one row that violates a rule. A bulk operation reports it for the item; other operations return it as a
 * problem.
 */
export class Violation extends Error {
  override readonly name = 'Violation';
  readonly code: ViolationCode;
  /** A JSON Pointer to the invalid value, relative to the `Plan.at` call. */
  readonly pointer: string | undefined;

  constructor(code: ViolationCode, detail: string, pointer?: string) {
    super(detail);
    this.code = code;
    this.pointer = pointer;
  }

  /** The same violation with a prefixed pointer. A violation that does not concern one value has no pointer. */
  under(prefix: string): Violation {
    return this.pointer === undefined ? this : new Violation(this.code, this.message, `${prefix}${this.pointer}`);
  }
}

/** Creates a violation for a provided value that is invalid. */
export function invalidField(field: string, detail: string): Violation {
  return new Violation('VALIDATION_ERROR', detail, `/${escapePointer(field)}`);
}

/** Creates the problem of a request that was rejected because of these violations. The first one determines its code. */
export function problemOfViolations(violations: readonly [Violation, ...Violation[]]): Problem {
  const [first] = violations;
  // Several items may have the same error in a value that they share.
  const others = violations.filter(
    (one, index) => index > 0 && !violations.slice(0, index).some((earlier) => isSame(one, earlier)),
  );
  const errors = [first, ...others].flatMap(({ code, message, pointer }) =>
    pointer === undefined ? [] : [{ in: 'body' as const, pointer, code, detail: message }],
  );
  const code = first.code === 'RECORD_NOT_FOUND' ? 'NOT_FOUND' : first.code;
  const detail = others.length === 0 ? first.message : `${first.message} (${others.length} more in errors.)`;
  return new Problem(code, detail, errors.length === 0 ? {} : { errors });
}

function isSame(left: Violation, right: Violation): boolean {
  return left.code === right.code && left.pointer === right.pointer && left.message === right.message;
}
