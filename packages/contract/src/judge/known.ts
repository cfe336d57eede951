import type { OpenApiDocument } from '../document/document.ts';
import { escapeSegment, isObject, type JsonObject } from '../json.ts';
import { anything, memberSchemas, objectsIn, partsOf } from './described.ts';

/** A member of an answer that the contract does not speak of, or that has no business there. */
export interface Stranger {
  readonly pointer: string;
  readonly why: 'unknown' | 'writeOnly';
  /** The object that the contract describes at that place, or the property. */
  readonly schema: JsonObject;
}

/**
 * Members that no branch of the schema names, in objects whose schema names members and does not say that there may be
 * others. JSON Schema lets them pass; to a reader of the contract they do not exist.
 */
export function strangersIn(document: OpenApiDocument, schema: JsonObject, value: unknown): Stranger[] {
  const found: Stranger[] = [];
  for (const { pointer, object, parts } of objectsIn(document, schema, value)) {
    const described = parts.find((part) => isObject(part.properties));
    const isNamed = parts.some((part) => isObject(part.properties) && Object.keys(part.properties).length > 0);
    const isTold = parts.some(isExplicitlyOpen) || parts.some(isClosed);
    for (const name of Object.keys(object)) {
      const own = memberSchemas(parts, name);
      const hidden = own.flatMap((one) => partsOf(document, one)).find((part) => part.writeOnly === true);
      const at = `${pointer}/${escapeSegment(name)}`;
      if (hidden !== undefined) found.push({ pointer: at, why: 'writeOnly', schema: hidden });
      else if (own.length === 0 && !isTold && isNamed && described !== undefined)
        found.push({ pointer: at, why: 'unknown', schema: described });
    }
  }
  return found;
}

function isExplicitlyOpen(part: JsonObject): boolean {
  return (
    part.additionalProperties === true ||
    part.unevaluatedProperties === true ||
    isObject(part.unevaluatedProperties) ||
    // A schema without any type or member says nothing of what is in it.
    part === anything
  );
}

/** What a closed object does not name, its schema refuses by itself. */
function isClosed(part: JsonObject): boolean {
  return part.additionalProperties === false || part.unevaluatedProperties === false;
}
