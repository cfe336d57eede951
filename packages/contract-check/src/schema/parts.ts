import type { OpenApiDocument } from '../document/document.ts';
import { extensionOf, type Operation } from '../document/operation.ts';
import { isJson } from '../http/call.ts';
import { isObject, type JsonObject } from '../json.ts';

/** The schema of an operation's JSON body, or of its form body if it accepts no JSON. */
export function requestSchema({ body }: Operation): JsonObject | undefined {
  const isForm = /^(?:application\/x-www-form-urlencoded|multipart\/form-data)/i;
  const content =
    body?.contents.find(({ mediaType }) => isJson(mediaType)) ??
    body?.contents.find(({ mediaType }) => isForm.test(mediaType));
  return content?.schema;
}

/** The schema of a JSON response with a status, or of the first success. */
export function responseSchema({ responses }: Operation, status?: number): JsonObject | undefined {
  const response =
    responses.find((one) => one.status === String(status)) ?? responses.find((one) => one.status.startsWith('2'));
  return response?.contents.find(({ mediaType }) => isJson(mediaType))?.schema;
}

/** A schema with its references and the parts of all branches. */
export function partsOf(document: OpenApiDocument, schema: JsonObject, depth = 0): JsonObject[] {
  if (depth > 30) return [];
  const inner = [
    ...document.referred(schema),
    ...['allOf', 'oneOf', 'anyOf'].flatMap((key) => (Array.isArray(schema[key]) ? schema[key].filter(isObject) : [])),
    ...['if', 'then', 'else'].flatMap((key) => (isObject(schema[key]) ? [schema[key]] : [])),
    ...Object.values(isObject(schema.dependentSchemas) ? schema.dependentSchemas : {}).filter(isObject),
  ];
  return [schema, ...inner.flatMap((one) => partsOf(document, one, depth + 1))];
}

/** The schemas of a property by name; empty if none declares it. */
export function memberOf(document: OpenApiDocument, schemas: readonly JsonObject[], name: string): JsonObject[] {
  return schemas
    .flatMap((schema) => partsOf(document, schema))
    .map((part) => (isObject(part.properties) ? part.properties[name] : undefined))
    .filter(isObject);
}

export function memberNames(document: OpenApiDocument, schema: JsonObject | undefined): string[] {
  if (schema === undefined) return [];
  const names = partsOf(document, schema).flatMap((part) =>
    Object.keys(isObject(part.properties) ? part.properties : {}),
  );
  return [...new Set(names)];
}

export function itemOf(document: OpenApiDocument, schemas: readonly JsonObject[]): JsonObject[] {
  return schemas
    .flatMap((schema) => partsOf(document, schema))
    .map(({ items }) => items)
    .filter(isObject);
}

/** Whether any part of a schema sets a keyword such as `readOnly` to true. */
export function hasFlag(document: OpenApiDocument, schemas: readonly JsonObject[], keyword: string): boolean {
  return schemas.flatMap((schema) => partsOf(document, schema)).some((part) => part[keyword] === true);
}

export function formatOf(document: OpenApiDocument, schemas: readonly JsonObject[]): string | undefined {
  const formats = schemas.flatMap((schema) => partsOf(document, schema)).map(({ format }) => format);
  return formats.find((format) => typeof format === 'string');
}

export function hasEnum(document: OpenApiDocument, schemas: readonly JsonObject[]): boolean {
  return schemas
    .flatMap((schema) => partsOf(document, schema))
    .some((part) => Array.isArray(part.enum) || 'const' in part);
}

/** The values of `enum` in all parts of schemas. */
export function wordsIn(document: OpenApiDocument, schemas: readonly JsonObject[]): unknown[] {
  return schemas
    .flatMap((schema) => partsOf(document, schema))
    .flatMap(({ enum: words }) => (Array.isArray(words) ? words : []));
}

/** What `x-contract-check` declares in any part of schemas. */
export function extensionsIn(document: OpenApiDocument, schemas: readonly JsonObject[]): JsonObject[] {
  return schemas.flatMap((schema) => partsOf(document, schema)).map(extensionOf);
}

/**
 * The schema to generate values from. Siblings of `$ref` are ignored, because the validator cannot resolve them
 * separately.
 */
export function targetOf(document: OpenApiDocument, schemas: readonly JsonObject[]): JsonObject | undefined {
  const [schema] = schemas;
  return schema === undefined ? undefined : document.object(schema);
}
