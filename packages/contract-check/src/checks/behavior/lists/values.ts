import type { OpenApiDocument } from '../../../document/document.ts';
import { shapeOf } from '../../../document/shape.ts';
import { isObject, isScalar, type JsonObject } from '../../../json.ts';
import { singularKey, wordsOf } from '../../../run/names.ts';

/** Comparisons of values in rows. Undefined means that servers may differ, such as in case or hidden digits. */

export const isBlank = (value: unknown) => value === null || value === undefined;
export const isDay = (value: unknown) => typeof value === 'string' && /^\d{4}-\d\d-\d\d$/.test(value);
export const isInstant = (value: unknown) => typeof value === 'string' && /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d/.test(value);
export const folded = (value: unknown) => String(value).normalize('NFKD').toLowerCase().trim();

/** Parses a number, or a decimal as a string. */
export function numberOf(value: unknown): number | undefined {
  if (typeof value === 'number') return value;
  return typeof value === 'string' && /^-?\d{1,15}(?:\.\d{1,10})?$/.test(value) ? Number(value) : undefined;
}

/** Whether a timestamp states its offset from UTC. */
export const hasZone = (value: unknown) => isInstant(value) && /(?:Z|[+-]\d\d:?\d\d)$/.test(String(value));

export function instantOf(value: unknown): number | undefined {
  const time = isDay(value) || isInstant(value) ? Date.parse(String(value)) : Number.NaN;
  return Number.isNaN(time) ? undefined : time;
}

function pairOf<Form>(
  form: (value: unknown) => Form | undefined,
  left: unknown,
  right: unknown,
): [Form, Form] | undefined {
  const [one, other] = [form(left), form(right)];
  return one === undefined || other === undefined ? undefined : [one, other];
}

const twoDays = 48 * 3600 * 1000;

/** Whether two values are equal for a filter. */
export function isEqual(left: unknown, right: unknown): boolean | undefined {
  if (isBlank(left) || isBlank(right)) return undefined;
  if (left === right || String(left) === String(right)) return isInstant(left) ? undefined : true;
  const numbers = pairOf(numberOf, left, right);
  if (numbers !== undefined) return numbers[0] === numbers[1];
  const instants = pairOf(instantOf, left, right);
  // A day covers all its timestamps, in an unknown time zone.
  if (instants !== undefined)
    return Math.abs(instants[0] - instants[1]) < (isInstant(left) && isInstant(right) ? 1000 : twoDays)
      ? undefined
      : false;
  return folded(left) === folded(right) ? undefined : false;
}

const collators = [
  {},
  { numeric: true },
  { caseFirst: 'upper' },
  { sensitivity: 'base' },
  { ignorePunctuation: true },
].map((options) => new Intl.Collator('en', options as Intl.CollatorOptions));
const byBytes = (left: string, right: string) => Math.sign(Buffer.compare(Buffer.from(left), Buffer.from(right)));

/** The comparison in all plausible collations. */
export function compare(left: unknown, right: unknown): number | undefined {
  if (typeof left === 'boolean' && typeof right === 'boolean') return Number(left) - Number(right);
  if (left === right) return 0;
  const numbers = pairOf(numberOf, left, right);
  if (numbers !== undefined) {
    const byNumber = Math.sign(numbers[0] - numbers[1]);
    // `007` may be a code, which sorts as text. A decimal point indicates an amount.
    const isAmount = typeof left === 'number' || `${left}${right}`.includes('.');
    return isAmount || byNumber === byBytes(String(left), String(right)) ? byNumber : undefined;
  }
  const instants = pairOf(instantOf, left, right);
  if (instants !== undefined) {
    const distance = instants[0] - instants[1];
    // Equal values may differ in hidden digits.
    return isInstant(left) !== isInstant(right) && Math.abs(distance) < twoDays ? undefined : Math.sign(distance);
  }
  if (typeof left !== 'string' || typeof right !== 'string') return undefined;
  const results = new Set([
    ...collators.map((collator) => Math.sign(collator.compare(left, right))),
    byBytes(left, right),
    byBytes(left.toLowerCase(), right.toLowerCase()),
    byBytes(left.toUpperCase(), right.toUpperCase()),
  ]);
  return results.size === 1 ? [...results][0] : undefined;
}

/** Whether a text occurs anywhere in a row. Free-text filters may search more properties than their names suggest. */
export function mentions(value: unknown, text: string): boolean {
  if (typeof value === 'object' && value !== null) return Object.values(value).some((member) => mentions(member, text));
  return isScalar(value) && folded(value).includes(folded(text));
}

export interface Property {
  readonly path: readonly string[];
  readonly name: string;
  readonly words: readonly string[];
  readonly enum: readonly unknown[] | undefined;
}

export function propertiesOf(
  document: OpenApiDocument,
  rows: readonly JsonObject[],
  schema: JsonObject | undefined,
): Property[] {
  const declared = schema === undefined ? undefined : shapeOf(document, schema);
  const paths = rows.flatMap((row) =>
    Object.entries(row).flatMap(([name, value]) => [
      [name],
      ...(isObject(value) ? Object.keys(value).map((inner) => [name, inner]) : []),
    ]),
  );
  return [...new Map(paths.map((path) => [path.join('.'), path]))].map(([name, path]) => {
    const schemas = path.length === 1 ? declared?.properties.get(name) : undefined;
    return { path, name, words: path.flatMap(wordsOf), enum: schemas && shapeOf(document, ...schemas).enum };
  });
}

/**
 * The value of a property; undefined if the row does not contain it. The properties of a null object are null as well, and
 * objects in a list are their names, such as labels.
 */
export function valueIn(row: JsonObject, { path }: Pick<Property, 'path'>): unknown {
  const inner = (value: unknown, name: string) => (value === null ? null : isObject(value) ? value[name] : undefined);
  const value = path.reduce<unknown>(inner, row);
  return Array.isArray(value) ? value.map((item) => (isObject(item) ? (item.name ?? item) : item)) : value;
}

export function distinct(rows: readonly JsonObject[], property: Property): unknown[] {
  return [...new Set(rows.map((row) => valueIn(row, property)).filter((value) => !isBlank(value)))];
}

export interface Match {
  readonly property: Property;
  /** Whether the name is identical. Otherwise a second observation must confirm the inference. */
  readonly isExact: boolean;
}

export function matchOf(properties: readonly Property[], words: readonly string[]): Match | undefined {
  const by = (test: (property: Property) => boolean) =>
    properties.filter(test).sort((left, right) => left.path.length - right.path.length)[0];
  if (words.join('') === '') return undefined;
  const exact = by((property) => property.words.join('') === words.join(''));
  if (exact !== undefined) return { property: exact, isExact: true };
  const near = by((property) => singularKey(property.words) === singularKey(words));
  return near === undefined ? undefined : { property: near, isExact: false };
}

/** Like `matchOf`, but also matches the beginning of a name: `created` matches `createdAt` if no other begins with it. */
export function matchBeginning(properties: readonly Property[], words: readonly string[]): Match | undefined {
  const whole = matchOf(properties, words);
  if (whole !== undefined) return whole;
  const [only, ...others] = properties.filter(
    (property) =>
      property.words.length === words.length + 1 &&
      property.words.slice(0, words.length).join('') === words.join('') &&
      /^(?:at|on|date|time|day|timestamp|utc|amount)$/.test(property.words.at(-1) ?? ''),
  );
  return only === undefined || others.length > 0 ? undefined : { property: only, isExact: false };
}
