import type { OpenApiDocument } from '../document/document.ts';
import type { Operation } from '../document/operation.ts';
import { isObject, type JsonObject } from '../json.ts';
import { singularKey, wordsOf } from './words.ts';

/**
 * Infers resource types and kinds of IDs from the names of schemas, paths and properties. Heuristics only: no finding
 * is based on a name alone.
 */

/** Cache of normalized names. Bounded, because maps can have any number of names. */
const singulars = new Map<string, string>();
const maxNames = 10_000;

/** Normalizes a name: `contactInfos`, `contact_infos` and `ContactInfo` become `contactinfo`. */
export function singular(name: string): string {
  let known = singulars.get(name);
  if (known === undefined) {
    known = singularKey(wordsOf(name));
    if (singulars.size < maxNames) singulars.set(name, known);
  }
  return known;
}

/** The resource type that a property refers to: `client` for `clientId`, `client_ids` and `clientRef`. */
export function kindOfReference(name: string): string | undefined {
  const match = /^(.+?)[-_]?(?:id|ids|uuid|Id|IDs|Ids|ID|Ref|Refs|Uuid|UUID|Key)$/.exec(name);
  return match?.[1] === undefined ? undefined : singular(match[1].replace(/[-_]$/, ''));
}

/** The resource type that a property or parameter may name without an ID: `feature` for `featureName` and `features`. */
export function kindOfName(name: string): string {
  return singular(name.replace(/(?<=.)[-_]?(?:name|key|slug|code)s?$/i, ''));
}

/** Whether a property is the ID of the object that contains it. */
export function isOwnId(name: string): boolean {
  return /^_?(?:id|uuid|guid)$/i.test(name);
}

/** Whether a property neither identifies its object nor refers to another one. */
export function isNoReference(name: string): boolean {
  return !isOwnId(name) && kindOfReference(name) === undefined;
}

const verbs =
  /^(?:v\d+(?:\.\d+)*|api|rest|gql|graphql|search|query|find|filter|list|lookup|(?:batch|bulk)(?:[-_]?[a-z]+)?|create|update|upsert|delete|remove|by[-_].+|all|new|onboard)$/i;

/** The resource type of a path: its last noun, such as `pet` in `/v1/pets/search`. */
export function kindOfPath(path: string): string | undefined {
  const segments = path
    .split('/')
    .filter((segment) => segment !== '' && !segment.startsWith('{') && !verbs.test(segment));
  const last = segments.at(-1);
  return last === undefined ? undefined : singular(last);
}

/** The path of the collection that a parameter selects from. */
export function collectionPath(path: string, parameter: string): string {
  return path.slice(0, path.indexOf(`{${parameter}}`)).replace(/\/$/, '');
}

/** The resource types that a schema describes, by the names of its parts: `client` for `ClientDetails`. */
export function kindsOfSchema(document: OpenApiDocument, schema: JsonObject | undefined): string[] {
  const kinds = new Set<string>();
  const visit = (node: JsonObject, depth: number): void => {
    if (depth > 6) return;
    const [target] = document.referred(node);
    if (typeof node.$ref === 'string') {
      const name = nameOfReference(node.$ref);
      if (name !== undefined) kinds.add(name);
    }
    if (target !== undefined) visit(target, depth + 1);
    for (const part of Array.isArray(node.allOf) ? node.allOf.filter(isObject) : []) visit(part, depth + 1);
  };
  if (schema !== undefined) visit(schema, 0);
  return [...kinds];
}

