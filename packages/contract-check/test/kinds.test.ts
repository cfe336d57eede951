/** Kinds of differences, each in a hotel that has only this one; the correct hotel has no finding. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { check } from '../src/check.ts';
import { parsedJson } from '../src/json.ts';
import { sampleOf } from './sample.ts';

const json = (schema: object) => ({ 'application/json': { schema } });
const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });
const object = (properties: object, required: readonly string[] = Object.keys(properties)) => {
  return { type: 'object', required, properties };
};
const list = (items: object) => ({ type: 'array', items });
const string = { type: 'string', minLength: 1, maxLength: 60 };
const integer = { type: 'integer', minimum: 0, maximum: 1000 };
const query = (name: string, schema: object) => ({ name, in: 'query', style: 'form', explode: false, schema });
const words = (...all: string[]) => ({ type: 'array', minItems: 1, uniqueItems: true, items: { enum: all } });
const path = (name: string) => ({ name, in: 'path', required: true, schema: string });
const header = (name: string, required = false) => ({ [name]: { required, schema: { type: 'string' } } });
const include = query('include', words('guest', 'keys'));
const others = Object.fromEntries(['400', '404', '409', '415'].map((code) => [code, { description: 'Rejected.' }]));
const operation = (operationId: string, status: number, schema?: object, more: object = {}, headers: object = {}) => ({
  operationId,
  responses: { [status]: { description: 'Done.', headers, ...(schema && { content: json(schema) }) }, ...others },
  ...more,
});
const sending = (schema: object) => ({ requestBody: { required: true, content: json(schema) } });
const unread = { 304: { description: 'Not modified.' } };
const read = (operationId: string, schema?: object) => {
  const tagged = operation(operationId, 200, schema, {}, { ...header('ETag'), ...header('X-Request-Id') });
  const names = ['If-None-Match', 'X-Request-Id'].map((name) => ({ name, in: 'header', schema: { type: 'string' } }));
  return { ...tagged, parameters: [include, ...names], responses: { ...tagged.responses, ...unread } };
};
const transitions: Readonly<Record<string, readonly string[]>> = {
  free: ['booked'],
  booked: ['free', 'occupied'],
  occupied: ['free'],
};
const status = { enum: Object.keys(transitions), 'x-contract-check': { transitions } };
/** As in many public APIs: `opened=7` or `opened[gte]=5&opened[lt]=9`. */
const bounds = { gt: integer, gte: integer, lt: integer, lte: integer };
const period = { anyOf: [{ type: 'object', properties: bounds }, integer] };
const own = { name: string, floor: integer, guestId: { type: ['string', 'null'] } };
const shown = { ...own, opened: integer, status, guest: ref('Guest'), keys: list(ref('Key')) };
const paged = { page: integer, per_page: integer, total: integer, total_pages: integer };
const document = {
  openapi: '3.1.0',
  info: { title: 'Hotel', version: '1' },
  paths: {
    '/guests': { get: operation('listGuests', 200, list(ref('Guest'))) },
    '/rooms': {
      get: operation(
        'listRooms',
        200,
        object({ items: list(ref('Room')), ...paged }),
        {
          parameters: [
            query('fields', words('name', 'floor', 'guestId')),
            include,
            query('page', { type: 'integer', minimum: 1, maximum: 1000, default: 1 }),
            query('per_page', { type: 'integer', minimum: 1, maximum: 50, default: 20 }),
            { name: 'opened', in: 'query', style: 'deepObject', explode: true, schema: period },
          ],
        },
        header('Link'),
      ),
      post: operation('createRoom', 201, ref('Room'), sending(object(own, ['name', 'floor']))),
    },
    '/rooms/bulk_delete': {
      post: operation(
        'deleteRooms',
        200,
        object({ results: list(object({ id: string, status: integer })) }),
        sending(object({ ids: { ...list(string), minItems: 1, maxItems: 20 } })),
      ),
    },
    '/rooms/{roomId}': {
      parameters: [path('roomId')],
      get: read('getRoom', ref('Room')),
      head: read('headRoom'),
      patch: operation('updateRoom', 200, ref('Room'), sending(object({ ...own, status }, []))),
      delete: operation('deleteRoom', 204),
    },
    '/rooms/{roomId}/keys': {
      parameters: [path('roomId')],
      get: operation('listKeys', 200, list(ref('Key'))),
      post: operation('createKey', 201, ref('Key'), sending(object({ label: string }))),
    },
  },
  components: {
    schemas: {
      Guest: object({ id: string, name: string }),
      Key: object({ id: string, label: string }),
      Room: object({ id: string, ...shown }, ['id']),
    },
  },
};

