import { readFile } from 'node:fs/promises';
import { bundle, createConfig } from '@redocly/openapi-core';
import { parse } from 'yaml';

/** Any part of a contract that is not typed further. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header' | 'cookie';
  readonly required: boolean;
  readonly style: string;
  readonly explode: boolean;
  /** The parameter contains a document of this media type, not a styled value. */
  readonly media: string | undefined;
  readonly schema: JsonObject;
  readonly pointer: string;
}

export interface Media {
  readonly type: string;
  /** Undefined if the contract does not declare the content. */
  readonly schema: JsonObject | undefined;
  readonly pointer: string;
  readonly encoding: JsonObject;
}

export interface DeclaredResponse {
  readonly headers: readonly { name: string; required: boolean; schema: JsonObject; pointer: string }[];
  readonly media: readonly Media[];
}

export interface Operation {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly parameters: readonly Parameter[];
  readonly body: { readonly required: boolean; readonly media: readonly Media[] } | undefined;
  /** Alternatives, each with scheme names and required scopes. An empty alternative allows anonymous access. */
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly responses: ReadonlyMap<string, DeclaredResponse>;
}

export interface Contract {
  readonly document: JsonObject;
  readonly operations: readonly Operation[];
}

const methods = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace'];
const pathStyles: Readonly<Record<Parameter['in'], string>> = {
  path: 'simple',
  header: 'simple',
  query: 'form',
  cookie: 'form',
};

/** Reads a contract. Several files are bundled into one document. */
export async function readContract(file: string): Promise<Contract> {
  const single = parse(await readFile(file, 'utf8'), { merge: true }) as JsonObject;
  return indexContract(isSplit(single) ? await bundled(file) : single);
}

export function indexContract(document: JsonObject): Contract {
  const operations = Object.entries(object(document.paths)).flatMap(([path, item]) =>
    Object.keys(object(item))
      .filter((key) => methods.includes(key))
      .map((method) => operationAt(document, path, method)),
  );
  return { document, operations };
}

export function object(value: Json | undefined): JsonObject {
  return value !== null && typeof value === 'object' && !Array.isArray(value) ? value : {};
}

export function list(value: Json | undefined): Json[] {
  return Array.isArray(value) ? value : [];
}

/** The target of a pointer after following references, and its own pointer. */
export function follow(document: JsonObject, pointer: string): { value: JsonObject; pointer: string } {
  const value = object(
    pointer
      .slice(2)
      .split('/')
      .reduce<Json | undefined>((at, token) => (at as JsonObject | undefined)?.[unescapeToken(token)], document),
  );
  return typeof value.$ref === 'string' && Object.keys(value).length === 1
    ? follow(document, decodeURIComponent(value.$ref))
    : { value, pointer };
}

export function at(pointer: string, ...tokens: (string | number)[]): string {
  return [pointer, ...tokens.map((token) => String(token).replaceAll('~', '~0').replaceAll('/', '~1'))].join('/');
}

function unescapeToken(token: string): string {
  return token.replaceAll('~1', '/').replaceAll('~0', '~');
}

function isSplit(document: JsonObject): boolean {
  return /"\$ref":"[^#]/.test(JSON.stringify(document));
}

async function bundled(file: string): Promise<JsonObject> {
  const { bundle: result, problems } = await bundle({ ref: file, config: await createConfig({}) });
  if (problems.length > 0) throw new Error(problems.map(({ message }) => message).join('\n'));
  return JSON.parse(JSON.stringify(result.parsed)) as JsonObject;
}

function operationAt(document: JsonObject, path: string, method: string): Operation {
  const itemPointer = at('#', 'paths', path);
  const pointer = at(itemPointer, method);
  const value = follow(document, pointer).value;
  const own = parametersAt(document, at(pointer, 'parameters'), list(value.parameters).length);
  const shared = parametersAt(
    document,
    at(itemPointer, 'parameters'),
    list(follow(document, itemPointer).value.parameters).length,
  );
  const overridden = (parameter: Parameter) =>
    own.some((other) => other.name === parameter.name && other.in === parameter.in);
  return {
    id: String(value.operationId ?? `${method.toUpperCase()} ${path}`),
    method: method.toUpperCase(),
    path,
    parameters: [...own, ...shared.filter((parameter) => !overridden(parameter))],
    body: value.requestBody === undefined ? undefined : bodyAt(document, at(pointer, 'requestBody')),
    security: (value.security ?? document.security ?? []) as unknown as Operation['security'],
    responses: new Map(
      Object.keys(object(value.responses)).map((status) => [
        status,
        responseAt(document, at(pointer, 'responses', status)),
      ]),
    ),
  };
}

function parametersAt(document: JsonObject, pointer: string, count: number): Parameter[] {
  return Array.from({ length: count }, (_, index) => parameterAt(document, at(pointer, index)));
}

function parameterAt(document: JsonObject, from: string): Parameter {
  const { value, pointer } = follow(document, from);
  const place = value.in as Parameter['in'];
  const media = Object.keys(object(value.content))[0];
  const style = String(value.style ?? pathStyles[place]);
  const schemaPointer = media === undefined ? at(pointer, 'schema') : at(pointer, 'content', media, 'schema');
  return {
    name: String(value.name),
    in: place,
    required: value.required === true,
    style,
    explode: typeof value.explode === 'boolean' ? value.explode : style === 'form',
    media,
    schema: follow(document, schemaPointer).value,
    pointer: schemaPointer,
  };
}

function bodyAt(document: JsonObject, from: string): NonNullable<Operation['body']> {
  const { value, pointer } = follow(document, from);
  return { required: value.required === true, media: mediaAt(document, value, pointer) };
}

function responseAt(document: JsonObject, from: string): DeclaredResponse {
  const { value, pointer } = follow(document, from);
  const headers = Object.keys(object(value.headers)).map((name) => {
    const header = follow(document, at(pointer, 'headers', name));
    const schemaPointer = at(header.pointer, 'schema');
    return {
      name,
      required: header.value.required === true,
      schema: follow(document, schemaPointer).value,
      pointer: schemaPointer,
    };
  });
  return { headers, media: mediaAt(document, value, pointer) };
}

function mediaAt(document: JsonObject, value: JsonObject, pointer: string): Media[] {
  return Object.entries(object(value.content)).map(([type, media]) => {
    const schemaPointer = at(pointer, 'content', type, 'schema');
    const known = object(media).schema !== undefined;
    return {
      type,
      schema: known ? follow(document, schemaPointer).value : undefined,
      pointer: schemaPointer,
      encoding: object(object(media).encoding),
    };
  });
}