function nameOfReference(reference: string): string | undefined {
  const last = reference
    .split(/[#/]/)
    .at(-1)
    ?.replace(/\.(?:ya?ml|json)$/, '');
  if (last === undefined || last === '') return undefined;
  return singular(last.replace(/(?:Response|Result|Details?|Summary|Output|Read|Resource|Dto|DTO|Model|Base)$/, ''));
}

/** The resource types of an operation, from its response schema and its path. */
export function kindsOfOperation(document: OpenApiDocument, operation: Operation): string[] {
  const success = operation.responses.find(({ status }) => status.startsWith('2'));
  const schema = success?.contents[0]?.schema;
  const rows = rowsSchema(document, schema);
  const kinds = [...kindsOfSchema(document, rows?.schema ?? schema)];
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
 * The rows of a response: the response itself if it is a list, otherwise its only property that is a list of objects.
 */
export function rowsSchema(document: OpenApiDocument, schema: JsonObject | undefined): Rows | undefined {
  if (schema === undefined) return undefined;
  const parts = partsOf(document, schema);
  if (parts.some((part) => [part.type].flat().includes('array'))) {
    const items = parts.map((part) => part.items).find(isObject);
    return items === undefined || !isObjectSchema(document, items) ? undefined : { member: '', schema: items };
  }
  const lists = parts.flatMap((part) =>
    Object.entries(isObject(part.properties) ? part.properties : {}).flatMap(([name, member]) => {
      if (!isObject(member)) return [];
      const inner = partsOf(document, member);
      if (!inner.some((one) => [one.type].flat().includes('array'))) return [];
      const items = inner.map((one) => one.items).find(isObject);
      return items !== undefined && isObjectSchema(document, items) ? [{ member: name, schema: items }] : [];
    }),
  );
  // Lists in a resource with an ID or a name are properties of the resource, not rows.
  const isId = (name: string) => isOwnId(name) || /^(?:name|key|slug)$/.test(name);
  const hasId = parts.some((part) => isObject(part.properties) && Object.keys(part.properties).some(isId));
  if (hasId) return undefined;
  return lists.find(({ member }) => usualNames.test(member)) ?? (lists.length === 1 ? lists[0] : undefined);
}

const usualNames = /^(?:data|items|rows|results|records|content|list|entries|values|elements|collection)$/i;

function isObjectSchema(document: OpenApiDocument, schema: JsonObject): boolean {
  const visit = (node: JsonObject, depth: number): boolean => {
    const parts = partsOf(document, node);
    if (parts.some((part) => [part.type].flat().includes('object') || isObject(part.properties))) return true;
    if (depth > 3) return false;
    return parts.some((part) =>
      ['oneOf', 'anyOf'].some(
        (key) => Array.isArray(part[key]) && part[key].some((branch) => isObject(branch) && visit(branch, depth + 1)),
      ),
    );
  };
  return visit(schema, 0);
}

/** A schema with its references and `allOf` parts. */
export function partsOf(document: OpenApiDocument, schema: JsonObject, depth = 0): JsonObject[] {
  if (depth > 20) return [];
  const inner = [...document.referred(schema), ...(Array.isArray(schema.allOf) ? schema.allOf.filter(isObject) : [])];
  return [schema, ...inner.flatMap((one) => partsOf(document, one, depth + 1))];
}

/** Whether the operation creates the resource that it returns. */
export function isCreating(operation: Operation): boolean {
  return operation.method === 'POST' && !isReadingPost(operation) && !isDeleting(operation);
}

/** Whether PUT is the only way to create a resource of this collection. */
export function isPutCreation({ method, path, responses }: Operation, operations: readonly Operation[]): boolean {
  const name = lastParameter(path);
  if (method !== 'PUT' || name === undefined || !path.endsWith(`{${name}}`)) return false;
  const collection = collectionPath(path, name);
  return (
    responses.some(({ status }) => status === '201') &&
    !operations.some((one) => one.method === 'POST' && one.path === collection)
  );
}

/** The names of the parameters of a path, in order. */
export function pathNames(path: string): string[] {
  return [...path.matchAll(/\{([^}]+)\}/g)].map(([, name = '']) => name);
}

/** The last parameter of a path, which selects the resource. */
export function lastParameter(path: string): string | undefined {
  return /\{([^}]+)\}[^{}]*$/.exec(path)?.[1];
}

/** A DELETE, or a POST that deletes according to its name or path. */
export function isDeleting({ method, path, id }: Operation): boolean {
  const isNamed = /^(?:bulk|batch)?_?(?:delete|remove)/i.test(id) || /\/(?:delete|remove)[^/]*$/i.test(path);
  return method === 'DELETE' || (method === 'POST' && isNamed);
}

/** A POST that only reads, such as a search or a list. */
export function isReadingPost({ method, path, id }: Operation): boolean {
  if (method !== 'POST') return false;
  return (
    /(?:search|query|list|lookup|find|filter|batch\/\{)/i.test(`${path} ${id}`) &&
    !/(?:create|upsert|update|delete)/i.test(id)
  );
}

/** Whether a call changes or deletes existing data. */
export function isDestructive({ method }: Operation): boolean {
  return method === 'PUT' || method === 'PATCH' || method === 'DELETE';
}
