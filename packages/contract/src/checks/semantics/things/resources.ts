import type { OpenApiDocument } from '../../../document/document.ts';
import type { Operation } from '../../../document/operation.ts';
import {
  collectionPath,
  isReadingPost,
  kindOfPath,
  kindOfReference,
  kindsOfSchema,
  rowsSchema,
  singular,
} from '../../../run/names.ts';
import { lastParameter } from '../../../run/pool.ts';
import { answerSchema, memberNames } from './schema.ts';
import { saidFlag, saidKind } from './vocabulary.ts';

/** A kind of thing that a caller can make, and what else can be done with one. */
export interface Resource {
  readonly kind: string;
  readonly create: Operation;
  readonly read: Operation | undefined;
  /** Whether paths, links or the contract say that what is created can be read there, and not names alone. */
  readonly isReadSure: boolean;
  readonly updates: readonly Operation[];
  readonly remove: Operation | undefined;
  readonly lists: readonly Operation[];
}

/** The resources of a contract, as paths, links and names tell. Nothing here becomes a finding by itself. */
export function resourcesOf(document: OpenApiDocument, operations: readonly Operation[]): Resource[] {
  return operations
    .filter((operation) => isCreation(document, operation))
    .map((create) => resourceOf(document, operations, create));
}

function resourceOf(document: OpenApiDocument, operations: readonly Operation[], create: Operation): Resource {
  const kind = kindOf(create, 'creates') ?? '';
  const items = operations.filter((one) => isOfItem(one, create, kind));
  const sure = operations.find((one) => one.method === 'GET' && isSurelyRead(document, one, create));
  const read =
    sure ?? items.find((one) => one.method === 'GET' && saidKind(one, 'reads') !== false && !hasRows(document, one));
  const updates = items.filter(
    (one) =>
      saidKind(one, 'updates') !== false &&
      (['PATCH', 'PUT'].includes(one.method) || (one.method === 'POST' && /\/(?:update|edit|modify)$/.test(one.path))),
  );
  const remove = items.find((one) => one.method === 'DELETE' && saidKind(one, 'deletes') !== false);
  return {
    kind,
    create,
    read,
    isReadSure: sure !== undefined,
    updates,
    remove,
    lists: listsOf(document, operations, create, read, kind),
  };
}

function isCreation(document: OpenApiDocument, operation: Operation): boolean {
  const said = saidKind(operation, 'creates');
  if (said !== undefined) return said !== false;
  if (operation.method !== 'POST' || isReadingPost(operation) || operation.path.endsWith('}')) return false;
  if (
    /\/(?:update|edit|modify|upsert|delete|remove|cancel|validate|test|login|logout|token|bulk|batch)(?:\/|$)/i.test(
      operation.path,
    )
  )
    return false;
  if (!operation.answers.some(({ status }) => status === '201' || status === '200' || status === '202')) return false;
  return !hasRows(document, operation);
}

function kindOf(operation: Operation, member: Parameters<typeof saidKind>[1]): string | undefined {
  const said = saidKind(operation, member);
  return typeof said === 'string' ? singular(said) : kindOfPath(operation.path);
}

/** Whether an operation works on one of what another creates: beneath its path, or of its kind. */
function isOfItem(operation: Operation, create: Operation, kind: string): boolean {
  const path = operation.path.replace(/\/(?:update|edit|modify)$/, '');
  const name = lastParameter(path);
  if (name === undefined || !path.endsWith(`{${name}}`)) return false;
  const collection = collectionPath(path, name);
  const members = { GET: 'reads', DELETE: 'deletes', PUT: 'updates', PATCH: 'updates', POST: 'updates' } as const;
  const member = members[operation.method as keyof typeof members];
  if (member === undefined) return false;
  const said = saidKind(operation, member);
  if (typeof said === 'string') return singular(said) === kind;
  if (collection === create.path) return true;
  return !create.path.includes('{') && !collection.includes('{') && kindOfPath(collection) === kind;
}

function isSurelyRead(document: OpenApiDocument, read: Operation, create: Operation): boolean {
  const name = lastParameter(read.path);
  if (
    name === undefined ||
    !read.path.endsWith(`{${name}}`) ||
    hasRows(document, read) ||
    saidKind(read, 'reads') === false
  )
    return false;
  return collectionPath(read.path, name) === create.path || isLinked(create, read);
}

/** Whether a declared link leads from one operation to another. */
function isLinked(from: Operation, to: Operation): boolean {
  return from.answers
    .filter(({ status }) => status.startsWith('2'))
    .some(({ links }) => Object.values(links).some(({ operationId }) => operationId === to.id));
}

function listsOf(
  document: OpenApiDocument,
  operations: readonly Operation[],
  create: Operation,
  read: Operation | undefined,
  kind: string,
): Operation[] {
  const schemas = read === undefined ? [] : kindsOfSchema(document, answerSchema(read));
  return operations.filter((operation) => {
    if (operation.method !== 'GET' && !isReadingPost(operation)) return false;
    const rows = rowsSchema(document, answerSchema(operation));
    const said = saidKind(operation, 'lists');
    if (rows === undefined || said === false) return false;
    if (typeof said === 'string') return singular(said) === kind;
    if (operation.path === create.path) return true;
    if (operation.path.includes('{') || kindOfPath(operation.path) !== kind) return false;
    return kindsOfSchema(document, rows.schema).some((one) => schemas.includes(one));
  });
}

export function hasRows(document: OpenApiDocument, operation: Operation): boolean {
  const schema = answerSchema(operation);
  if (rowsSchema(document, schema) === undefined) return false;
  // What names the id of the thing itself is the thing, with a list in it.
  const kind = kindOfPath(operation.path);
  return operation.method === 'GET' || !memberNames(document, schema).some((name) => kindOfReference(name) === kind);
}

/** Whether an update keeps what it is not sent: a PATCH does; a PUT where the contract says so in words. */
export function keepsTheRest(document: OpenApiDocument, operation: Operation): boolean {
  const said = saidFlag(operation, 'merges');
  if (said !== undefined) return said;
  if (operation.method === 'PATCH') return true;
  const schemas = operation.body?.contents.map(({ schema }) => document.object(schema)) ?? [];
  const words = [operation.node, ...schemas]
    .map(({ description, summary }) => `${description ?? ''} ${summary ?? ''}`)
    .join(' ');
  return /\bkeeps? the rest|\bleft out (?:stays?|keeps?)|\bnot (?:sent|given|named) (?:stays?|keeps?)|\bpartial (?:update|change)/i.test(
    words,
  );
}
