import pluralize from 'pluralize';
import { nameIn } from '../document/discriminators.ts';
import type { OpenApiDocument } from '../document/document.ts';
import { flatRow } from '../document/envelopes.ts';
import type { Operation } from '../document/operation.ts';
import { type Shape, shapeOf } from '../document/shape.ts';
import { type Exchange, isSuccess } from '../http/call.ts';
import { isObject, type JsonObject, remembered } from '../json.ts';
import { responseSchema, View } from '../schema/view.ts';

const maxNames = 10_000;

/** Remembers what is derived from names, which a run asks again for each row. Bounded, because maps can have any number of names. */
function ofNames<Value>(derive: (name: string) => Value): (name: string) => Value {
  const known = new Map<string, Value>();
  return (name) => {
    if (known.size > maxNames) known.clear();
    return remembered(known, name, () => derive(name));
  };
}
/** The words of a name in lower case: `createdAt`, `created_at` and `filter[created-at]` contain `created` and `at`. */
export const wordsOf = ofNames((name): readonly string[] =>
  name
    .replaceAll(/([a-z\d])([A-Z])/g, '$1 $2')
    .replaceAll(/([A-Z])([A-Z][a-z])/g, '$1 $2')
    .split(/[^A-Za-z\d]+/)
    .filter((word) => word !== '')
    .map((word) => word.toLowerCase()),
);

/** A key for names that ignores case, separators and brackets. */
export function keyOfName(name: string | readonly string[]): string {
  return (typeof name === 'string' ? wordsOf(name) : name).join('');
}

/** A key that ignores plural: `Statuses` and `status` are equal. */
export function singularKey(words: readonly string[]): string {
  const last = words.at(-1);
  return [...words.slice(0, -1), ...(last === undefined ? [] : [pluralize.singular(last)])].join('');
}

/** Removes words that only group parameters: `filter[status]` becomes `status`. */
export function withoutContainer(words: readonly string[]): readonly string[] {
  const [first = '', ...rest] = words;
  return rest.length > 0 && /^(?:filters?|where|conditions?|criteria|by|query|options|params)$/.test(first)
    ? withoutContainer(rest)
    : words;
}

/**
 * Infers resource types and kinds of IDs from the names of schemas, paths and properties. Heuristics only: no finding
 * is based on a name alone.
 */

/** Normalizes a name: `contactInfos`, `contact_infos` and `ContactInfo` become `contactinfo`. */
export const singular = ofNames((name) => singularKey(wordsOf(name)));

/** The resource type that a property refers to: `client` for `clientId`, `client_ids` and `clientRef`. */
export function kindOfReference(name: string): string | undefined {
  const match = /^(.+?)[-_]?(?:id|ids|uuid|Id|IDs|Ids|ID|Sid|Ref|Refs|Uuid|UUID|Key)$/.exec(name);
  return match?.[1] === undefined ? undefined : singular(match[1].replace(/[-_]$/, ''));
}

/** The resource type that a property or parameter may name without an ID: `feature` for `featureName` and `features`. */
export function kindOfName(name: string): string {
  return singular(name.replace(/(?<=.)[-_]?(?:name|key|slug|code)s?$/i, ''));
}

export function isOwnId(name: string): boolean {
  return /^_?(?:id|sid|uuid|guid)$/i.test(name);
}

/** Whether a property has the version of its resource, such as `rowVersion`. */
export const isVersionName = (name: string) => /^_?(?:(?:(?:row|lock)[-_]?)?version|revision|rev|etag)$/i.test(name);

export function isNoReference(name: string): boolean {
  return !isOwnId(name) && kindOfReference(name) === undefined;
}

const verbs =
  /^(?:v\d+(?:\.\d+)*|api|rest|gql|graphql|search|query|find|filter|list|lookup|(?:batch|bulk)(?:[-_]?[a-z]+)?|create|update|upsert|delete|remove|by[-_].+|all|new|onboard)$/i;

/** The resource type of a path: its last noun, such as `pet` in `/v1/pets/search`. */
export function kindOfPath(path: string): string | undefined {
  const segments = path
    .replace(/(?<=[^/]):\w+$/, '')
    .split('/')
    .filter((segment) => segment !== '' && !segment.startsWith('{') && !verbs.test(segment));
  const last = segments.at(-1);
  return last === undefined ? undefined : singular(last);
}

/** The parameter that a path ends with, and the path of the collection that it selects from. */
export function itemOf(path: string): { readonly name: string; readonly collection: string } | undefined {
  const name = path.endsWith('}') ? lastParameter(path) : undefined;
  return name === undefined ? undefined : { name, collection: collectionPath(path, name) };
}

export function collectionPath(path: string, parameter: string): string {
  return path.slice(0, path.indexOf(`{${parameter}}`)).replace(/\/$/, '');
}

/** The resource types that a schema describes, by the names of its parts: `client` for `ClientDetails`. */
export function kindsOfSchema(document: OpenApiDocument, schema: JsonObject | undefined): string[] {
  const parts = schema === undefined ? [] : shapeOf(document, schema).sources;
  return [...new Set(parts.flatMap((part) => kindOfSchema(part) ?? []))];
}

