import type { OpenApiDocument } from '../document/document.ts';
import { escapeSegment, isObject, type JsonObject } from '../json.ts';
import { anything, type Description, objectsIn } from './described.ts';

/** A property of a response that the contract does not speak of, or that has no business there. */
export interface OtherTenant {
  readonly pointer: string;
  readonly why: 'unknown' | 'writeOnly';
  /** The object that the contract describes at that place, or the property. */
  readonly schema: JsonObject;
}

/**
 * Members that no branch of the schema names, in objects whose schema names properties and does not say that there may be
 * others. JSON Schema lets them pass; to a reader of the contract they do not exist.
 */
export function otherTenantsIn(document: OpenApiDocument, schema: JsonObject, value: unknown): OtherTenant[] {
  const found: OtherTenant[] = [];
  for (const { pointer, object, description } of objectsIn(document, schema, value)) {
    const closed = closedObject(description);
    for (const name of Object.keys(object)) {
      const own = description.member(name);
      const hidden = own?.parts.find((part) => part.writeOnly === true);
      if (hidden !== undefined)
        found.push({ pointer: `${pointer}/${escapeSegment(name)}`, why: 'writeOnly', schema: hidden });
      else if (own === undefined && closed !== undefined)
        found.push({ pointer: `${pointer}/${escapeSegment(name)}`, why: 'unknown', schema: closed });
    }
  }
  return found;
}

/** The schema that names the properties of an object; undefined where others are allowed, or rejected by the schema itself. */
function closedObject({ parts }: Description): JsonObject | undefined {
  const isNamed = parts.some((part) => isObject(part.properties) && Object.keys(part.properties).length > 0);
  if (!isNamed || parts.some(isExplicitlyOpen) || parts.some(isClosed)) return undefined;
  return parts.find((part) => isObject(part.properties));
}

function isExplicitlyOpen(part: JsonObject): boolean {
  return (
    part.additionalProperties === true ||
    part.unevaluatedProperties === true ||
    isObject(part.unevaluatedProperties) ||
    // A schema without any type or property says nothing of what is in it.
    part === anything
  );
}

/** What a closed object does not name, its schema rejects by itself. */
function isClosed(part: JsonObject): boolean {
  return part.additionalProperties === false || part.unevaluatedProperties === false;
}