interface Room {
  readonly id: string;
  readonly opened: number;
  readonly guestId: string | null;
  readonly status: string;
  readonly keys: { readonly id: string; readonly label: string }[];
}
interface Reply {
  readonly status: number;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
}

/** A hotel with one difference from its contract, or none. */
function hotel(drift: string) {
  const guests = ['Ann', 'Ben', 'Cleo'].map((name, index) => ({ id: `guest-${index}-of-hotel`, name }));
  const rooms = new Map<string, Room>();
  const is = (name: string) => name === drift;
  let count = 0;
  const add = (sent: object): Room => {
    const id = `room-${++count}-of-the-hotel`;
    const room = { guestId: null, status: 'free', ...sent, opened: 100 + 7 * count, id, keys: [] };
    rooms.set(id, room);
    return room;
  };
  for (let floor = 0; floor < 7; floor += 1)
    add({ name: `Room ${floor}`, floor, guestId: guests[floor % 3]?.id ?? null });
  const view = ({ keys, ...room }: Room, asked: string | null) => {
    const all = is('include-ignored') ? [] : (asked?.split(',') ?? (is('include-always') ? ['guest'] : []));
    const named = is('include-second-lost') ? all.slice(0, 1) : all;
    const guest = guests.findIndex(({ id }) => id === room.guestId);
    const other = guests[(guest + Number(is('embedded-another'))) % guests.length];
    return {
      ...room,
      ...(named.includes('guest') && guest >= 0 && { guest: other }),
      ...(named.includes('keys') && { keys }),
    };
  };
  const isWithin = (opened: number, asked: URLSearchParams) => {
    const bound = (name: string) => asked.get(`opened${name && `[${name}]`}`);
    const holds = (name: string, test: (limit: number) => boolean) => bound(name) === null || test(Number(bound(name)));
    return (
      holds('', (limit) => opened === limit) &&
      holds('gt', (limit) => (is('gt-includes') ? opened >= limit : opened > limit)) &&
      holds('gte', (limit) => (is('gte-excludes') ? opened > limit : opened >= limit)) &&
      holds('lt', (limit) => (is('lt-includes') ? opened <= limit : opened < limit)) &&
      holds('lte', (limit) => (is('lte-excludes') ? opened < limit : opened <= limit))
    );
  };
  const listed = (asked: URLSearchParams): Reply => {
    const [page, size] = [Number(asked.get('page') ?? 1), Number(asked.get('per_page') ?? 20)];
    if (!(page >= 1) || !(size >= 1 && size <= 50)) return { status: 400 };
    const all = [...rooms.values()].filter(({ opened }) => isWithin(opened, asked));
    const pages = Math.ceil(all.length / size);
    const fields = asked
      .get('fields')
      ?.split(',')
      .slice(0, is('fields-second-lost') ? 1 : 9);
    const items = all.slice((page - 1) * size, page * size).map((room) => {
      const row = view(room, asked.get('include'));
      const isKept = ([name]: [string, unknown]) => name === 'id' || fields?.includes(name);
      return fields && !is('fields-ignored') ? Object.fromEntries(Object.entries(row).filter(isKept)) : row;
    });
    const link = (to: number, rel: string) => {
      const target = new URLSearchParams(asked);
      target.set('page', String(to));
      return `</rooms?${target}>; rel="${rel}"`;
    };
    const last = link(pages + Number(is('last-beyond')), 'last');
    const links = [link(1, 'first'), ...(page < pages ? [link(page + 1, 'next')] : []), last];
    return {
      status: 200,
      headers: { link: links.join(', ') },
      body: {
        items,
        page: is('page-constant') ? 1 : page,
        per_page: is('size-constant') ? 20 : size,
        total: all.length,
        total_pages: is('pages-floor') ? Math.floor(all.length / size) : pages,
      },
    };
  };
  const removed = (ids: readonly string[]): Reply => {
    const results = ids.map((id, index) => {
      const isKept = is('bulk-last-kept') && index === ids.length - 1 && index > 0;
      const isThere = isKept ? rooms.has(id) : rooms.delete(id);
      return { id, status: isThere || is('bulk-unknown-done') ? 204 : 404 };
    });
    if (is('bulk-takes-another')) rooms.delete([...rooms.keys()].at(-1) ?? '');
    return { status: 200, body: { results: is('bulk-reversed') ? results.reverse() : results } };
  };
  const gone = new Set<string>();
  return (request: IncomingMessage, sent: Record<string, unknown> | undefined): Reply => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://hotel');
    const [, top, id, below] = pathname.split('/');
    const { method } = request;
    if (method === 'POST' && sent === undefined) return { status: 400 };
    if (top === 'guests') return { status: 200, body: guests };
    if (top !== 'rooms') return { status: 404 };
    if (id === 'bulk_delete') {
      const ids = sent?.ids;
      return Array.isArray(ids) && ids.length > 0 ? removed(ids.map(String)) : { status: 400 };
    }
    if (id === undefined)
      return method === 'POST' ? { status: 201, body: view(add(sent ?? {}), null) } : listed(searchParams);
    const room = rooms.get(id);
    if (room === undefined)
      return below !== undefined && is('below-deleted') && gone.has(id) ? { status: 200, body: [] } : { status: 404 };
    if (below === 'keys' && method === 'POST') {
      const key = { id: `key-${++count}-of-the-hotel`, label: String(sent?.label) };
      room.keys.push(key);
      return { status: 201, body: key };
    }
    if (below !== undefined) {
      const all = is('keys-of-all') ? [...rooms.values()].flatMap(({ keys }) => keys) : room.keys;
      return { status: 200, body: all };
    }
    if (method === 'DELETE') {
      gone.add(id);
      rooms.delete(id);
      return { status: 204 };
    }
    if (method === 'PATCH') {
      const to = String(sent?.status ?? room.status);
      const isNext = transitions[room.status]?.includes(to) === true && !is('change-rejected');
      const isAllowed = isNext || (is('change-accepted') && to === 'occupied');
      if (to !== room.status && !isAllowed) return { status: 409 };
      rooms.set(id, { ...room, ...sent });
      return { status: 200, body: view({ ...room, ...sent }, null) };
    }
    const tag = `"${id}-${JSON.stringify(room).length}"`;
    const known = request.headers['x-request-id'];
    const headers = { etag: tag, ...(known && { 'x-request-id': is('request-id-other') ? 'another' : String(known) }) };
    const isCurrent = request.headers['if-none-match'] === tag;
    if (isCurrent && !(method === 'HEAD' && is('head-never-304'))) return { status: 304, headers };
    return { status: 200, headers, ...(method === 'GET' && { body: view(room, searchParams.get('include')) }) };
  };
}

