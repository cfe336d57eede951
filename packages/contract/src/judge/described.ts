import type { OpenApiDocument } from '../document/document.ts';
import { escapeSegment, isObject, type JsonObject } from '../json.ts';

/** An object in an answer, and all that the contract says of it. */
export interface Described {
  readonly pointer: string;
  readonly object: JsonObject;
  /** Its schema and what that is made of, in every branch. */
  readonly parts: readonly JsonObject[];
}

/** The objects in a value that a schema describes, each before those within it. */
export function objectsIn(document: OpenApiDocument, schema: JsonObject, value: unknown): Generator<Described> {
  return visit(document, [schema], value, '', 0);
}

function* visit(
  document: OpenApiDocument,
  schemas: readonly JsonObject[],
  value: unknown,
  pointer: string,
  depth: number,
): Generator<Described> {
  if (depth > 40 || schemas.length === 0) return;
  const parts = schemas.flatMap((schema) => partsOf(document, schema));
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries())
      yield* visit(document, itemSchemas(parts, index), item, `${pointer}/${index}`, depth + 1);
  }
  if (!isObject(value)) return;
  yield { pointer, object: value, parts };
  for (const [name, member] of Object.entries(value))
    yield* visit(document, memberSchemas(parts, name), member, `${pointer}/${escapeSegment(name)}`, depth + 1);
}

/** A schema that says nothing of what is in it. */
export const anything: JsonObject = {};

/** What an object's schema says of a member; empty where it does not speak of it. */
export function memberSchemas(parts: readonly JsonObject[], name: string): JsonObject[] {
  return parts.flatMap((part) => memberSchemasOf(part, name));
}

function memberSchemasOf(part: JsonObject, name: string): JsonObject[] {
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
export function partsOf(document: OpenApiDocument, schema: JsonObject): readonly JsonObject[] {
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
