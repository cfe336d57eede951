import type { OpenApiDocument } from '../document/document.ts';
import { escapeSegment, isObject, type JsonObject } from '../json.ts';
import { anything } from '../schema/shape.ts';
import { objectsIn, View } from '../schema/view.ts';

/** A property of a response that is undeclared or `writeOnly`. */
export interface UndeclaredProperty {
  readonly pointer: string;
  readonly why: 'unknown' | 'writeOnly';
  /** The schema of the object or of the property. */
  readonly schema: JsonObject;
}

/**
 * Finds properties that no branch of the schema declares, in objects with declared properties that do not explicitly
 * allow others. JSON Schema accepts them, but readers of the contract cannot know them.
 */
export function undeclaredPropertiesIn(
  document: OpenApiDocument,
  schema: JsonObject,
  value: unknown,
): UndeclaredProperty[] {
  const found: UndeclaredProperty[] = [];
  for (const { pointer, object, view } of objectsIn(View.of(document, schema), value)) {
    const closed = closedObject(view);
    for (const name of Object.keys(object)) {
      const own = view.described(name);
      const hidden = own.parts.find((part) => part.writeOnly === true);
      const schema = hidden ?? (own.isEmpty ? closed : undefined);
      const why = hidden === undefined ? 'unknown' : 'writeOnly';
      if (schema !== undefined) found.push({ pointer: `${pointer}/${escapeSegment(name)}`, why, schema });
    }
  }
  return found;
}

/** The schema that declares the properties of an object; undefined if it explicitly allows or rejects others. */
function closedObject({ names, parts }: View): JsonObject | undefined {
  if (names.length === 0 || parts.some(isExplicitlyOpen) || parts.some(isClosed)) return undefined;
  return parts.find((part) => isObject(part.properties));
}

function isExplicitlyOpen(part: JsonObject): boolean {
  return (
    part.additionalProperties === true ||
    part.unevaluatedProperties === true ||
    isObject(part.unevaluatedProperties) ||
    // A schema without type and properties allows any content.
    part === anything
  );
}

/** Closed schemas reject undeclared properties during validation. */
function isClosed(part: JsonObject): boolean {
  return part.additionalProperties === false || part.unevaluatedProperties === false;
}
