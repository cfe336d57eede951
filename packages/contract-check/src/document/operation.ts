import { isObject, type JsonObject } from '../json.ts';
import type { OpenApiDocument } from './document.ts';

export type ParameterPlace = 'path' | 'query' | 'header' | 'cookie';

export interface Parameter {
  readonly name: string;
  readonly in: ParameterPlace;
  readonly required: boolean;
  readonly schema: JsonObject;
  /** The media type of a parameter with `content`. */
  readonly mediaType: string | undefined;
  readonly style: string;
  readonly explode: boolean;
  readonly allowReserved: boolean;
  readonly examples: readonly unknown[];
  readonly node: JsonObject;
}

export interface Content {
  readonly mediaType: string;
  readonly schema: JsonObject | undefined;
  readonly examples: readonly unknown[];
  readonly node: JsonObject;
}

export interface DeclaredResponse {
  /** `200`, `4XX` or `default`. */
  readonly status: string;
  readonly contents: readonly Content[];
  readonly headers: readonly Parameter[];
  readonly links: Readonly<Record<string, JsonObject>>;
  readonly node: JsonObject;
}

/** An operation with resolved references. */
export interface Operation {
  /** The `operationId`, or method and path without one. */
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly tags: readonly string[];
  readonly parameters: readonly Parameter[];
  readonly body:
    | { readonly required: boolean; readonly contents: readonly Content[]; readonly node: JsonObject }
    | undefined;
  readonly responses: readonly DeclaredResponse[];
  /** Alternatives, each with the required schemes. An empty alternative allows anonymous access. */
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly node: JsonObject;
}

const methods = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace'] as const;

/** The operations of a document, in the order of its paths. */
export function operationsOf(document: OpenApiDocument): Operation[] {
  const operations: Operation[] = [];
  for (const [path, reference] of Object.entries(document.object(document.root.paths))) {
    if (!path.startsWith('/')) continue;
    const item = document.object(reference);
    for (const method of methods) {
      if (isObject(item[method])) operations.push(operationOf(document, path, method, item, item[method]));
    }
  }
  return operations;
}

function operationOf(
  document: OpenApiDocument,
  path: string,
  method: string,
  item: JsonObject,
  node: JsonObject,
): Operation {
  const own = parametersOf(document, node.parameters);
  const shared = parametersOf(document, item.parameters).filter(
    (one) => !own.some((other) => other.in === one.in && other.name === one.name),
  );
  const security = node.security ?? document.root.security;
  return {
    id: typeof node.operationId === 'string' ? node.operationId : `${method.toUpperCase()} ${path}`,
    method: method.toUpperCase(),
    path,
    tags: texts(node.tags),
    parameters: [...shared, ...own],
    body: bodyOf(document, node.requestBody),
    responses: responsesOf(document, node.responses),
    security: Array.isArray(security) ? security.filter(isObject).map(scopesOf) : [],
    node,
  };
}

function parametersOf(document: OpenApiDocument, list: unknown): Parameter[] {
  if (!Array.isArray(list)) return [];
  return list
    .map((one) => document.object(one))
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
  return { required: node.required === true, contents: contentsOf(document, node.content), node };
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

function contentsOf(document: OpenApiDocument, content: unknown): Content[] {
  return Object.entries(document.object(content)).map(([mediaType, reference]) => {
    const node = document.object(reference);
    const schema = isObject(node.schema) ? node.schema : undefined;
    return { mediaType, schema, examples: examplesOf(document, node), node };
  });
}

/** The examples next to a schema and within it. */
function examplesOf(document: OpenApiDocument, node: JsonObject): unknown[] {
  const named = Object.values(document.object(node.examples)).map((one) => document.object(one).value);
  const schema = document.object(node.schema);
  const own = Array.isArray(schema.examples) ? schema.examples : 'example' in schema ? [schema.example] : [];
  return [...('example' in node ? [node.example] : []), ...named, ...own].filter((one) => one !== undefined);
}

function scopesOf(alternative: JsonObject): Record<string, string[]> {
  return Object.fromEntries(Object.entries(alternative).map(([scheme, scopes]) => [scheme, texts(scopes)]));
}

function texts(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
}

/** The part of a call that has the value of a parameter. */
export function groupOf({ in: place }: Pick<Parameter, 'in'>): 'path' | 'query' | 'headers' | 'cookies' {
  return place === 'header' ? 'headers' : place === 'cookie' ? 'cookies' : place;
}

/** The `x-contract-check` extension of an object in the document. */
export function extensionOf(node: JsonObject): JsonObject {
  const extension = node['x-contract-check'];
  return isObject(extension) ? extension : {};
}
