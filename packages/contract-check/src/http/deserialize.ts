import type { OpenApiDocument } from '../document/document.ts';
import type { Parameter } from '../document/operation.ts';
import { isObject, type JsonObject, parsedJson } from '../json.ts';
import { isJson } from './call.ts';

/** Parses a text into the type of a schema, if possible. */
function typed(document: OpenApiDocument, schema: JsonObject, text: string): unknown {
  const types = [document.object(schema).type].flat();
  const isNumber = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?$/.test(text);
  if ((types.includes('integer') || types.includes('number')) && isNumber) return Number(text);
  if (types.includes('boolean') && (text === 'true' || text === 'false')) return text === 'true';
  return text;
}

/** Parses the text of a header. */
export function fromText(
  document: OpenApiDocument,
  { mediaType, explode, ...header }: Parameter,
  text: string,
): unknown {
  if (mediaType !== undefined && isJson(mediaType)) return (parsedJson(text) ?? { value: text }).value;
  const schema = document.object(header.schema);
  const types = [schema.type].flat();
  const parts = text === '' ? [] : text.split(',').map((part) => part.trim());
  const memberOf = (of: unknown, part: string) => typed(document, isObject(of) ? of : {}, part);
  if (types.includes('array')) return parts.map((part) => memberOf(schema.items, part));
  if (!types.includes('object')) return typed(document, schema, text);
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
