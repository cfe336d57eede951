import { CheckViolation, ForeignKeyViolation, UniqueViolation } from '../store/errors.ts';
import type { Entity } from './entity.ts';
import { Violation } from './violation.ts';

/** What the last word of a check's name says of the value. */
const refusals: Readonly<Record<string, string>> = {
  other: 'It cannot refer to itself.',
  range: 'It is out of range.',
  pattern: 'It does not have the form that is asked for.',
  enum: 'It is none of the allowed values.',
};

/**
 * Runs statements, and tells a constraint that they violate as the field that is wrong. Constraints are named
 * `<table>_<column>_<rule>`, so most explain themselves; the rest the entity explains.
 *
 * @throws Violation in place of the database's error.
 */
export async function refusedBy<T>(entity: Entity, statements: () => Promise<T>): Promise<T> {
  try {
    return await statements();
  } catch (error) {
    if (error instanceof UniqueViolation || error instanceof CheckViolation || error instanceof ForeignKeyViolation) {
      throw explain(entity, error);
    }
    throw error;
  }
}

function explain(entity: Entity, error: UniqueViolation | CheckViolation | ForeignKeyViolation): Violation {
  const known = entity.rules.constraints?.[error.constraint];
  if (known !== undefined) return new Violation(known.code, known.detail, `/${known.field}`);
  const rest = error.constraint.replace(`${entity.table}_`, '');
  const field = [...entity.fields.values()]
    .filter((candidate) => rest.startsWith(`${candidate.column}_`))
    .sort((left, right) => right.column.length - left.column.length)[0];
  const pointer = field === undefined ? undefined : `/${field.name}`;
  if (error instanceof UniqueViolation) {
    const what = field === undefined ? 'such values' : `this ${field.name}`;
    return new Violation('DUPLICATE_REF', `Another ${entity.type} of the tenant has ${what} already.`, pointer);
  }
  if (error instanceof ForeignKeyViolation)
    return new Violation('REFERENCE_NOT_FOUND', 'There is no such row.', pointer);
  const rule = rest.slice(rest.lastIndexOf('_') + 1);
  return new Violation('VALIDATION_ERROR', refusals[rule] ?? 'It does not fit the other values.', pointer);
}
