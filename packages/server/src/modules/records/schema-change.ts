import type { ProblemDetail } from '../../contract/problem.ts';
import type { CustomField } from './custom-field.ts';
import { maxTextLengthOf } from './custom-values.ts';
import { compareDecimals } from './decimal.ts';
import type { PatternReports } from './pattern.ts';

/**
 * Returns changes of a type's fields that are not allowed while the type has records: all stored values must match the
 * new fields as they matched the old ones. Empty if fields are only added, relabelled or widened.
 *
 * @param reports of the patterns of all these fields.
 */
export function breakingChanges(
  before: readonly CustomField[],
  after: readonly CustomField[],
  reports: PatternReports,
): ProblemDetail[] {
  const left = new Map(after.map((field, index) => [field.name, { field, pointer: `/fields/${index}` }]));
  const known = new Set(before.map((field) => field.name));
  const removed = before
    .filter((field) => !left.has(field.name))
    .map((field) => inUse('/fields', `The field ${field.name} is missing.`));
  const changed = before.flatMap((field) => {
    const now = left.get(field.name);
    return now === undefined ? [] : narrowings(field, now.field, reports).map((detail) => inUse(now.pointer, detail));
  });
  const added = [...left.values()].flatMap(({ field, pointer }) =>
    known.has(field.name) || !mustHaveValue(field)
      ? []
      : [inUse(pointer, `The field ${field.name} is new, and stored records have no value for it.`)],
  );
  return [...removed, ...changed, ...added];
}

function inUse(pointer: string, detail: string): ProblemDetail {
  return { in: 'body', pointer, code: 'FIELD_IN_USE', detail };
}

/** Whether a record without a value for the field would be invalid. */
function mustHaveValue(field: CustomField): boolean {
  return field.active && (field.required || !field.nullable);
}

function narrowings(before: CustomField, after: CustomField, reports: PatternReports): string[] {
  const { name } = before;
  if (before.type !== after.type) return [`The field ${name} changes from ${before.type} to ${after.type}.`];
  const returns = !before.active && after.active;
  const narrowed: [boolean, string][] = [
    [after.required && !before.required, 'becomes required'],
    [before.nullable && !after.nullable, 'can no longer be null'],
    [after.unique && !before.unique, 'becomes unique'],
    [
      returns && (after.unique || mustHaveValue(after)),
      'is reactivated with a rule that was not checked in the meantime',
    ],
    [(after.minLength ?? 0) > (before.minLength ?? 0), 'gets a greater minLength'],
    [maxTextLengthOf(after, reports) < maxTextLengthOf(before, reports), 'gets a smaller maxLength'],
    [after.pattern !== null && after.pattern !== before.pattern, 'gets another pattern'],
    [isAbove(after.minimum, before.minimum), 'gets a greater minimum'],
    [isAbove(before.maximum, after.maximum, true), 'gets a smaller maximum'],
    [(after.scale ?? 0) < (before.scale ?? 0), 'gets fewer decimal places'],
    [before.enumValues.some((value) => !after.enumValues.includes(value)), 'loses values'],
    [before.referencedEntityType !== after.referencedEntityType, 'refers to another type'],
  ];
  return narrowed.filter(([is]) => is).map(([, reason]) => `The field ${name} ${reason}.`);
}

/**
 * Whether a bound is greater than another. A missing bound is less than every minimum, and greater than every maximum.
 */
function isAbove(one: string | null, other: string | null, areMaxima = false): boolean {
  if (one === null) return areMaxima && other !== null;
  if (other === null) return !areMaxima;
  return compareDecimals(one, other) > 0;
}
