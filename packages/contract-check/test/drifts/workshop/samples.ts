import { randomUUID } from 'node:crypto';
import type { Operation } from '../../../src/document/operation.ts';
import type { Auth } from '../../../src/run/options.ts';
import { type IncomingRequest, type Reply, withJson } from '../message.ts';
import type { RequestInput } from '../wire.ts';

/** A separate workshop. */
export interface Shop {
  readonly operations: readonly Operation[];
  readonly auth: Auth;
  readonly headers: Readonly<
    Record<'owner' | 'expired' | 'forbidden' | 'otherTenant', Readonly<Record<string, string>>>
  >;
  /** The first tool and the first job, which exist from the start. */
  readonly ids: Readonly<Record<'tool' | 'job', string>>;
  unique(): string;
}

const tool = (more: object) => ({ kind: 'hand', price: 12.5, boughtOn: '2024-02-29', ...more });

const bodies: Readonly<Record<string, (shop: Shop) => unknown>> = {
  createTool: (shop) => tool({ name: shop.unique() }),
  replaceTool: (shop) => tool({ name: shop.unique() }),
  changeTool: (shop) => ({ note: shop.unique() }),
  createJob: (shop) => ({ kind: 'repair', toolId: shop.ids.tool, title: shop.unique(), fault: 'worn' }),
  createReport: () => ({ subject: 'tools' }),
};

/** The simplest call of an operation that succeeds. */
export function sample(id: string, shop: Shop, expected: RequestInput = {}): IncomingRequest {
  const operation = shop.operations.find((one) => one.id === id);
  if (operation === undefined) throw new Error(`The contract has no operation ${id}.`);
  const parameters: Readonly<Record<string, string>> = {
    toolId: shop.ids.tool,
    jobId: shop.ids.job,
    shelf: ';shelf=A1',
    colours: '.red.blue',
    span: 'from=3,to=9',
    ...expected.path,
  };
  const hasBody = operation.body !== undefined;
  const type = id === 'changeTool' ? 'application/merge-patch+json' : 'application/json';
  const headerEntries = Object.entries({
    ...(hasBody ? { 'content-type': type } : {}),
    ...(id === 'replaceTool' || id === 'changeTool' ? { 'if-match': '*' } : {}),
    ...shop.headers.owner,
    ...expected.headers,
  }).filter((entry): entry is [string, string] => entry[1] !== undefined);
  const incoming: IncomingRequest = {
    operation: id,
    template: operation.path,
    method: operation.method,
    path: operation.path.replaceAll(/\{([^}]+)\}/g, (_, name) => parameters[name] ?? ''),
    query: new URLSearchParams(expected.query).toString(),
    headers: Object.fromEntries(headerEntries),
    body: expected.raw === undefined ? undefined : Buffer.from(expected.raw),
  };
  if (!hasBody || expected.raw !== undefined) return incoming;
  return withJson(incoming, 'body' in expected ? expected.body : (bodies[id]?.(shop) ?? {}));
}

const unknownId = '00000000-0000-4000-8000-000000000000';

/** Changes the simplest call so that it is rejected with a status. */
export function rejected(status: number): RequestInput | ((shop: Shop) => RequestInput) {
  if (status === 401) return { headers: { authorization: 'Bearer nonsense' } };
  if (status === 403) return ({ headers }: Shop) => ({ headers: headers.forbidden });
  if (status === 404) return { path: { toolId: unknownId, jobId: unknownId, reportId: unknownId } };
  if (status === 412) return { headers: { 'if-match': '"nonsense"' } };
  if (status === 415) return { headers: { 'content-type': 'text/plain' } };
  if (status === 422) return { body: {} };
  if (status === 428) return { headers: { 'if-match': undefined } };
  return { query: { nonsense: '1' } };
}

/** A rejection in the format of the workshop. */
export function problem(status: number): Reply {
  const body = { type: 'about:blank', title: 'Refused', status };
  const headers = { 'content-type': 'application/problem+json', 'x-request-id': randomUUID() };
  return { status, headers, text: JSON.stringify(body) };
}
