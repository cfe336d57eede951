/**
 * The conditions of `openapi/operation-defaults.yaml`. Each follows from what the path file declares, so that a path file has to
 * declare nothing because of them.
 */
import { isPublic, type Operation, type Place } from './contract.ts';
import { contentOf, isEntity } from './schemas.ts';

export const conditions: Record<string, (operation: Operation) => boolean> = {
  always: () => true,
  isPublic,
  requiresToken: (operation) => !isPublic(operation),
  hasBody: ({ body }) => body !== undefined,
  hasPathParameter: ({ path }) => path.includes('{'),
  hasId: ({ path }) => path.includes('{id}'),
  returnsFile: ({ id, success }) => /^(search|aggregate)[A-Z]/.test(id) || (success !== undefined && hasFile(success)),
  returnsRow,
  readsRow: (operation) => isOneRow(operation) && operation.method === 'get',
  changesRow,
  changesItems,
  // Writes have a limit of their own.
  writes: ({ place }) => place.get('x-rate-limit')?.value === 'write' && place.get('x-dry-run') === undefined,
  readsByPost: ({ method, place }) => method === 'post' && place.get('x-rate-limit')?.value === 'read',
  hasPageInQuery: ({ parameters }) =>
    parameters.some((parameter) => parameter.text('in') === 'query' && parameter.text('name') === 'pageSize'),
  hasPageInBody: ({ id, body }) => body !== undefined && /^list[A-Z]/.test(id),
  searches: ({ id }) => /^search[A-Z]/.test(id),
  aggregates: ({ id }) => /^aggregate[A-Z]/.test(id),
  looksUp: ({ id }) => /^lookup[A-Z]/.test(id),
};

/** Whether a caller can choose a file instead of JSON. */
function hasFile(response: Place): boolean {
  return response.map('content').some(([type]) => type !== 'application/json');
}

/** Whether it changes one row, which the path names. */
export function changesRow(operation: Operation): boolean {
  return isOneRow(operation) && operation.method !== 'get';
}

/** Whether the items of its body have the version that they expect, as one of them can by `If-Match`: not if they are processed later. */
export function changesItems({ body, responses }: Operation): boolean {
  if (responses.some(([status]) => status === '202')) return false;
  const schemas = body === undefined ? [] : contentOf(body);
  const lists = schemas.flatMap((schema) => schema.map('properties'));
  return lists.some(([, list]) => list.get('items', 'properties', 'ifVersion') !== undefined);
}

/** Whether it reads or changes one row, which the path names. */
export function isOneRow(operation: Operation): boolean {
  return operation.path.includes('{') && returnsRow(operation);
}

/** A creation can return the row together with others. */
function returnsRow({ success, responses }: Operation): boolean {
  return responses.some(([status]) => status === '201') || (success !== undefined && contentOf(success).some(isEntity));
}