function kindOfSchema({ $ref }: JsonObject): string | undefined {
  const name = nameIn($ref);
  return (
    name && singular(name.replace(/(?:Response|Result|Details?|Summary|Output|Read|Resource|Dto|DTO|Model|Base)$/, ''))
  );
}

export function kindsOfOperation(document: OpenApiDocument, operation: Operation): string[] {
  const rows = rowsOf(document, operation);
  const kinds = [...kindsOfSchema(document, rows?.schema ?? responseSchema(operation))];
  const path = kindOfPath(operation.path);
  const name = lastParameter(operation.path) ?? '';
  // The rows of `/tasks/project/{projectId}` are no projects.
  const isParent = operation.path.endsWith('}') && (isOwnId(name) || kindOfReference(name) === path);
  if (path !== undefined && !(isParent && rows !== undefined)) kinds.push(path);
  return [...new Set(kinds)];
}

/** Where a response contains its rows. */
export interface Rows {
  /** The property that holds the list; empty if the response itself is the list. */
  readonly member: string;
  readonly schema: JsonObject | undefined;
}

/**
 * The rows in a response with a status, or in the first success: the response itself if it is a list, otherwise its only
 * property that is a list of objects.
 */
export function rowsOf(document: OpenApiDocument, operation: Operation, status?: number): Rows | undefined {
  const schema = responseSchema(operation, status);
  if (schema === undefined) return undefined;
  const { properties, ...shape } = shapeOf(document, schema);
  if (isList(shape)) return listedIn(document, shape).map((rows) => ({ member: '', schema: rows }))[0];
  // Lists in a resource with an ID or a name are properties of the resource, not rows.
  if ([...properties.keys()].some((name) => isOwnId(name) || /^(?:name|key|slug)$/.test(name))) return undefined;
  const lists = [...properties].flatMap(([member, schemas]) =>
    listedIn(document, shapeOf(document, ...schemas)).map((rows) => ({ member, schema: rows })),
  );
  return lists.find(({ member }) => usualNames.test(member)) ?? (lists.length === 1 ? lists[0] : undefined);
}

export function rowsIn({ response }: Exchange, rows: Pick<Rows, 'member'> | undefined): JsonObject[] | undefined {
  const body = response.json?.value;
  const list = rows?.member === '' ? body : isObject(body) ? body[rows?.member ?? ''] : undefined;
  return isSuccess({ response }) && Array.isArray(list) ? list.filter(isObject).map(flatRow) : undefined;
}

const usualNames = /^(?:data|items|rows|results|records|content|list|entries|values|elements|collection)$/i;

const isList = ({ sources }: Pick<Shape, 'sources'>) => sources.some(({ type }) => [type].flat().includes('array'));

/** The schema of the objects in a list: none if it has none. */
function listedIn(document: OpenApiDocument, shape: Pick<Shape, 'sources' | 'items'>): JsonObject[] {
  const [items] = isList(shape) ? (shape.items ?? []) : [];
  const isOfObjects = View.of(document, items).parts.some(
    ({ type, properties }) => [type].flat().includes('object') || isObject(properties),
  );
  return items !== undefined && isOfObjects ? [items] : [];
}

/** Whether an operation returns a list, and not a resource that contains one. */
export function hasRows(document: OpenApiDocument, operation: Operation): boolean {
  if (rowsOf(document, operation) === undefined) return false;
  // A response with the ID of the resource is the resource itself, although it contains a list.
  const kind = kindOfPath(operation.path);
  const { names } = View.ofResponse(document, operation);
  return operation.method === 'GET' || !names.some((name) => kindOfReference(name) === kind);
}

export function isCreating(operation: Operation): boolean {
  return operation.method === 'POST' && !isReadingPost(operation) && !isDeleting(operation);
}

/** Whether PUT is the only way to create a resource of this collection. */
export function isPutCreation({ method, path, responses }: Operation, operations: readonly Operation[]): boolean {
  const collection = itemOf(path)?.collection;
  return (
    method === 'PUT' &&
    collection !== undefined &&
    responses.some(({ status }) => status === '201') &&
    !operations.some((one) => one.method === 'POST' && one.path === collection)
  );
}

export function pathNames(path: string): string[] {
  return [...path.matchAll(/\{([^}]+)\}/g)].map(([, name = '']) => name);
}

export function lastParameter(path: string): string | undefined {
  return /\{([^}]+)\}[^{}]*$/.exec(path)?.[1];
}

/** A DELETE, or a POST that deletes according to its name or path. */
export function isDeleting({ method, path, id }: Operation): boolean {
  const isNamed = /^(?:bulk|batch)?_?(?:delete|remove)/i.test(id) || /\/(?:delete|remove)[^/]*$/i.test(path);
  return method === 'DELETE' || (method === 'POST' && isNamed);
}

export function isReadingPost({ method, isReading }: Operation): boolean {
  return method === 'POST' && isReading;
}

export function isDestructive({ method }: Operation): boolean {
  return method === 'PUT' || method === 'PATCH' || method === 'DELETE';
}
