import { crash } from '../combinators.ts';
import type { Alter } from '../front.ts';
import { type Ask, type Reply, withHeader } from '../message.ts';
import { seen, send } from '../wire.ts';
import { drift, expecting, type ServiceDrift } from './combinators.ts';
import { problem, sample } from './samples.ts';
import type { World } from './world.ts';

/** A request that belongs to no operation, made from the one that belongs to this one. */
interface Odd {
  readonly method?: string;
  readonly path?: (path: string) => string;
}

/** What is asked next to the operations of the contract is returned otherwise. */
function beside(
  operation: string,
  kind: string,
  what: string,
  odd: Odd,
  change: (reply: Reply, ask: Ask) => Reply,
): ServiceDrift {
  const make = (world: World) => {
    const ask = sample(operation, world);
    return { ...ask, method: odd.method ?? ask.method, path: odd.path?.(ask.path) ?? ask.path };
  };
  const alter = (world: World): Alter => {
    const template = world.operations.find((one) => one.id === operation)?.path ?? '';
    const form = new RegExp(`^${odd.path?.(template) ?? template}$`.replaceAll(/\{[^}]+\}/g, '[^/]+'));
    return async (ask, next) => {
      const reply = await next(ask);
      const isOdd =
        ask.operation === undefined && form.test(ask.path) && (odd.method === undefined || odd.method === ask.method);
      return isOdd ? change(reply, ask) : reply;
    };
  };
  return drift(operation, kind, what, alter, async (url, world) => seen(await send(url, make(world))));
}

const found = (reply: Reply): Reply => ({
  ...reply,
  status: 200,
  headers: { ...withHeader(reply, 'allow', undefined).headers, 'content-type': 'application/json' },
  text: '{"data":[]}',
});
const lost = () => problem(404);
const withSlash = (path: string) => `${path}/`;

export const surface = expecting(
  ['undeclared endpoints'],
  [
    beside('getClient', 'undeclared operation', 'DELETE returns 200', { method: 'DELETE' }, found),
    beside('listDepartments', 'undeclared operation', 'GET returns 200', { method: 'GET' }, found),
    beside('getCustomRecordType', 'undeclared operation', 'PATCH returns 200', { method: 'PATCH' }, found),
    beside('getContact', 'undeclared operation', 'POST returns 201', { method: 'POST' }, (reply) => ({
      ...found(reply),
      status: 201,
    })),
    beside('listClients', 'method', 'PUT returns 404', { method: 'PUT' }, lost),
    beside('getRecordSchema', 'method', 'DELETE returns 404', { method: 'DELETE' }, lost),
    beside('listOffices', 'method', 'GET returns 400', { method: 'GET' }, () => problem(400)),
    beside('onboardClient', 'Allow', 'a wrong method returns no Allow header', { method: 'GET' }, (reply) =>
      withHeader(reply, 'allow', undefined),
    ),
    beside('searchContacts', 'Allow', 'Allow names another method', { method: 'DELETE' }, (reply) =>
      withHeader(reply, 'allow', 'GET'),
    ),
    beside('upsertRecords', 'Allow', 'Allow leaves methods out', { method: 'PATCH' }, (reply) =>
      withHeader(reply, 'allow', 'POST'),
    ),
    beside('getTaxRegions', 'method', 'DELETE returns 500', { method: 'DELETE' }, crash),
    beside('listOrgs', 'method', 'OPTIONS returns 500', { method: 'OPTIONS' }, crash),
    beside('listRecordTypes', 'method', 'HEAD returns 500', { method: 'HEAD' }, crash),
    beside('listIndustries', 'method', 'TRACE returns the request', { method: 'TRACE' }, (_, ask) => ({
      status: 200,
      headers: { 'content-type': 'message/http' },
      text: `TRACE ${ask.path} HTTP/1.1\r\n`,
    })),
    beside('searchClients', 'slash', 'a slash at the end gives 500', { path: withSlash }, crash),
    beside('getClientTypes', 'slash', 'a slash at the end gives another page', { path: withSlash }, found),
  ],
);
