import { type Contract, type Json, type JsonObject, list, type Operation, object, type Parameter } from './contract.ts';
import { rejection } from './rejection.ts';
import type { Judge } from './validate.ts';

/**
 * The parameters of a request by place and name, converted to the types of the contract. Missing ones have their
 * default.
 */
export interface Values {
  readonly path: JsonObject;
  readonly query: JsonObject;
  readonly header: JsonObject;
  readonly cookie: JsonObject;
}

/** Source of raw, still encoded parameters. */
export interface Sources {
  readonly path: Readonly<Record<string, string>>;
  readonly query: string;
  readonly headers: Readonly<Record<string, string>>;
}

type Pair = readonly [name: string, raw: string];
/** A value whose leaves are still texts. */
type Texts = string | string[] | { [name: string]: string };

/**
 * Reads every parameter of an operation.
 *
 * @throws Rejection with 400 if one is missing, malformed or invalid, or if a query parameter is not declared (unless
 * `lenient`).
 */
export function readParameters(
  contract: Contract,
  operation: Operation,
  sources: Sources,
  judge: Judge,
  lenient: boolean,
): Values {
  const values: { [Place in keyof Values]: JsonObject } = { path: {}, query: {}, header: {}, cookie: {} };
  const query = pairs(sources.query, '&');
  const cookies = pairs(sources.headers.cookie ?? '', /;\s*/);
  if (!lenient) rejectUnknown(operation, query);
  for (const parameter of operation.parameters) {
    if (isSpecialHeader(parameter)) continue;
    const value = readOne(contract, parameter, sources, parameter.in === 'cookie' ? cookies : query);
    if (value === undefined && parameter.required) throw missing(parameter);
    if (value === undefined) {
      if (parameter.schema.default !== undefined) values[parameter.in][parameter.name] = parameter.schema.default;
      continue;
    }
    const fault = judge(parameter.pointer, value);
    if (fault !== undefined) throw rejection(400, `${parameter.in} parameter ${parameter.name}: ${fault.message}`);
    values[parameter.in][parameter.name] = value;
  }
  return values;
}

/** OpenAPI ignores parameters with these names: other parts of the contract describe them. */
function isSpecialHeader({ in: place, name }: Parameter): boolean {
  return place === 'header' && ['accept', 'content-type', 'authorization'].includes(name.toLowerCase());
}

function missing(parameter: Parameter) {
  const status = parameter.in === 'header' && parameter.name.toLowerCase() === 'if-match' ? 428 : 400;
  return rejection(status, `${parameter.in} parameter ${parameter.name} is missing`);
}

function rejectUnknown(operation: Operation, query: readonly Pair[]): void {
  const declared = operation.parameters.filter((parameter) => parameter.in === 'query');
  const unknown = query.find(([name]) => !declared.some((parameter) => names(parameter, name)));
  if (unknown !== undefined) throw rejection(400, `query parameter ${unknown[0]} is not known`);
}

function names(parameter: Parameter, name: string): boolean {
  if (parameter.style === 'deepObject') return name.startsWith(`${parameter.name}[`) && name.endsWith(']');
  if (isExplodedObject(parameter)) return Object.hasOwn(object(parameter.schema.properties), name);
  return name === parameter.name;
}

function isExplodedObject(parameter: Parameter): boolean {
  return parameter.media === undefined && parameter.style === 'form' && parameter.explode && isObject(parameter.schema);
}

function readOne(
  contract: Contract,
  parameter: Parameter,
  sources: Sources,
  fields: readonly Pair[],
): Json | undefined {
  if (parameter.media !== undefined) return document(rawOf(parameter, sources, fields));
  const texts =
    parameter.in === 'path' || parameter.in === 'header'
      ? segment(parameter, rawOf(parameter, sources, fields))
      : field(parameter, fields);
  return texts === undefined ? undefined : typed(contract, parameter.schema, texts);
}

function rawOf(parameter: Parameter, sources: Sources, fields: readonly Pair[]): string | undefined {
  if (parameter.in === 'path') return sources.path[parameter.name];
  // Headers are not encoded. They are encoded here so that the same code can parse them.
  if (parameter.in === 'header') {
    const text = sources.headers[parameter.name.toLowerCase()];
    return text === undefined ? undefined : encodeHeader(text);
  }
  return single(
    parameter,
    fields.filter(([name]) => name === parameter.name),
  );
}

/** Escapes what {@link decode} would decode. */
function encodeHeader(text: string): string {
  return text.replaceAll('%', '%25').replaceAll('+', '%2B');
}

function single(parameter: Parameter, fields: readonly Pair[]): string | undefined {
  if (fields.length > 1) throw rejection(400, `${parameter.in} parameter ${parameter.name} is there more than once`);
  return fields[0]?.[1];
}

function document(raw: string | undefined): Json | undefined {
  if (raw === undefined) return undefined;
  try {
    return JSON.parse(decode(raw)) as Json;
  } catch {
    throw rejection(400, 'a parameter is not the JSON that it must be');
  }
}

/** Query and cookie: `form`, `deepObject`, `pipeDelimited`, `spaceDelimited`. */
function field(parameter: Parameter, fields: readonly Pair[]): Texts | undefined {
  if (parameter.style === 'deepObject') return deepObject(parameter, fields);
  if (isExplodedObject(parameter)) return explodedObject(parameter, fields);
  const own = fields.filter(([name]) => name === parameter.name);
  if (isArray(parameter.schema) && parameter.explode && parameter.style === 'form') {
    return own.length === 0 ? undefined : own.map(([, raw]) => decode(raw));
  }
  const raw = single(parameter, own);
  return raw === undefined ? undefined : delimited(parameter, raw, separators[parameter.style] ?? ',');
}