let folder: string;
let spec: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'contract-check-kinds-'));
  spec = join(folder, 'openapi.json');
  await writeFile(spec, JSON.stringify(document));
});
afterAll(() => rm(folder, { recursive: true }));

async function checksOf(drift: string): Promise<string[]> {
  const respond = hotel(drift);
  const server = createServer(async (request, response) => {
    const body = await text(request);
    const sent: unknown = body.startsWith('{') ? parsedJson(body)?.value : undefined;
    const reply = respond(request, sent === undefined ? undefined : Object(sent));
    const type = reply.body === undefined ? {} : { 'content-type': 'application/json' };
    response.writeHead(reply.status, { ...type, ...reply.headers });
    response.end(reply.body === undefined ? undefined : JSON.stringify(reply.body));
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  try {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    // The hotel stores what is invalid, and would return it.
    const checks = drift.startsWith('request') ? (['responses', 'valid input'] as const) : (['behavior'] as const);
    const { findings } = await check({ spec, url, disposable: true, checks, minCoverage: 0 });
    return findings.map(({ check: name, operation }) => `${name} ${operation}`);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

it('the correct hotel has no finding', async () => {
  expect(await checksOf('none')).toEqual([]);
});

const kinds: Readonly<Record<string, string>> = {
  'include-ignored': 'selection-ignored listRooms',
  'include-always': 'selection-ignored listRooms',
  'include-second-lost': 'selection-ignored listRooms',
  'embedded-another': 'embedded-another listRooms',
  'fields-ignored': 'selection-ignored listRooms',
  'fields-second-lost': 'selection-ignored listRooms',
  'page-constant': 'page-total listRooms',
  'size-constant': 'page-total listRooms',
  'pages-floor': 'page-total listRooms',
  'gt-includes': 'filter-ignored listRooms',
  'gte-excludes': 'filter-lost listRooms',
  'lt-includes': 'filter-ignored listRooms',
  'lte-excludes': 'filter-lost listRooms',
  'last-beyond': 'page-next listRooms',
  'bulk-last-kept': 'bulk-lost deleteRooms',
  'bulk-unknown-done': 'bulk-results deleteRooms',
  'bulk-reversed': 'bulk-results deleteRooms',
  'bulk-takes-another': 'bulk-affects deleteRooms',
  'below-deleted': 'delete-below listKeys',
  'keys-of-all': 'list-leaks listKeys',
  'head-never-304': 'if-none-match headRoom',
  'change-accepted': 'transition-accepted updateRoom',
  'change-rejected': 'transition-rejected updateRoom',
  'request-id-other': 'response-header getRoom',
};

it.each(sampleOf(Object.entries(kinds), 9))('%s is found', async (drift, expected) => {
  expect(await checksOf(drift)).toContain(expected);
});
