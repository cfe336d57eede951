import { isObject, type JsonObject, textsIn } from '../json.ts';
import type { OpenApiDocument } from './document.ts';
import { flattened } from './envelopes.ts';
import { wholeShapeOf } from './shape.ts';

export type ParameterPlace = 'path' | 'query' | 'header' | 'cookie';

export interface Parameter {
  readonly name: string;
  readonly in: ParameterPlace;
  readonly required: boolean;
  readonly schema: JsonObject;
  readonly mediaType: string | undefined;
  readonly style: string;
  readonly explode: boolean;
  readonly allowReserved: boolean;
  readonly examples: readonly unknown[];
  readonly node: JsonObject;
}

export interface Content {
  /** In a request, one within the range that is declared. */
  readonly mediaType: string;
  /** The declared media type, or range of media types. */
  readonly declared: string;
  readonly schema: JsonObject | undefined;
  /** That of a document of JSON:API with its resources as plain objects. */
  readonly flat: JsonObject | undefined;
  /** The schema of each item of a stream (OpenAPI 3.2). */
  readonly itemSchema: JsonObject | undefined;
  readonly fields: ReadonlyMap<string, Field>;
  readonly examples: readonly unknown[];
  readonly node: JsonObject;
}

export interface Field {
  /** Of a part of a multipart body. A part with another one than text or JSON is a file. */
  readonly mediaType: string | undefined;
  readonly style: string | undefined;
  readonly explode: boolean;
}

export interface DeclaredResponse {
  /** `200`, `4XX` or `default`. */
  readonly status: string;
  readonly contents: readonly Content[];
  readonly headers: readonly Parameter[];
  readonly links: Readonly<Record<string, JsonObject>>;
  readonly node: JsonObject;
}

export interface Operation {
  /** The `operationId`, or method and path without one. */
  readonly id: string;
  readonly method: string;
  /** Without the extension of its last segment, or the slash at its end. */
  readonly path: string;
  /** `.json` in `/accounts/{id}.json`, otherwise empty. */
  readonly extension: string;
  readonly tags: readonly string[];
  readonly parameters: readonly Parameter[];
  readonly body:
    | { readonly required: boolean; readonly contents: readonly Content[]; readonly node: JsonObject }
    | undefined;
  readonly responses: readonly DeclaredResponse[];
  /** Alternatives, each with the required schemes. An empty alternative allows anonymous access. */
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  /** Whether it only reads, by its method, its path, or `x-contract-check`. */
  readonly isReading: boolean;
  readonly node: JsonObject;
}

/** Methods without side effects (RFC 9110, 9.2.1; for QUERY, draft-ietf-httpbis-safe-method-w-body). */
export const safeMethods: readonly string[] = ['GET', 'HEAD', 'OPTIONS', 'TRACE', 'QUERY'];

