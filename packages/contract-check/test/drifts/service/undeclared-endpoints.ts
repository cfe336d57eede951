import { crash } from '../combinators.ts';
import type { Alter } from '../front.ts';
import { type IncomingRequest, type Reply, withHeader } from '../message.ts';
import { comparable, send } from '../wire.ts';
import { drift, expecting, type ServiceDrift } from './combinators.ts';
import { problem, sample } from './samples.ts';
import type { World } from './world.ts';

/** Changes a request of an operation to one that no operation declares. */
interface Undeclared {
  readonly method?: string;
  readonly path?: (path: string) => string;
}

/** Undeclared requests get another response. */
function undeclaredDrift(
  operation: string,
  kind: string,
  what: string,
  undeclared: Undeclared,
  change: (reply: Reply, incoming: IncomingRequest) => Reply,
): ServiceDrift {
  const build = (world: World) => {
    const incoming = sample(operation, world);
    return {
      ...incoming,
      method: undeclared.method ?? incoming.method,
      path: undeclared.path?.(incoming.path) ?? incoming.path,
    };
  };
  const alter = (world: World): Alter => {
    const template = world.operations.find((one) => one.id === operation)?.path ?? '';
    const form = new RegExp(`^${undeclared.path?.(template) ?? template}$`.replaceAll(/\{[^}]+\}/g, '[^/]+'));
    return async (incoming, next) => {
      const reply = await next(incoming);
      const isUndeclared =
        incoming.operation === undefined &&
        form.test(incoming.path) &&
        (undeclared.method === undefined || undeclared.method === incoming.method);
      return isUndeclared ? change(reply, incoming) : reply;
    };
  };
  return drift(operation, kind, what, alter, async (url, world) => comparable(await send(url, build(world))));
}

const found = (reply: Reply): Reply => ({
  ...reply,
  status: 200,
  headers: { ...withHeader(reply, 'allow', undefined).headers, 'content-type': 'application/json' },
  text: '{"data":[]}',
});
const notFound = () => problem(404);
const withSlash = (path: string) => `${path}/`;

export const surface = expecting(
  ['undeclared endpoints'],
  [
    undeclaredDrift('getClient', 'undeclared operation', 'DELETE returns 200', { method: 'DELETE' }, found),
    undeclaredDrift('listDepartments', 'undeclared operation', 'GET returns 200', { method: 'GET' }, found),
    undeclaredDrift('getCustomRecordType', 'undeclared operation', 'PATCH returns 200', { method: 'PATCH' }, found),
    undeclaredDrift('getContact', 'undeclared operation', 'POST returns 201', { method: 'POST' }, (reply) => ({
      ...found(reply),
      status: 201,
    })),
    undeclaredDrift('listClients', 'method', 'PUT returns 404', { method: 'PUT' }, notFound),
    undeclaredDrift('getRecordSchema', 'method', 'DELETE returns 404', { method: 'DELETE' }, notFound),
    undeclaredDrift('listOffices', 'method', 'GET returns 400', { method: 'GET' }, () => problem(400)),
    undeclaredDrift('onboardClient', 'Allow', 'a wrong method returns no Allow header', { method: 'GET' }, (reply) =>
      withHeader(reply, 'allow', undefined),
    ),
    undeclaredDrift('searchContacts', 'Allow', 'Allow names another method', { method: 'DELETE' }, (reply) =>
      withHeader(reply, 'allow', 'GET'),
    ),
    undeclaredDrift('upsertRecords', 'Allow', 'Allow leaves methods out', { method: 'PATCH' }, (reply) =>
      withHeader(reply, 'allow', 'POST'),
    ),
    undeclaredDrift('getTaxRegions', 'method', 'DELETE returns 500', { method: 'DELETE' }, crash),
    undeclaredDrift('listOrgs', 'method', 'OPTIONS returns 500', { method: 'OPTIONS' }, crash),
    undeclaredDrift('listRecordTypes', 'method', 'HEAD returns 500', { method: 'HEAD' }, crash),
    undeclaredDrift('listIndustries', 'method', 'TRACE returns the request', { method: 'TRACE' }, (_, incoming) => ({
      status: 200,
      headers: { 'content-type': 'message/http' },
      text: `TRACE ${incoming.path} HTTP/1.1\r\n`,
    })),
    undeclaredDrift('searchClients', 'slash', 'a slash at the end gives 500', { path: withSlash }, crash),
    undeclaredDrift('getClientTypes', 'slash', 'a slash at the end gives another page', { path: withSlash }, found),
  ],
);
