import type { components } from '@financial-automation/spec';
import { escapePointer } from '../http/body.ts';
import { Problem } from '../http/problem.ts';

export type ViolationCode = components['schemas']['ItemErrorCode'];

/**
 * A rule that a change of one row breaks. A bulk operation reports it for the item; elsewhere it is the problem of the
 * whole call.
 */
export class Violation extends Error {
  override readonly name = 'Violation';
  readonly code: ViolationCode;
  /** A JSON Pointer from the row's attributes to the value that is wrong. */
  readonly pointer: string | undefined;

  constructor(code: ViolationCode, detail: string, pointer?: string) {
    super(detail);
    this.code = code;
    this.pointer = pointer;
  }

  /** The same violation, told by someone who knows where the attributes stand. */
  under(prefix: string): Violation {
    return new Violation(this.code, this.message, `${prefix}${this.pointer ?? ''}`);
  }

  toProblem(): Problem {
    const errors =
      this.pointer === undefined
        ? {}
        : { errors: [{ in: 'body' as const, pointer: this.pointer, code: this.code, detail: this.message }] };
    if (this.code === 'RECORD_NOT_FOUND') return new Problem('NOT_FOUND', this.message, errors);
    return new Problem(this.code, this.message, errors);
  }
}

/** A value of the attributes that is wrong. */
export function invalidField(field: string, detail: string): Violation {
  return new Violation('VALIDATION_ERROR', detail, `/${escapePointer(field)}`);
}
