import type { OpenApiDocument } from '../document/document.ts';
import type { Parameter } from '../document/operation.ts';
import { asText, at, isJson, isObject, literal, objectOf, parsedJson } from '../json.ts';
import type { Validators } from '../schema/validators.ts';
import type { Exchange } from './call.ts';

/** Evaluates an OpenAPI runtime expression about a response. Those about its request are not supported. */
export function evaluate(expression: unknown, { response }: Exchange): unknown {
  if (typeof expression !== 'string' || !expression.startsWith('$')) return expression;
  const [source = '', pointer = ''] = expression.split('#');
  if (source === '$response.body') return at(response.json?.value, pointer);
  const [, header = ''] = /^\$response\.header\.(.+)$/.exec(source) ?? [];
  return response.headers[header.toLowerCase()];
}

interface Schemas {
  readonly document: OpenApiDocument;
  readonly validators: Validators;
}

/**
 * Parses texts as a server does, also those in a list or an object: into a type that the schema accepts, or names. A text alone is also a
 * list with one.
 */
export function parsedAs(schemas: Schemas, schema: unknown, value: unknown): unknown {
  const declared = schemas.document.object(schema);
  if (Array.isArray(value)) return value.map((item) => parsedAs(schemas, declared.items, item));
  if (isObject(value)) {
    const properties = isObject(declared.properties) ? declared.properties : {};
    return objectOf(Object.entries(value).map(([name, one]) => [name, parsedAs(schemas, properties[name], one)]));
  }
  const text = asText(value);
  const number = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?$/.test(text) ? [Number(text)] : [];
  const readings = [...number, ...(text === 'true' || text === 'false' ? [text === 'true'] : []), text];
  const types = [declared.type].flat().map((type) => (type === 'integer' ? 'number' : type));
  const isAccepted = (one: unknown) => schemas.validators.accepts(isObject(schema) ? schema : {}, one);
  const items = schemas.document.object(declared.items);
  const isList = types.includes('array') && ![items.type].flat().includes('array');
  const lists = isList ? [[parsedAs(schemas, items, text)]] : [];
  return [...readings, ...lists].find(isAccepted) ?? readings.find((one) => types.includes(typeof one)) ?? text;
}

export function fromText(schemas: Schemas, { mediaType, explode, schema }: Parameter, text: string): unknown {
  if (mediaType !== undefined && isJson(mediaType)) return (parsedJson(text) ?? { value: text }).value;
  const types = [schemas.document.object(schema).type].flat();
  const parts = text === '' ? [] : text.split(',').map((part) => part.trim());
  if (types.includes('array')) return parsedAs(schemas, schema, parts);
  if (!types.includes('object')) return parsedAs(schemas, schema, text);
  const pairs = explode
    ? parts.map((part) => part.split('='))
    : parts.flatMap((part, at) => (at % 2 === 0 ? [[part, parts[at + 1]]] : []));
  return parsedAs(schemas, schema, objectOf(pairs.map(([name = '', value = '']) => [name, value])));
}

export function pathTexts(template: string, path: string): Record<string, string> {
  const names = [...template.matchAll(/\{([^}]+)\}/g)].map(([, name]) => name ?? '');
  const match = pathPattern(template).exec(path);
  return Object.fromEntries(names.map((name, index) => [name, decoded(match?.[index + 1] ?? '')]));
}

/** A regular expression that matches the paths of a template. */
export function pathPattern(template: string, end = '', flags = ''): RegExp {
  const parts = template.split(/\{[^}]*\}/).map(literal);
  return new RegExp(`^${parts.join('([^/]+)')}${end}$`, flags);
}

/** Escapes a text for a URL. A server can return what no URL can carry, such as half of a surrogate pair. */
export const encoded = (text: string) => encodeURIComponent(text.toWellFormed());

export function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
