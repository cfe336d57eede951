import { request } from 'undici';
import { type Ask, type Reply, withJson } from './message.ts';
import type { World } from './world.ts';

/** What is unlike the plainest call of an operation. */
export interface Wanted {
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** Undefined takes one out. */
  readonly headers?: Readonly<Record<string, string | undefined>>;
  /** Sent as it stands, in place of JSON. */
  readonly raw?: string;
  readonly path?: Readonly<Record<string, string>>;
}

/** The body of the plainest call that succeeds, by operation; the others take an empty object, or nothing. */
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

/** The plainest call of an operation that succeeds, signed in as the owner. */
export function sample(id: string, world: World, wanted: Wanted = {}): Ask {
  const operation = world.operations.find((one) => one.id === id);
  if (operation === undefined) throw new Error(`The contract has no operation ${id}.`);
  const parameters: Readonly<Record<string, string>> = {
    id: id === 'getContact' ? world.ids.contact : world.ids.client,
    clientId: world.ids.client,
    type: world.type,
    name: id === 'deactivateCustomRecordType' ? 'Retired' : world.type,
    ...wanted.path,
  };
  const path = operation.path.replaceAll(/\{([^}]+)\}/g, (_, name) => encodeURIComponent(parameters[name] ?? ''));
  const given = Object.entries({
    ...(operation.body === undefined ? {} : { 'content-type': 'application/json' }),
    ...(id === 'createToken' ? {} : world.owner),
    ...wanted.headers,
  }).filter((entry): entry is [string, string] => entry[1] !== undefined);
  const ask: Ask = {
    operation: id,
    template: operation.path,
    method: operation.method,
    path,
    query: new URLSearchParams(wanted.query).toString(),
    headers: Object.fromEntries(given),
    body: wanted.raw === undefined ? undefined : Buffer.from(wanted.raw),
  };
  if (operation.body === undefined || wanted.raw !== undefined) return ask;
  return withJson(ask, 'body' in wanted ? wanted.body : (bodies[id]?.(world) ?? {}));
}

/** Over the wire. */
export async function send(url: string, { method, path, query, headers, body }: Ask): Promise<Reply> {
  const answer = await request(`${url}${path}${query === '' ? '' : `?${query}`}`, {
    method: method as 'GET',
    headers,
    body: body ?? null,
    headersTimeout: 2_000,
  });
  const flat = Object.entries(answer.headers).map(([name, value]) => [name, String(value)]);
  return { status: answer.statusCode, headers: Object.fromEntries(flat), text: await answer.body.text() };
}

const masks: readonly [RegExp, string][] = [
  [/Zz\d{6}zZ/g, '<unique>'],
  [/ey[\w-]+\.[\w-]+\.[\w-]+/g, '<token>'],

  [/[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/g, '<id>'],
  [/\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z/g, '<instant>'],
  [/(?<=")[CP]-\d{5}/g, '<number>'],
  [/(?<="version":|^")[1-9]\d*/g, '<version>'],
];
const headersOfCall = new Set(['date', 'connection', 'keep-alive', 'content-length', 'ratelimit']);

/**
 * What a caller sees of an answer, without what differs between two calls that mean the same: the ids of calls, and of
 * writes what each makes anew.
 */
export function seen(reply: Reply): unknown {
  const mask = (text: string) => masks.reduce((masked, [pattern, name]) => masked.replaceAll(pattern, name), text);
  const headers = Object.entries(reply.headers)
    .filter(([name]) => !headersOfCall.has(name))
    .map(([name, value]) => [
      name,
      name === 'x-request-id' ? value.replaceAll(/[0-9a-f]+-[-0-9a-f]+/g, '<id>') : mask(value),
    ]);
  return { status: reply.status, headers: Object.fromEntries(headers), text: mask(reply.text) };
}
