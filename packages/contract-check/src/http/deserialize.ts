import type { OpenApiDocument } from '../document/document.ts';
import type { Parameter } from '../document/operation.ts';
import { at, isObject, type JsonObject, parsedJson } from '../json.ts';
import type { Validators } from '../schema/validators.ts';
import { type Call, type Exchange, isJson } from './call.ts';

/**
 * Evaluates an OpenAPI runtime expression.
 *
 * @param path the values of the request's path parameters.
 */
export function evaluate(expression: unknown, { request, response }: Exchange, path: Call['path'] = {}): unknown {
  if (typeof expression !== 'string' || !expression.startsWith('$')) return expression;
  const [source = '', pointer = ''] = expression.split('#');
  const name = source.replace(/^\$\w+\.\w+\./, '');
  if (source === '$response.body') return at(response.json?.value, pointer);
  if (source.startsWith('$response.header.')) return response.headers[name.toLowerCase()];
  if (source.startsWith('$request.query.')) return new URL(request.url).searchParams.get(name) ?? undefined;
  if (source.startsWith('$request.path.')) return path[name];
  return source === '$request.body' ? at(parsedJson(request.body)?.value, pointer) : undefined;
}

/** The schemas of a contract, and what accepts their values. */
interface Schemas {
  readonly document: OpenApiDocument;
  readonly validators: Validators;
}

/** Parses text as a server does: into a type that the schema accepts, or that it names. */
export function parsedAs({ document, validators }: Schemas, schema: JsonObject, text: string): unknown {
  const number = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?$/.test(text) ? [Number(text)] : [];
  const readings = [...number, ...(text === 'true' || text === 'false' ? [text === 'true'] : []), text];
  const types = [document.object(schema).type].flat().map((type) => (type === 'integer' ? 'number' : type));
  return (
    readings.find((reading) => validators.accepts(schema, reading, 'request')) ??
    readings.find((reading) => types.includes(typeof reading)) ??
    text
  );
}

/** Parses the text of a header. */
export function fromText(schemas: Schemas, { mediaType, explode, ...header }: Parameter, text: string): unknown {
  if (mediaType !== undefined && isJson(mediaType)) return (parsedJson(text) ?? { value: text }).value;
  const schema = schemas.document.object(header.schema);
  const types = [schema.type].flat();
  const parts = text === '' ? [] : text.split(',').map((part) => part.trim());
  const memberOf = (of: unknown, part: string) => parsedAs(schemas, isObject(of) ? of : {}, part);
  if (types.includes('array')) return parts.map((part) => memberOf(schema.items, part));
  if (!types.includes('object')) return parsedAs(schemas, header.schema, text);
  const pairs = explode
    ? parts.map((part) => part.split('='))
    : parts.flatMap((part, at) => (at % 2 === 0 ? [[part, parts[at + 1]]] : []));
  const properties = isObject(schema.properties) ? schema.properties : {};
  return Object.fromEntries(pairs.map(([name = '', value = '']) => [name, memberOf(properties[name], value)]));
}

export function pathTexts(template: string, path: string): Record<string, string> {
  const names = [...template.matchAll(/\{([^}]+)\}/g)].map(([, name]) => name ?? '');
  const match = pathPattern(template).exec(path);
  return Object.fromEntries(names.map((name, index) => [name, decoded(match?.[index + 1] ?? '')]));
}

/** A regular expression that matches the paths of a template. */
export function pathPattern(template: string, end = '', flags = ''): RegExp {
  const parts = template.split(/\{[^}]*\}/).map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('([^/]+)')}${end}$`, flags);
}

export function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
