import { type Field, fieldsOf, membersOf } from '../contract/fields.ts';
import { Rejection } from '../contract/rejection.ts';
import { type Decimal, isDecimal, parseDecimal, zero } from '../platform/decimal.ts';
import type { AnyEntity } from './model.ts';
import { allEntities } from './registry.ts';
import type { AnyInput, AnyRow } from './row.ts';

/** The range of a number in responses. */
interface Range {
  readonly minimum: Decimal;
  readonly maximum: Decimal;
}

/**
 * Checks the values that a change sets against the bounds of the contract for responses: the range of numbers, and the
 * length of lists. The service calculates many of them, so that valid input can exceed them.
 *
 * @throws Rejection that states the bound, with a pointer if the caller provided the field.
 */
export function checkBounds(entity: AnyEntity, values: AnyRow, previous: AnyRow | undefined, provided: AnyInput): void {
  for (const field of entity.keptFields) {
    const value = values[field.name];
    if (value === previous?.[field.name]) continue;
    checkValue(entity, field, value, provided[field.name] === undefined ? undefined : `/${field.name}`);
  }
}

/** Checks a value before it is written, so that the rejection can point at the part of the request that it follows from. */
export function checkBound(entity: AnyEntity, name: string, value: unknown, pointer: string | undefined): void {
  const field = entity.fields.get(name);
  if (field !== undefined) checkValue(entity, field, value, pointer);
}

function checkValue(entity: AnyEntity, field: Field, value: unknown, pointer: string | undefined): void {
  if (isDecimal(value)) {
    const range = rangeOf(field);
    if (range !== undefined && (value.gt(range.maximum) || value.lt(range.minimum)))
      throw new Rejection(
        'VALIDATION_ERROR',
        `${field.name} of the ${entity.type} must be ${inWords(range)}.`,
        pointer,
      );
    return;
  }
  if (typeof value !== 'object' || value === null) return;
  const members = membersOf(field);
  if (!Array.isArray(value)) {
    checkMembers(entity, members, value, pointer);
    return;
  }
  const { maxItems } = field.schema;
  if (maxItems !== undefined && value.length > maxItems) {
    const detail = `${field.name} of the ${entity.type} must have at most ${maxItems} items.`;
    throw new Rejection('VALIDATION_ERROR', detail, pointer);
  }
  if (members.length === 0) return;
  for (const [index, one] of value.entries())
    if (typeof one === 'object' && one !== null)
      checkMembers(entity, members, one, pointer === undefined ? undefined : `${pointer}/${index}`);
}

function checkMembers(entity: AnyEntity, members: readonly Field[], object: object, pointer: string | undefined): void {
  const values = new Map<string, unknown>(Object.entries(object));
  for (const member of members) {
    // A member that the service calculates is not in the request, but the object that it follows from is.
    const location = pointer === undefined || member.readOnly ? pointer : `${pointer}/${member.name}`;
    checkValue(entity, member, values.get(member.name), location);
  }
}

/** Describes the range of the value in a column; undefined if the contract has no such field or range. */
export function describeRange(table: string, column: string): string | undefined {
  for (const { type, table: other, isCustom } of allEntities()) {
    if (other !== table || isCustom) continue;
    const field = fieldsOf(type).find((one) => one.column === column && one.kind === 'decimal');
    const range = field === undefined ? undefined : rangeOf(field);
    if (field !== undefined && range !== undefined) return `${field.name} of the ${type} must be ${inWords(range)}.`;
  }
  return undefined;
}

function inWords({ minimum, maximum }: Range): string {
  return `between ${minimum.toFixed()} and ${maximum.toFixed()}`;
}

const ranges = new WeakMap<Field, Range | undefined>();

/** The range of a decimal, which the contract states as a pattern; undefined if the pattern does not limit it. */
function rangeOf(field: Field): Range | undefined {
  return ranges.getOrInsertComputed(field, rangeOfPattern);
}

/** More digits than any decimal of the contract has. */
const maxDigits = 30;

/** Finds the range by probes with as many digits as the pattern accepts. */
function rangeOfPattern({ schema: { pattern, 'x-scale': scale = 0 } }: Field): Range | undefined {
  if (pattern === undefined) return undefined;
  const accepts = new RegExp(pattern);
  const nines = Array.from({ length: maxDigits }, (_, index) => '9'.repeat(index + 1));
  const probes = [...nines, '100'].flatMap((digits) => [digits, `${digits}.${'9'.repeat(scale)}`]);
  const accepted = probes.filter((text) => accepts.test(text)).map(parseDecimal);
  const maximum = accepted.reduce((largest, one) => (one.gt(largest) ? one : largest), zero);
  if (maximum.eq(zero) || maximum.gt(`1e${maxDigits - 1}`)) return undefined;
  if (accepts.test(`-${maximum.toFixed()}`)) return { minimum: zero.minus(maximum), maximum };
  const smallest = ['0', `0.${'0'.repeat(scale)}`].some((text) => accepts.test(text))
    ? zero
    : parseDecimal(`0.${'0'.repeat(Math.max(scale - 1, 0))}1`);
  return { minimum: smallest, maximum };
}
