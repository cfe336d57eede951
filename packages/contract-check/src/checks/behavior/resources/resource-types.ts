import type { OpenApiDocument } from '../../../document/document.ts';
import { extensionOf, type Operation, type Parameter } from '../../../document/operation.ts';
import { hasRows, isReadingPost, itemOf, kindOfPath, kindsOfSchema, rowsOf, singular } from '../../../run/names.ts';
import type { Session } from '../../../run/session.ts';
import { responseSchema, View } from '../../../schema/view.ts';

/** A type of resource that can be created, and its other operations. */
export interface ResourceType {
  readonly kind: string;
  readonly collection: string;
  readonly create: Operation;
  readonly read: Operation | undefined;
  /** Whether its path, not only names, indicates that created resources can be read there. */
  readonly hasCertainRead: boolean;
  readonly updates: readonly Operation[];
  readonly remove: Operation | undefined;
  readonly lists: readonly Operation[];
  /** The list at the path of the collection. */
  readonly list: Operation | undefined;
  /** Operations on a single resource below its path: `POST /orders/{id}/cancel`. */
  readonly actions: readonly Operation[];
}

type Declared = 'creates' | 'reads' | 'lists' | 'updates' | 'deletes';

/** The declared resource type of an operation; false if it acts on none. */
export function declaredKind({ node }: Pick<Operation, 'node'>, member: Declared): string | false | undefined {
  const value = extensionOf(node)[member];
  return typeof value === 'string' ? singular(value) : value === false ? value : undefined;
}

/** The types of the resources that the plan says are created. No finding is based on this alone. */
export function resourceTypesOf({ document, operations, plan }: Session): ResourceType[] {
  return operations
    .filter(
      (one) => plan.effectOf(one) === 'create' || (!one.path.includes('{') && startsJob(document, operations, one)),
    )
    .filter((operation) => !hasRows(document, operation))
    .map((create) => resourceTypeOf(document, operations, create));
}

/** The operations that read by an ID what a creation returns, such as a job or `/repos/{owner}/{repo}` of `POST /user/repos`. */
function readsOf(document: OpenApiDocument, operations: readonly Operation[], create: Operation): Operation[] {
  const shows = kindsOfSchema(document, responseSchema(create));
  return operations.filter(
    (one) =>
      create.method === 'POST' &&
      // `POST /products/{id}/image` changes the product that it returns.
      !create.path.startsWith(`${one.path}/`) &&
      isRead(document, one) &&
      itemOf(one.path) !== undefined &&
      kindsOfSchema(document, responseSchema(one)).some((own) => shows.includes(own)),
  );
}

/** Whether a response is a job: it is accepted only, is `done` with a response or an error, or can run and fail. */
export function isJob(document: OpenApiDocument, create: Operation): boolean {
  const view = View.ofResponse(document, create);
  const isAmong = (word: RegExp) =>
    view.names.some((name) => view.member(name).words.some((one) => word.test(`${one}`)));
  const canRun = isAmong(/^(?:running|processing)$/i) && isAmong(/^(?:failed|error)$/i);
  return declares(create, 202) || canRun || ['done', 'error', 'response'].every((name) => view.names.includes(name));
}

const startsJob = (document: OpenApiDocument, operations: readonly Operation[], create: Operation) =>
  isJob(document, create) && readsOf(document, operations, create).length > 0;

function resourceTypeOf(document: OpenApiDocument, operations: readonly Operation[], create: Operation): ResourceType {
  const collection = itemOf(create.path)?.collection ?? create.path;
  const [other, ...others] = readsOf(document, operations, create);
  const own = operations.find((one) => isRead(document, one) && itemOf(one.path)?.collection === collection);
  const elsewhere = own === undefined && others.length === 0 && !declares(create, 202) ? other : undefined;
  const sure = (declares(create, 202) ? other : undefined) ?? own ?? elsewhere;
  const kind = declaredKind(create, 'creates') || kindOfPath((elsewhere ?? create).path) || '';
  const home = itemOf(elsewhere?.path ?? '')?.collection ?? collection;
  const items = operations.filter((one) => isOfItem(one, home, kind));
  const read = sure ?? items.find((one) => isRead(document, one));
  const updates = items.filter(
    (one) =>
      declaredKind(one, 'updates') !== false &&
      (['PATCH', 'PUT'].includes(one.method) ||
        (one.method === 'POST' &&
          (isUpdatePath.test(one.path) || !items.some(({ method }) => /^P(?:UT|ATCH)$/.test(method))))),
  );
  const remove = items.find((one) => one.method === 'DELETE' && declaredKind(one, 'deletes') !== false);
  const item = (read ?? [...updates, remove].find((one) => one?.path.endsWith('}')))?.path;
  const lists = listsOf(document, operations, collection, read, kind);
  return {
    kind,
    collection,
    create,
    read,
    hasCertainRead: sure !== undefined,
    updates,
    remove,
    lists,
    list: lists.find((one) => one.path === collection),
    actions: operations.filter((one) => extensionOf(one.node).acts !== false && isAction(one, item, operations)),
  };
}