// Clients may encode these delimiters or not; both forms separate values.
const separators: Readonly<Record<string, RegExp>> = { pipeDelimited: /\||%7C/i, spaceDelimited: / |\+|%20/ };

function deepObject(parameter: Parameter, fields: readonly Pair[]): Texts | undefined {
  const own = fields.filter(([name]) => names(parameter, name));
  return own.length === 0
    ? undefined
    : unique(own.map(([name, raw]) => [name.slice(parameter.name.length + 1, -1), decode(raw)]));
}

function explodedObject(parameter: Parameter, fields: readonly Pair[]): Texts | undefined {
  const own = fields.filter(([name]) => names(parameter, name));
  return own.length === 0 ? undefined : unique(own.map(([name, raw]) => [name, decode(raw)]));
}

/** Path and header: `simple`, `label`, `matrix`. */
function segment(parameter: Parameter, raw: string | undefined): Texts | undefined {
  if (raw === undefined) return undefined;
  if (parameter.style === 'label') return label(parameter, raw);
  if (parameter.style === 'matrix') return matrix(parameter, raw);
  return parameter.explode && isObject(parameter.schema) ? assignments(raw.split(',')) : delimited(parameter, raw, ',');
}

function label(parameter: Parameter, raw: string): Texts {
  if (!raw.startsWith('.')) throw malformed(parameter);
  const rest = raw.slice(1);
  if (parameter.explode && isObject(parameter.schema)) return assignments(rest.split('.'));
  return delimited(parameter, rest, parameter.explode ? '.' : ',');
}

function matrix(parameter: Parameter, raw: string): Texts {
  if (!raw.startsWith(';')) throw malformed(parameter);
  const parts = raw.slice(1).split(';');
  if (parameter.explode && isObject(parameter.schema)) return assignments(parts);
  const prefix = `${parameter.name}=`;
  if (parts.some((part) => !part.startsWith(prefix))) throw malformed(parameter);
  const remainders = parts.map((part) => part.slice(prefix.length));
  if (parameter.explode && isArray(parameter.schema)) return remainders.map(decode);
  if (remainders.length !== 1) throw malformed(parameter);
  return delimited(parameter, remainders[0] ?? '', ',');
}

function malformed(parameter: Parameter) {
  return rejection(400, `${parameter.in} parameter ${parameter.name} is not in the style ${parameter.style}`);
}

function delimited(parameter: Parameter, raw: string, separator: string | RegExp): Texts {
  if (isArray(parameter.schema)) return raw === '' ? [] : raw.split(separator).map((part) => decode(part.trim()));
  if (!isObject(parameter.schema)) return decode(raw);
  const parts = raw.split(separator).map(decode);
  if (parts.length % 2 !== 0) throw malformed(parameter);
  return unique(parts.flatMap((part, index) => (index % 2 === 0 ? [[part, parts[index + 1] ?? '']] : [])));
}

function assignments(parts: readonly string[]): Texts {
  return unique(
    parts.map((part) => {
      const index = part.indexOf('=');
      if (index < 0) throw rejection(400, 'a parameter is not made of assignments');
      return [decode(part.slice(0, index)), decode(part.slice(index + 1))];
    }),
  );
}

function unique(entries: string[][]): { [name: string]: string } {
  if (new Set(entries.map(([name]) => name)).size < entries.length) throw rejection(400, 'a name is there twice');
  return Object.fromEntries(entries);
}

function pairs(text: string, separator: string | RegExp): Pair[] {
  return text
    .split(separator)
    .filter((part) => part !== '')
    .map((part) => {
      const index = part.indexOf('=');
      return index < 0 ? [decode(part), ''] : [decode(part.slice(0, index)), part.slice(index + 1)];
    });
}

/** @throws Rejection with 400 if the percent-encoding is malformed. */
export function decode(raw: string): string {
  try {
    return decodeURIComponent(raw.replaceAll('+', ' '));
  } catch {
    throw rejection(400, 'the percent-encoding is broken');
  }
}

/** Converts texts to the types of the schema. A text that cannot be converted is kept, and the schema rejects it. */
export function typed(contract: Contract, schema: JsonObject, texts: Texts): Json {
  const plain = resolved(contract, schema);
  if (typeof texts === 'string') return scalar(plain, texts);
  if (Array.isArray(texts)) return texts.map((text) => scalar(resolved(contract, object(plain.items)), text));
  return Object.fromEntries(
    Object.entries(texts).map(([name, text]) => [
      name,
      scalar(resolved(contract, object(object(plain.properties)[name])), text),
    ]),
  );
}

/** The schema after following references. */
export function resolved(contract: Contract, schema: JsonObject): JsonObject {
  if (typeof schema.$ref !== 'string') return schema;
  return schema.$ref
    .slice(2)
    .split('/')
    .reduce<JsonObject>((value, token) => object(value[decodeURIComponent(token)]), contract.document);
}

export function scalar(schema: JsonObject, text: string): Json {
  const types = typesOf(schema);
  if (types.includes('integer') && /^-?(0|[1-9]\d*)$/.test(text)) return Number(text);
  if (types.includes('number') && /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/.test(text)) return finite(text);
  if (types.includes('boolean') && (text === 'true' || text === 'false')) return text === 'true';
  return text;
}

function finite(text: string): Json {
  return Number.isFinite(Number(text)) ? Number(text) : text;
}

function typesOf(schema: JsonObject): string[] {
  return (Array.isArray(schema.type) ? list(schema.type) : [schema.type ?? '']).map(String);
}

function isArray(schema: JsonObject): boolean {
  return typesOf(schema).includes('array');
}

function isObject(schema: JsonObject): boolean {
  return typesOf(schema).includes('object');
}
