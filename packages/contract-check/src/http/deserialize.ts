import type { OpenApiDocument } from '../document/document.ts';
import type { Operation, Parameter } from '../document/operation.ts';
import { isObject, type JsonObject, parsedJson } from '../json.ts';
import type { Call } from './call.ts';
import { isJson } from './call.ts';

/** The serialized values of a parameter. */
type Texts = Pick<URLSearchParams, 'get' | 'getAll' | 'has' | 'keys'>;

/** Parses a text into the type of a schema, if possible. */
function typed(document: OpenApiDocument, schema: JsonObject, text: string): unknown {
  const types = [document.object(schema).type].flat();
  const isNumber = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?$/.test(text);
  if ((types.includes('integer') || types.includes('number')) && isNumber) return Number(text);
  if (types.includes('boolean') && (text === 'true' || text === 'false')) return text === 'true';
  return text;
}

/** Parses a recorded request; the reverse of `serialize`. */
export function deserialize(
  document: OpenApiDocument,
  operation: Operation,
  request: {
    readonly path: string;
    readonly query: URLSearchParams;
    readonly headers: Readonly<Record<string, string>>;
    readonly body: string | undefined;
  },
): Call {
  const groups = { path: {}, query: {}, header: {}, cookie: {} } as Record<Parameter['in'], Record<string, unknown>>;
  const fromPath = pathTexts(operation.path, request.path);
  for (const parameter of operation.parameters) {
    const value = parameterValue(document, parameter, fromPath, request.query, request.headers);
    if (value !== undefined) groups[parameter.in][parameter.name] = value;
  }
  const mediaType = request.headers['content-type']?.split(';')[0]?.trim().toLowerCase();
  return {
    operation,
    path: groups.path,
    query: groups.query,
    headers: groups.header,
    cookies: groups.cookie,
    body: bodyOf(request.body, mediaType),
    mediaType,
  };
}

function parameterValue(
  document: OpenApiDocument,
  parameter: Parameter,
  fromPath: Readonly<Record<string, string>>,
  query: Texts,
  headers: Readonly<Record<string, string>>,
): unknown {
  const { name, in: place } = parameter;
  if (place === 'query') return queryValue(document, parameter, query);
  const text =
    place === 'path' ? fromPath[name] : place === 'header' ? headers[name.toLowerCase()] : cookieOf(headers, name);
  return text === undefined ? undefined : fromText(document, parameter, text);
}

function queryValue(document: OpenApiDocument, parameter: Parameter, query: Texts): unknown {
  const { name, style, explode } = parameter;
  const schema = document.object(parameter.schema);
  const types = [schema.type].flat();
  if (style === 'deepObject') {
    const members = [...query.keys()].flatMap((key) => (key.startsWith(`${name}[`) && key.endsWith(']') ? [key] : []));
    if (members.length === 0) return undefined;
    return objectFrom(
      document,
      schema,
      members.map((key) => [key.slice(name.length + 1, -1), query.get(key) ?? '']),
    );
  }
  if (types.includes('object') && explode && parameter.mediaType === undefined) {
    const names = Object.keys(isObject(schema.properties) ? schema.properties : {}).filter((key) => query.has(key));
    return names.length === 0
      ? undefined
      : objectFrom(
          document,
          schema,
          names.map((key) => [key, query.get(key) ?? '']),
        );
  }
  if (!query.has(name)) return undefined;
  if (types.includes('array') && explode)
    return query.getAll(name).map((text) => typed(document, itemsOf(schema), text));
  const separator = style === 'pipeDelimited' ? '|' : style === 'spaceDelimited' ? ' ' : ',';
  return fromText(document, parameter, query.get(name) ?? '', separator);
}

/** Parses the text of a parameter or header. */
export function fromText(document: OpenApiDocument, parameter: Parameter, text: string, separator = ','): unknown {
  const schema = document.object(parameter.schema);
  const types = [schema.type].flat();
  if (parameter.mediaType !== undefined && isJson(parameter.mediaType)) return parsed(text);
  const bare =
    parameter.style === 'label'
      ? text.slice(1)
      : parameter.style === 'matrix'
        ? text.slice(text.indexOf('=') + 1)
        : text;
  if (types.includes('array'))
    return bare === ''
      ? []
      : bare
          .split(separator)
          .map((item) => typed(document, itemsOf(schema), parameter.in === 'header' ? item.trim() : item));
  if (types.includes('object')) {
    const parts = bare.split(separator);
    const pairs = parameter.explode
      ? parts.map((part) => part.split('=') as [string, string])
      : Array.from(
          { length: Math.floor(parts.length / 2) },
          (_, index) => [parts[index * 2] ?? '', parts[index * 2 + 1] ?? ''] as [string, string],
        );
    return objectFrom(document, schema, pairs);
  }
  return typed(document, schema, bare);
}

function objectFrom(
  document: OpenApiDocument,
  schema: JsonObject,
  pairs: readonly (readonly [string, string])[],
): JsonObject {
  const properties = isObject(schema.properties) ? schema.properties : {};
  return Object.fromEntries(
    pairs.map(([name, text]) => [
      name,
      typed(document, isObject(properties[name]) ? properties[name] : {}, text ?? ''),
    ]),
  );
}

function itemsOf(schema: JsonObject): JsonObject {
  return isObject(schema.items) ? schema.items : {};
}

export function pathTexts(template: string, path: string): Record<string, string> {
  const names = [...template.matchAll(/\{([^}]+)\}/g)].map(([, name]) => name ?? '');
  const match = pathPattern(template).exec(path);
  return Object.fromEntries(names.map((name, index) => [name, decoded(match?.[index + 1] ?? '')]));
}

/** A regular expression that matches the paths of a template. */
export function pathPattern(template: string): RegExp {
  const parts = template.split(/\{[^}]+\}/).map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('([^/]+)')}$`);
}

export function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function cookieOf(headers: Readonly<Record<string, string>>, name: string): string | undefined {
  const found = (headers.cookie ?? '')
    .split(';')
    .map((part) => part.trim().split('='))
    .find(([key]) => key === name);
  return found?.slice(1).join('=');
}

function bodyOf(text: string | undefined, mediaType: string | undefined): unknown {
  if (text === undefined || text === '') return undefined;
  return mediaType !== undefined && isJson(mediaType) ? parsed(text) : text;
}

function parsed(text: string): unknown {
  const json = parsedJson(text);
  return json === undefined ? text : json.value;
}