/** Whether an operation acts on a single resource and its last path segment is a verb, not a collection. */
function isAction({ method, path }: Operation, item: string | undefined, operations: readonly Operation[]): boolean {
  const isBelow = item !== undefined && path.startsWith(item) && /^[/:]/.test(path.slice(item.length));
  if (item === undefined || !['POST', 'PUT', 'PATCH'].includes(method) || !isBelow) return false;
  const isWord = /^[a-z_-]+$/i.test(path.slice(item.length + 1)) && !isUpdatePath.test(path);
  const isCollection = (one: Operation) =>
    one.path.startsWith(`${path}/{`) || (method === 'POST' && one.method === 'GET' && one.path === path);
  return isWord && !operations.some(isCollection);
}

const isUpdatePath = /\/(?:update|edit|modify)$/;

const members: Readonly<Record<string, Declared>> = {
  GET: 'reads',
  DELETE: 'deletes',
  PUT: 'updates',
  PATCH: 'updates',
  POST: 'updates',
};

/** Whether an operation acts on one resource of a type: below the collection's path, or with the same type. */
function isOfItem({ method, path, ...operation }: Operation, collectionOfAll: string, kind: string): boolean {
  const collection = itemOf(path.replace(isUpdatePath, ''))?.collection;
  const member = members[method];
  if (collection === undefined || member === undefined) return false;
  const declared = declaredKind(operation, member);
  if (typeof declared === 'string') return declared === kind;
  if (collection === collectionOfAll) return true;
  return !collectionOfAll.includes('{') && !collection.includes('{') && kindOfPath(collection) === kind;
}

export function isRead(document: OpenApiDocument, operation: Operation): boolean {
  return operation.method === 'GET' && declaredKind(operation, 'reads') !== false && !hasRows(document, operation);
}

/** The lists of resources of a type: at the path of their collection, or with rows like the response of their read. */
export function listsOf(
  document: OpenApiDocument,
  operations: readonly Operation[],
  collection: string,
  read: Operation | undefined,
  kind: string,
): Operation[] {
  const schemas = read === undefined ? [] : kindsOfSchema(document, responseSchema(read));
  return operations.filter((operation) => {
    if (operation.method !== 'GET' && !isReadingPost(operation)) return false;
    const rows = rowsOf(document, operation);
    const declared = declaredKind(operation, 'lists');
    if (rows === undefined || declared === false) return false;
    if (typeof declared === 'string') return declared === kind;
    if (operation.path === collection) return true;
    if (operation.path.includes('{') || kindOfPath(operation.path) !== kind) return false;
    return kindsOfSchema(document, rows.schema).some((one) => schemas.includes(one));
  });
}

/** Whether an update keeps omitted properties: PATCH does, and a PUT that requires any one property, but none of them. */
export function keepsTheRest(document: OpenApiDocument, operation: Operation): boolean {
  const { merges } = extensionOf(operation.node);
  if (typeof merges === 'boolean') return merges;
  const { parts } = View.ofRequest(document, operation);
  const isPartial =
    parts.some(({ minProperties }) => minProperties === 1) && parts.every(({ required }) => required === undefined);
  return operation.method === 'PATCH' || isPartial || (operation.method === 'POST' && operation.path.endsWith('}'));
}

export function declares({ responses }: Operation, status: number): boolean {
  return responses.some((response) => response.status === String(status));
}

export function conditionOf({ parameters }: Operation): Parameter | undefined {
  return parameters.find((one) => one.in === 'header' && /^if-match$/i.test(one.name));
}