const methods = ['get', 'query', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace'];

export function operationsOf(document: OpenApiDocument): Operation[] {
  const paths = Object.keys(document.object(document.root.paths));
  // Of Django and FastAPI, a slash.
  const extensionIn = (path: string) => /\.(?:json|xml)$|(?<=.)\/$/.exec(path)?.[0] ?? '';
  const isAlone = (path: string) => !paths.includes(path.slice(0, -extensionIn(path).length));
  const operations: Operation[] = [];
  for (const [path, reference] of Object.entries(document.object(document.root.paths))) {
    if (!path.startsWith('/')) continue;
    const item = document.object(reference);
    const nodes = methods.map((method) => [method, item[method]] as const);
    for (const [method, one] of [...nodes, ...Object.entries(document.object(item.additionalOperations))]) {
      // Documents of several files can have a file for each operation.
      const node = document.resolve(one);
      if (isObject(node))
        operations.push(operationOf(document, path, isAlone(path) ? extensionIn(path) : '', method, item, node, paths));
    }
  }
  return operations;
}

function operationOf(
  document: OpenApiDocument,
  address: string,
  extension: string,
  method: string,
  item: JsonObject,
  node: JsonObject,
  paths: readonly string[],
): Operation {
  const own = parametersOf(document, node.parameters);
  const shared = parametersOf(document, item.parameters).filter(
    (one) => !own.some((other) => other.in === one.in && other.name === one.name),
  );
  const security = node.security ?? document.root.security;
  const path = address.slice(0, address.length - extension.length);
  const responses = responsesOf(document, node.responses);
  const { effect } = extensionOf(node);
  const isReading =
    effect === 'read' ||
    safeMethods.includes(method.toUpperCase()) ||
    (effect === undefined && method === 'post' && isReadingPost(path, paths, responses));
  return {
    id: typeof node.operationId === 'string' ? node.operationId : `${method.toUpperCase()} ${address}`,
    method: method.toUpperCase(),
    path,
    extension,
    tags: textsIn(node.tags),
    parameters: [...shared, ...own],
    body: bodyOf(document, node.requestBody),
    responses,
    security: Array.isArray(security) ? security.filter(isObject).map(scopesOf) : [],
    isReading,
    node,
  };
}

/**
 * Whether a POST only reads: the last segment of its path is exactly a word for reading, such as `/clients/search`, it
 * names no collection of its own, such as `/filter` beside `/filter/{id}`, and it returns something without creating.
 */
function isReadingPost(path: string, paths: readonly string[], responses: readonly DeclaredResponse[]): boolean {
  const isWord = /^_?(?:search|query|find|list|filter|lookup|get|count)$/i.test(lastSegment(path));
  const isCollection = paths.some((other) => other.startsWith(`${path}/{`));
  const successes = responses.filter(({ status }) => /^2/.test(status));
  const isReturning = successes.some(({ status, contents }) => /^2(?:00|XX)$/i.test(status) && contents.length > 0);
  return isWord && !isCollection && isReturning && !successes.some(({ status }) => /^20[12]$/.test(status));
}

export const addressOf = ({ path, extension }: Pick<Operation, 'path' | 'extension'>) => `${path}${extension}`;

export const pathParameter = ({ parameters }: Operation, name: string | undefined) =>
  parameters.find((one) => one.in === 'path' && one.name === name);

export const readAt = (operations: readonly Operation[], path: string | undefined) =>
  operations.find((one) => one.method === 'GET' && one.path === path);

/** `search` in `/clients/search` and `/clients:search`. */
export function lastSegment(path: string): string {
  return /[^/:]*$/.exec(path)?.[0] ?? '';
}

/** Without the headers that OpenAPI describes elsewhere, and ignores here. */
function parametersOf(document: OpenApiDocument, list: unknown): Parameter[] {
  if (!Array.isArray(list)) return [];
  const isIgnored = ({ in: place, name }: JsonObject) =>
    place === 'header' && /^(?:accept|content-type|authorization)$/i.test(String(name));
  return list
    .map((one) => document.object(one))
    .filter((node) => !isIgnored(node))
    .map((node) => parameterOf(document, node, String(node.name), node.in as ParameterPlace));
}

function parameterOf(document: OpenApiDocument, node: JsonObject, name: string, place: ParameterPlace): Parameter {
  const [mediaType, media] = Object.entries(document.object(node.content))[0] ?? [];
  const described = mediaType === undefined ? node : document.object(media);
  const style =
    typeof node.style === 'string' ? node.style : place === 'query' || place === 'cookie' ? 'form' : 'simple';
  return {
    name,
    in: place,
    required: node.required === true || place === 'path',
    schema: isObject(described.schema) ? described.schema : {},
    mediaType,
    style,
    explode: typeof node.explode === 'boolean' ? node.explode : style === 'form',
    allowReserved: node.allowReserved === true,
    examples: examplesOf(document, described),
    node,
  };
}

function bodyOf(document: OpenApiDocument, reference: unknown): Operation['body'] {
  if (reference === undefined) return undefined;
  const node = document.object(reference);
  return { required: node.required === true, contents: contentsOf(document, node.content, true), node };
}

function responsesOf(document: OpenApiDocument, responses: unknown): DeclaredResponse[] {
  return Object.entries(document.object(responses))
    .filter(([status]) => !status.startsWith('x-'))
    .map(([status, reference]) => {
      const node = document.object(reference);
      const headers = Object.entries(document.object(node.headers)).map(([name, header]) =>
        parameterOf(document, document.object(header), name, 'header'),
      );
      const links = Object.entries(document.object(node.links)).map(
        ([name, link]) => [name, document.object(link)] as const,
      );
      return { status, contents: contentsOf(document, node.content), headers, links: Object.fromEntries(links), node };
    });
}

function contentsOf(document: OpenApiDocument, content: unknown, isSent = false): Content[] {
  return Object.entries(document.object(content)).map(([declared, reference]) => {
    const node = document.object(reference);
    const [schema, itemSchema] = [node.schema, node.itemSchema].map((one) => (isObject(one) ? one : undefined));
    const fields =
      isSent && schema !== undefined ? fieldsOf(document, schema, document.object(node.encoding)) : new Map();
    const mediaType = isSent ? typeWithin(declared) : declared;
    const flat = schema && flattened(document, schema);
    return { mediaType, declared, schema, flat, itemSchema, fields, examples: examplesOf(document, node), node };
  });
}

/** A media type within a range: JSON, if that is possible. */
function typeWithin(range: string): string {
  if (!range.includes('*')) return range;
  const [type, subtype = ''] = range.split('/');
  if (subtype.startsWith('*+')) return `${type === '*' ? 'application' : type}/vnd.contract-check${subtype.slice(1)}`;
  return ['*', 'application'].includes(type ?? '') ? 'application/json' : `${type}/plain`;
}

/** How the properties of a body are written, by its `encoding`, and in multipart bodies by their schemas. */
function fieldsOf(document: OpenApiDocument, schema: JsonObject, encoding: JsonObject): Map<string, Field> {
  const names = new Set([...wholeShapeOf(document, schema).properties.keys(), ...Object.keys(encoding)]);
  const fields = [...names].flatMap((name): [string, Field][] => {
    const { contentType, style, explode } = document.object(encoding[name]);
    const own = typeof contentType === 'string' ? (contentType.split(',')[0] ?? '').trim() : undefined;
    const mediaType = own ?? mediaTypeOf(document, wholeShapeOf(document, schema).properties.get(name) ?? []);
    if (mediaType === undefined && typeof style !== 'string') return [];
    const isExploded = typeof explode === 'boolean' ? explode : style === undefined || style === 'form';
    return [[name, { mediaType, style: typeof style === 'string' ? style : undefined, explode: isExploded }]];
  });
  return new Map(fields);
}

function mediaTypeOf(document: OpenApiDocument, schemas: readonly JsonObject[]): string | undefined {
  const shape = wholeShapeOf(document, ...schemas);
  const sources = [...shape.sources, ...wholeShapeOf(document, ...(shape.items ?? [])).sources];
  const declared = sources.map(({ contentMediaType }) => contentMediaType).find((one) => typeof one === 'string');
  return declared ?? (sources.some(({ format }) => format === 'binary') ? 'application/octet-stream' : undefined);
}

function examplesOf(document: OpenApiDocument, node: JsonObject): unknown[] {
  const named = Object.values(document.object(node.examples)).map((one) => document.object(one).value);
  const schema = document.object(node.schema);
  const own = Array.isArray(schema.examples) ? schema.examples : 'example' in schema ? [schema.example] : [];
  return [...('example' in node ? [node.example] : []), ...named, ...own].filter((one) => one !== undefined);
}

function scopesOf(alternative: JsonObject): Record<string, string[]> {
  return Object.fromEntries(Object.entries(alternative).map(([scheme, scopes]) => [scheme, textsIn(scopes)]));
}

export function groupOf({ in: place }: Pick<Parameter, 'in'>): 'path' | 'query' | 'headers' | 'cookies' {
  return place === 'header' ? 'headers' : place === 'cookie' ? 'cookies' : place;
}

export function extensionOf(node: JsonObject): JsonObject {
  const extension = node['x-contract-check'];
  return isObject(extension) ? extension : {};
}
