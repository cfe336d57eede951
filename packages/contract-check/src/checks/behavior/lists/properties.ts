import type { OpenApiDocument } from '../../../document/document.ts';
import { isObject, type JsonObject } from '../../../json.ts';
import { singularKey, wordsOf } from '../../../run/words.ts';
import { shapeOf } from '../../../schema/shape.ts';
import { isBlank } from './compare.ts';

export interface Property {
  readonly path: readonly string[];
  readonly name: string;
  readonly words: readonly string[];
  /** The enum values in the contract, if any. */
  readonly enum: readonly unknown[] | undefined;
}

/** Properties of rows, and of the objects in them. */
export function propertiesOf(
  document: OpenApiDocument,
  rows: readonly JsonObject[],
  schema: JsonObject | undefined,
): Property[] {
  const declared = schema === undefined ? undefined : shapeOf(document, schema);
  const found = new Map<string, Property>();
  const add = (path: readonly string[]) => {
    const [first = ''] = path;
    const schemas = path.length === 1 ? declared?.properties.get(first) : undefined;
    const name = path.join('.');
    if (found.has(name)) return;
    found.set(name, {
      path,
      name,
      words: path.flatMap(wordsOf),
      enum: schemas === undefined ? undefined : shapeOf(document, ...schemas).enum,
    });
  };
  for (const row of rows) {
    for (const [name, value] of Object.entries(row)) {
      add([name]);
      if (isObject(value)) for (const inner of Object.keys(value)) add([name, inner]);
    }
  }
  return [...found.values()];
}

/** The value of a property; undefined if the row does not contain it. */
export function valueIn(row: JsonObject, { path }: Pick<Property, 'path'>): unknown {
  let value: unknown = row;
  for (const segment of path) {
    // The properties of a null object are null as well.
    if (value === null) return null;
    value = isObject(value) ? value[segment] : undefined;
  }
  return value;
}

export interface Match {
  readonly property: Property;
  /** Whether the name is identical. Otherwise a second observation must confirm the inference. */
  readonly isExact: boolean;
}

/** The property that a name refers to. */
export function matchOf(properties: readonly Property[], words: readonly string[]): Match | undefined {
  const expected = words.join('');
  if (expected === '') return undefined;
  const by = (test: (property: Property) => boolean) =>
    properties.filter(test).sort((left, right) => left.path.length - right.path.length)[0];
  const exact = by((property) => property.words.join('') === expected);
  if (exact !== undefined) return { property: exact, isExact: true };
  const singular = singularKey(words);
  const near = by((property) => singularKey(property.words) === singular);
  return near === undefined ? undefined : { property: near, isExact: false };
}

/**
 * Like `matchOf`, but also matches the beginning of a name: `created` matches `createdAt` if no other property begins
 * with it.
 */
export function matchBeginning(properties: readonly Property[], words: readonly string[]): Match | undefined {
  const whole = matchOf(properties, words);
  if (whole !== undefined) return whole;
  const expected = words.join('');
  const longer = properties.filter(
    (property) =>
      property.words.length === words.length + 1 &&
      property.words.slice(0, words.length).join('') === expected &&
      /^(?:at|on|date|time|day|timestamp|utc|amount)$/.test(property.words.at(-1) ?? ''),
  );
  const [only] = longer;
  return longer.length === 1 && only !== undefined ? { property: only, isExact: false } : undefined;
}

/** The distinct values in rows, in order of appearance. */
export function distinct(rows: readonly JsonObject[], property: Property): unknown[] {
  return [...new Set(rows.map((row) => valueIn(row, property)).filter((value) => !isBlank(value)))];
}
