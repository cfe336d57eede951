import { randomBytes } from 'node:crypto';
import { type IncomingRequest, type Reply, withJson } from '../message.ts';
import type { RequestInput } from '../wire.ts';
import type { World } from './world.ts';

/** The body of the simplest call that succeeds, by operation. Other operations take an empty object or nothing. */
const bodies: Readonly<Record<string, (world: World) => unknown>> = {
  createToken: ({ key }) => ({ apiKey: key }),
  onboardClient: (world) => ({ name: world.unique(), address: { city: 'Portland', country: 'US' } }),
  upsertContacts: (world) => ({ contacts: [{ lastName: world.unique() }] }),
  upsertRecords: (world) => ({ records: [{ type: 'ClientGroup', attributes: { name: world.unique() } }] }),
  updateRecords: ({ type, unique }) => ({
    records: [{ type, systemRef: 'OPP-0', attributes: { note: unique() } }],
  }),
  deleteRecords: ({ type }) => ({ records: [{ type, systemRef: 'OPP-unknown' }] }),
  createCustomRecordType: (world) => ({ name: world.unique(), fields: [{ name: 'note', type: 'STRING' }] }),
  updateCustomRecordType: (world) => ({ description: world.unique() }),
};

/** The simplest call of an operation that succeeds, with the credentials of the owner. */
export function sample(id: string, world: World, expected: RequestInput = {}): IncomingRequest {
  const operation = world.operations.find((one) => one.id === id);
  if (operation === undefined) throw new Error(`The contract has no operation ${id}.`);
  const parameters: Readonly<Record<string, string>> = {
    id: id === 'getContact' ? world.ids.contact : world.ids.client,
    clientId: world.ids.client,
    type: world.type,
    name: id === 'deactivateCustomRecordType' ? 'Retired' : world.type,
    ...expected.path,
  };
  const path = operation.path.replaceAll(/\{([^}]+)\}/g, (_, name) => encodeURIComponent(parameters[name] ?? ''));
  const headerEntries = Object.entries({
    ...(operation.body === undefined ? {} : { 'content-type': 'application/json' }),
    ...(id === 'createToken' ? {} : world.owner),
    ...expected.headers,
  }).filter((entry): entry is [string, string] => entry[1] !== undefined);
  const incoming: IncomingRequest = {
    operation: id,
    template: operation.path,
    method: operation.method,
    path,
    query: new URLSearchParams(expected.query).toString(),
    headers: Object.fromEntries(headerEntries),
    body: expected.raw === undefined ? undefined : Buffer.from(expected.raw),
  };
  if (operation.body === undefined || expected.raw !== undefined) return incoming;
  return withJson(incoming, 'body' in expected ? expected.body : (bodies[id]?.(world) ?? {}));
}

const unknownId = '0199a1c2-0c01-7c01-8a4f-5d2e9b60f1ff';

/** A call that is rejected with the status. */
export function rejected(status: number): RequestInput | ((world: World) => RequestInput) {
  if (status === 401) return { headers: { authorization: 'Bearer nonsense' } };
  if (status === 403) return ({ forbidden }: World) => ({ headers: forbidden });
  if (status === 404) return { path: { id: unknownId, clientId: unknownId, type: 'Unheard', name: 'Unheard' } };
  if (status === 406) return { headers: { accept: 'text/csv' } };
  if (status === 415) return { headers: { 'content-type': 'text/plain' } };
  return { query: { nonsense: '1' } };
}

const codes: Readonly<Record<number, string>> = {
  400: 'VALIDATION_ERROR',
  404: 'NOT_FOUND',
  415: 'UNSUPPORTED_MEDIA_TYPE',
};

/** A problem document in the format of the service. */
export function problem(status: number): Reply {
  const code = codes[status] ?? 'CONFLICT';
  const title = code.replaceAll('_', ' ').toLowerCase();
  const requestId = `0199a1c2-0c01-7c01-8a4f-${randomBytes(6).toString('hex')}`;
  const body = {
    type: `urn:financial-automation:problem:${code}`,
    title,
    status,
    detail: `${title}.`,
    instance: `urn:uuid:${requestId}`,
    code,
    requestId,
  };
  const headers = { 'content-type': 'application/problem+json; charset=utf-8', 'x-request-id': requestId };
  return { status, headers, text: JSON.stringify(body) };
}
