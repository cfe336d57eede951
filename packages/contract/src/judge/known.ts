import type { OpenApiDocument } from '../document/document.ts';
import { escapeSegment, isObject, type JsonObject } from '../json.ts';

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
  return visit(document, [schema], value, '', 0);
}

function visit(
  document: OpenApiDocument,
  schemas: readonly JsonObject[],
  value: unknown,
  pointer: string,
  depth: number,
): Stranger[] {
  if (depth > 40) return [];
  const parts = schemas.flatMap((schema) => partsOf(document, schema));
  if (Array.isArray(value)) {
    return value.flatMap((item, index) =>
      visit(document, itemSchemas(parts, index), item, `${pointer}/${index}`, depth + 1),
    );
  }
  if (!isObject(value)) return [];
  const isOpen = parts.some(isExplicitlyOpen);
  const isNamed = parts.some((part) => isObject(part.properties) && Object.keys(part.properties).length > 0);
  return Object.entries(value).flatMap(([name, member]) => {
    const own = parts.flatMap((part) => memberSchemas(part, name));
    const at = `${pointer}/${escapeSegment(name)}`;
    if (own.length === 0) {
      const isClosed = parts.some(
        (part) => part.additionalProperties === false || part.unevaluatedProperties === false,
      );
      const [described] = parts.filter((part) => isObject(part.properties));
      if (isOpen || isClosed || !isNamed || described === undefined) return [];
      return [{ pointer: at, why: 'unknown' as const, schema: described }];
    }
    const hidden = own.flatMap((schema) => partsOf(document, schema)).find((part) => part.writeOnly === true);
    if (hidden !== undefined) return [{ pointer: at, why: 'writeOnly' as const, schema: hidden }];
    return visit(document, own, member, at, depth + 1);
  });
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

const anything: JsonObject = {};

function memberSchemas(part: JsonObject, name: string): JsonObject[] {
  const named = isObject(part.properties) ? part.properties[name] : undefined;
  if (isObject(named)) return [named];
  if (named === true) return [anything];
  const patterns = Object.entries(isObject(part.patternProperties) ? part.patternProperties : {})
    .filter(([pattern]) => new RegExp(pattern, 'u').test(name))
    .map(([, schema]) => (isObject(schema) ? schema : anything));
  if (patterns.length > 0) return patterns;
  return isObject(part.additionalProperties) ? [part.additionalProperties] : [];
}

function itemSchemas(parts: readonly JsonObject[], index: number): JsonObject[] {
  return parts.flatMap((part) => {
    const first = Array.isArray(part.prefixItems) ? part.prefixItems : [];
    if (index < first.length) return isObject(first[index]) ? [first[index]] : [];
    return isObject(part.items) ? [part.items] : [];
  });
}

/** What schemas are made of: each answer has many rows, and all of them the same schemas. */
const known = new WeakMap<JsonObject, readonly JsonObject[]>();

/** A schema and all that it is made of, in every branch. */
function partsOf(document: OpenApiDocument, schema: JsonObject): readonly JsonObject[] {
  let parts = known.get(schema);
  if (parts === undefined) {
    parts = partsWithin(document, schema, 0);
    known.set(schema, parts);
  }
  return parts;
}

function partsWithin(document: OpenApiDocument, schema: JsonObject, depth: number): JsonObject[] {
  if (depth > 30) return [];
  const inner = [
    ...document.referred(schema),
    ...['allOf', 'oneOf', 'anyOf'].flatMap((key) => (Array.isArray(schema[key]) ? schema[key].filter(isObject) : [])),
    ...['if', 'then', 'else'].flatMap((key) => (isObject(schema[key]) ? [schema[key]] : [])),
    ...Object.values(isObject(schema.dependentSchemas) ? schema.dependentSchemas : {}).filter(isObject),
  ];
  return [schema, ...inner.flatMap((one) => partsWithin(document, one, depth + 1))];
}
