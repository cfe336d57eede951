import { createHash, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isObject, type JsonObject } from '../../src/json.ts';
import { contract } from './library-contract.ts';

/** A small library server that follows its contract, except for the flaws that are enabled. */
export interface RunningLibrary {
  readonly url: string;
  readonly spec: string;
  readonly flaws: Set<string>;
  /** Deletes all data and disables all flaws. */
  reset(): void;
  close(): Promise<void>;
}

interface Row extends JsonObject {
  id: string;
  version: number;
}

interface Reply {
  readonly status: number;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
}

interface IncomingRequest {
  readonly method: string;
  readonly segments: readonly string[];
  readonly query: URLSearchParams;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: JsonObject;
  readonly tenant: string;
}

interface Kept {
  readonly tenant: string;
  row: Row;
}

const bookMembers = [
  ...['title', 'subtitle', 'pages', 'price', 'genre', 'inPrint', 'tags', 'publisher', 'chapters', 'publishedOn'],
  'secret',
];
const defaults: Readonly<Record<string, JsonObject>> = {
  books: { state: 'free', genre: 'novel', inPrint: true, subtitle: null, tags: [] },
  authors: { country: 'DE', note: null },
  copies: { condition: 'good', note: null },
  notes: {},
  shelves: {},
};
const required: Readonly<Record<string, readonly string[]>> = {
  books: ['title', 'pages'],
  authors: ['name'],
  copies: ['code'],
  notes: ['text'],
  shelves: ['place'],
};
const types: Readonly<Record<string, string>> = {
  title: 'string',
  subtitle: 'string|null',
  pages: 'number',
  price: 'string',
  genre: 'string',
  inPrint: 'boolean',
  name: 'string',
  country: 'string',
  note: 'string|null',
  code: 'string',
  condition: 'string',
  publishedOn: 'string',
  text: 'string',
  place: 'string',
  height: 'number',
};

export async function startLibrary(): Promise<RunningLibrary> {
  const flaws = new Set<string>();
  let library = new Library(flaws);
  const server = createServer((request, outgoing) => void serve(library, request, outgoing));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const directory = await mkdtemp(join(tmpdir(), 'shelf-'));
  const spec = join(directory, 'openapi.json');
  await writeFile(spec, JSON.stringify(contract, undefined, 1));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spec,
    flaws,
    reset() {
      flaws.clear();
      library = new Library(flaws);
    },
    async close() {
      server.close();
      server.closeAllConnections();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

async function serve(library: Library, request: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost');
  const reply = library.respond({
    method: request.method ?? 'GET',
    segments: pathname.split('/').slice(1),
    query: searchParams,
    headers: request.headers as Record<string, string>,
    body: bodyOf(Buffer.concat(chunks).toString()),
    tenant: request.headers.authorization ?? '',
  });
  const text = reply.body === undefined ? undefined : JSON.stringify(reply.body);
  outgoing.writeHead(reply.status, {
    ...(text === undefined
      ? {}
      : { 'content-type': reply.status < 400 ? 'application/json' : 'application/problem+json' }),
    ...reply.headers,
  });
  outgoing.end(request.method === 'HEAD' ? undefined : text);
}

function bodyOf(text: string): JsonObject {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}

const problem = (status: number, title: string): Reply => ({ status, body: { title, status } });

class Library {
  readonly #flaws: ReadonlySet<string>;
  readonly #kept = new Map<string, Kept[]>();
  readonly #replays = new Map<string, { body: string; reply: Reply }>();
  readonly #cached = new Map<string, Reply>();
  readonly #deleted = new Set<string>();

  constructor(flaws: ReadonlySet<string>) {
    this.#flaws = flaws;
  }

  respond(incoming: IncomingRequest): Reply {
    const { method, segments, tenant } = incoming;
    const [kind = '', id] = segments;
    if (!tenant.startsWith('Bearer ')) return problem(401, 'Who are you?');
    if (!(kind in required)) return problem(404, 'There is no such path');
    if (id === undefined) return method === 'POST' ? this.#createOnce(kind, incoming) : this.#list(kind, incoming);
    if (kind === 'copies' && id === 'upsert') return this.#upsert(incoming);
    if (kind === 'shelves') return this.#onShelf(id, incoming);
    if (segments.length > 2) return this.#beneath(id, incoming);
    return this.#onItem(kind, id, incoming);
  }

  #has(flaw: string): boolean {
    return this.#flaws.has(flaw);
  }

  #rows(kind: string): Kept[] {
    const rows = this.#kept.get(kind) ?? [];
    this.#kept.set(kind, rows);
    return rows;
  }

  #createOnce(kind: string, incoming: IncomingRequest): Reply {
    const key = incoming.headers['idempotency-key'];
    if (key === undefined || this.#has('key ignored')) return this.#create(kind, incoming);
    const known = this.#replays.get(`${incoming.tenant} ${key}`);
    const body = JSON.stringify(incoming.body);
    if (known !== undefined && known.body !== body)
      return this.#has('key for another body') ? known.reply : problem(409, 'The key was used for another body');
    if (known !== undefined && this.#has('replay is a conflict')) return problem(409, 'The key was used');
    if (known !== undefined && this.#has('replay with another id'))
      return { ...known.reply, body: { ...(known.reply.body as JsonObject), id: randomUUID() } };
    if (known !== undefined) return known.reply;
    const reply = this.#create(kind, incoming);
    if (reply.status < 300)
      this.#replays.set(this.#has('all keys are one') ? `${incoming.tenant} ` : `${incoming.tenant} ${key}`, {
        body,
        reply,
      });
    return reply;
  }

  #create(kind: string, { body, tenant }: IncomingRequest): Reply {
    const wrong = rejection(kind, body, true);
    if (wrong !== undefined) return wrong;
    if (this.#isNameTaken(kind, body, tenant) && !this.#has('name twice')) return problem(409, 'The name is in use');
    const now = new Date().toISOString();
    const fixed = { id: randomUUID(), version: 1, createdAt: now, updatedAt: now };
    const row: Row = {
      ...defaults[kind],
      ...writable(kind, body),
      ...(kind === 'authors' ? { active: true } : {}),
      ...fixed,
    };
    if (this.#has('id from request accepted') && typeof body.id === 'string') row.id = body.id;
    if (this.#has('default of another genre') && body.genre === undefined) row.genre = 'poetry';
    if (this.#has('default null') && body.inPrint === undefined) row.inPrint = null;
    if (this.#has('same id') && this.#rows(kind).length > 0) row.id = this.#rows(kind)[0]?.row.id ?? row.id;
    const stored: Row = { ...row };
    if (this.#has('title in capitals') && typeof stored.title === 'string') stored.title = stored.title.toUpperCase();
    if (Array.isArray(row.chapters)) {
      const draft = this.#has('chapters are drafts');
      const chapters = row.chapters.filter(isObject).map((chapter) => ({ draft, ...chapter }));
      row.chapters = chapters;
      stored.chapters = this.#has('chapters reversed') ? chapters.toReversed() : chapters;
    }
    if (this.#has('subtitle lost')) delete stored.subtitle;
    if (this.#has('price rounded') && typeof stored.price === 'string')
      stored.price = `${Math.trunc(Number(stored.price))}.00`;
    if (this.#has('city lost') && isObject(stored.publisher))
      stored.publisher = { ...stored.publisher, city: undefined };
    if (this.#has('inPrint ignored')) stored.inPrint = true;
    if (this.#has('last tag lost') && Array.isArray(stored.tags)) stored.tags = stored.tags.slice(0, -1);
    if (this.#has('day before') && typeof stored.publishedOn === 'string')
      stored.publishedOn = new Date(Date.parse(stored.publishedOn) - 86_400_000).toISOString().slice(0, 10);
    if (!this.#has('create not stored')) this.#rows(kind).push({ tenant, row: stored });
    const returned = { ...row };
    if (this.#has('response with another title')) returned.title = 'Untitled';
    if (this.#has('response with another id')) returned.id = randomUUID();
    const other = this.#rows(kind)[0]?.row.id;
    const location = this.#has('location nowhere')
      ? `/${kind}/${randomUUID()}`
      : this.#has('location of another')
        ? `/${kind}/${other}`
        : `/${kind}/${row.id}`;
    return { status: 201, headers: { location, etag: etagOf(row) }, body: shown(returned) };
  }

  /** Whether another author has the name. */
  #isNameTaken(kind: string, { name }: JsonObject, tenant: string, own?: Kept): boolean {
    const isOther = (one: Kept) => one !== own && one.tenant === tenant && one.row.name === name;
    return kind === 'authors' && name !== undefined && this.#rows(kind).some(isOther);
  }

  #list(kind: string, { query, tenant, method }: IncomingRequest): Reply {
    const limit = Number(query.get('limit') ?? 20);
    const offset = Number(query.get('offset') ?? 0);
    let rows = this.#rows(kind).filter((one) => one.tenant === tenant || this.#has('other tenant lists'));
    if (kind === 'authors' && query.get('inactive') !== 'true') rows = rows.filter(({ row }) => row.active === true);
    if (kind === 'shelves' && query.get('include_deleted') === 'true')
      rows = [...rows, ...this.#rows('deleted shelves').filter((one) => one.tenant === tenant)];
    if (this.#has('list from cache')) {
      const cached = this.#cached.get(`${tenant} ${kind} ${query}`);
      if (cached !== undefined) return cached;
    }
    if (this.#has('new ones not listed')) rows = rows.slice(0, 1);
    if (this.#has('listing writes')) for (const { row } of rows.slice(0, 1)) row.pages = Number(row.pages) + 1;
    const data = rows
      .slice(offset, offset + limit)
      .map(({ row }) => (kind === 'shelves' ? shelfOf(row) : row))
      .map((row) => shown(this.#has('list with another title') ? { ...row, title: 'Listed' } : row));
    const total = this.#has('total constant') ? 3 : rows.length;
    const reply: Reply = { status: 200, body: { data, total } };
    this.#cached.set(`${tenant} ${kind} ${query}`, reply);
    return method === 'GET' ? reply : problem(405, 'No');
  }

  #onItem(kind: string, id: string, incoming: IncomingRequest): Reply {
    const { method, tenant } = incoming;
    const rows = this.#rows(kind);
    const hasFullAccess =
      (method === 'GET' && this.#has('other tenant reads')) ||
      (method === 'PATCH' && this.#has('other tenant changes')) ||
      (method === 'DELETE' && this.#has('other tenant deletes'));
    const found = rows.find(({ row, tenant: of }) => row.id === id && (of === tenant || hasFullAccess));
    if (found === undefined && method === 'GET' && this.#has('unknown is 200'))
      return {
        status: 200,
        body: shown({
          title: 'None',
          pages: 1,
          name: 'None',
          code: 'N',
          active: true,
          createdAt: '2020-01-01T00:00:00Z',
          updatedAt: '2020-01-01T00:00:00Z',
          ...defaults[kind],
          id,
          version: 1,
        }),
      };
    if (found === undefined && method === 'DELETE' && this.#has('unknown is deleted')) return { status: 204 };
    if (found === undefined) return problem(404, 'There is none');
    if (method === 'GET' || method === 'HEAD') return this.#read(kind, found, incoming);
    if (method === 'PUT' || method === 'PATCH') return this.#update(kind, found, incoming);
    if (method === 'DELETE') return this.#remove(kind, found, incoming);
    return problem(405, 'No');
  }

  /** Handles paths below a book: notes, sales and lending. */
  #beneath(bookId: string, incoming: IncomingRequest): Reply {
    const [, , what, noteId] = incoming.segments;
    const found = this.#rows('books').find(({ row, tenant }) => row.id === bookId && tenant === incoming.tenant);
    const isSold = incoming.segments[2] === 'sales' && this.#has('sales of deleted books') && this.#deleted.has(bookId);
    if (isSold) return { status: 200, body: { sold: 0 } };
    if (found === undefined) return problem(404, 'There is no such book');
    if (what === 'lend') return this.#lend(found);
    if (what === 'sales') return { status: 200, body: { sold: 0 } };
    if (incoming.method === 'POST') return this.#create('notes', { ...incoming, body: { ...incoming.body, bookId } });
    const isOf = ({ row, tenant }: Kept, flaw: string) =>
      tenant === incoming.tenant && (row.bookId === bookId || this.#has(flaw));
    if (noteId === undefined) {
      const rows = this.#rows('notes').filter((one) => isOf(one, 'notes of all books'));
      const [offset, limit] = [Number(incoming.query.get('offset') ?? 0), Number(incoming.query.get('limit') ?? 20)];
      const data = rows.slice(offset, offset + limit).map(({ row }) => row);
      return { status: 200, body: { data, total: rows.length } };
    }
    const note = this.#rows('notes').find((one) => one.row.id === noteId && isOf(one, 'notes under any book'));
    return note === undefined ? problem(404, 'There is none') : { status: 200, body: note.row };
  }

  #lend(found: Kept): Reply {
    const { row } = found;
    if (row.state === 'lent') return problem(409, 'It is lent');
    const lent = { ...row, state: 'lent', version: row.version + (this.#has('lending keeps the ETag') ? 0 : 1) };
    if (!this.#has('lending is not stored')) found.row = lent;
    return { status: 200, body: shown(lent) };
  }

  /** Clients choose the codes of shelves and create them with PUT. */
  #onShelf(code: string, incoming: IncomingRequest): Reply {
    const rows = this.#rows('shelves');
    const found = rows.find(({ row, tenant }) => row.id === code && tenant === incoming.tenant);
    if (incoming.method === 'PUT') {
      const wrong = rejection('shelves', incoming.body, true);
      if (wrong !== undefined) return wrong;
      const stored = { ...writable('shelves', incoming.body) };
      if (this.#has('height lost')) delete stored.height;
      const row: Row = { ...stored, id: code, version: 1, changed: new Date().toUTCString() };
      if (found === undefined && !this.#has('put not stored')) rows.push({ tenant: incoming.tenant, row });
      if (found !== undefined && !this.#has('replacement not stored')) found.row = row;
      return { status: found === undefined ? 201 : 200, body: shelfOf({ ...row, ...incoming.body }) };
    }
    if (found === undefined) return problem(404, 'There is none');
    const changed = String(found.row.changed);
    if (incoming.method === 'GET') {
      const since = Date.parse(incoming.headers['if-modified-since'] ?? '');
      if (since >= Date.parse(changed) && !this.#has('never 304')) return { status: 304 };
      return { status: 200, headers: { 'last-modified': changed }, body: shelfOf(found.row) };
    }
    const unless = Date.parse(incoming.headers['if-unmodified-since'] ?? '');
    if (unless < Date.parse(changed) && !this.#has('time ignored')) return problem(412, 'It has changed since');
    rows.splice(rows.indexOf(found), 1);
    if (!this.#has('deleted shelves are forgotten')) this.#rows('deleted shelves').push(found);
    return { status: 204 };
  }

  #read(kind: string, found: Kept, { headers, method }: IncomingRequest): Reply {
    const other = this.#rows(kind)[0]?.row;
    const row = this.#has('every id is the first') && other !== undefined ? other : found.row;
    const etag = this.#has('etag constant')
      ? '"0"'
      : this.#has('etag from the clock')
        ? `"${process.hrtime.bigint()}"`
        : etagOf(row);
    const isKnown = headers['if-none-match'] === etag || headers['if-none-match'] === '*';
    if (isKnown && !this.#has('never 304')) return { status: 304, headers: { etag } };
    if (method === 'HEAD' && this.#has('HEAD with another etag')) return { status: 200, headers: { etag: '"head"' } };
    if (method === 'HEAD' && this.#has('HEAD is 404')) return { status: 404 };
    const visible = this.#has('read with another genre') ? { ...row, genre: 'poetry' } : row;
    return { status: 200, headers: { etag }, body: shown(visible) };
  }

  #update(kind: string, found: Kept, incoming: IncomingRequest): Reply {
    const { method, body, headers } = incoming;
    const condition = headers['if-match'];
    const isStale = condition !== undefined && condition !== '*' && condition !== etagOf(found.row);
    if (condition === undefined && method === 'PUT') return problem(428, 'Say which version');
    if (isStale && !this.#has('If-Match ignored')) {
      if (this.#has('stale is stored')) Object.assign(found.row, writable(kind, body));
      if (this.#has('stale is a conflict')) return problem(409, 'It has changed since');
      return problem(412, 'It has changed since');
    }
    if (condition !== undefined && condition !== '*' && this.#has('If-Match always fails')) return problem(412, 'No');
    if (condition === '*' && this.#has('If-Match any fails')) return problem(400, 'No');
    const { version: known } = body;
    if (kind === 'authors' && known !== undefined && known !== found.row.version && !this.#has('version ignored'))
      return problem(409, 'It has changed since');
    const wrong = rejection(kind, body, method === 'PUT');
    if (wrong !== undefined) {
      if (this.#has('rejected is stored') && typeof body.title === 'string') found.row.title = body.title;
      return wrong;
    }
    if (this.#isNameTaken(kind, body, found.tenant, found) && !this.#has('change to a used name'))
      return problem(409, 'The name is in use');
    const before = { ...found.row };
    const kept = {
      id: before.id,
      createdAt: before.createdAt,
      ...(kind === 'authors' ? { active: before.active } : {}),
    };
    const next =
      method === 'PUT'
        ? { ...defaults[kind], ...writable(kind, body), ...kept }
        : { ...before, ...writable(kind, body) };
    const stored: Row = { ...next, id: before.id, version: before.version + 1, updatedAt: new Date().toISOString() };
    if (this.#has('PUT keeps')) for (const [name, value] of Object.entries(before)) stored[name] ??= value;
    if (this.#has('tags are added') && Array.isArray(body.tags) && Array.isArray(before.tags))
      stored.tags = [...before.tags, ...body.tags];
    if (this.#has('change not stored')) Object.assign(stored, { ...before, version: before.version + 1 });
    if (this.#has('pages not changed')) stored.pages = before.pages;
    if (this.#has('PATCH resets') && method === 'PATCH' && body.genre === undefined) stored.genre = 'novel';
    if (this.#has('PATCH clears') && method === 'PATCH' && body.publisher === undefined) delete stored.publisher;
    if (this.#has('null ignored'))
      for (const [name, value] of Object.entries(body)) if (value === null) stored[name] = before[name];
    if (this.#has('createdAt moves')) stored.createdAt = stored.updatedAt;
    if (this.#has('updatedAt stays')) stored.updatedAt = before.updatedAt;
    if (this.#has('version stays')) stored.version = before.version;
    if (this.#has('id in update accepted') && typeof body.id === 'string') stored.id = body.id;
    const other = this.#rows(kind).at(-1);
    if (this.#has('changes another too') && other !== undefined && other !== found)
      Object.assign(other.row, writable(kind, body));
    if (this.#has('changes another instead') && other !== undefined && other !== found)
      Object.assign(other.row, writable(kind, body));
    else found.row = stored;
    const visible = this.#has('change returns previous row') ? before : stored;
    return {
      status: 200,
      headers: { etag: this.#has('change returns old etag') ? etagOf(before) : etagOf(stored) },
      body: shown(visible),
    };
  }

  #remove(kind: string, found: Kept, { headers }: IncomingRequest): Reply {
    const rows = this.#rows(kind);
    const condition = headers['if-match'];
    if (condition !== undefined && !/^(?:\*|"[0-9a-f]{12}")$/.test(condition))
      return problem(400, 'No entity tag of a version');
    if (
      condition !== undefined &&
      condition !== '*' &&
      condition !== etagOf(found.row) &&
      !this.#has('If-Match ignored') &&
      !this.#has('DELETE ignores If-Match')
    )
      return problem(412, 'It has changed since');
    if (this.#has('delete does nothing'))
      return kind === 'authors' ? { status: 200, body: shown(found.row) } : { status: 204 };
    if (kind === 'authors') {
      const changed = found.row.active === true;
      found.row.active = false;
      if (changed) found.row.version += 1;
      return { status: 200, body: shown(found.row) };
    }
    this.#deleted.add(found.row.id);
    const victim = this.#has('delete removes another')
      ? (rows.findLast((one) => one !== found && one.tenant === found.tenant) ?? found)
      : found;
    rows.splice(rows.indexOf(victim), 1);
    if (this.#has('delete removes another too') && rows.length > 0) rows.splice(-1, 1);
    return { status: 204 };
  }

  #upsert({ body, tenant }: IncomingRequest): Reply {
    const copies = Array.isArray(body.copies) ? body.copies.filter(isObject) : [];
    if (copies.length === 0) return problem(400, 'There is none');
    const results = copies.map((copy, index) => this.#upsertOne(copy, index, tenant, copies));
    if (this.#has('all items silently rolled back') && results.some(({ error }) => error !== null)) {
      for (const { id } of results) this.#drop(id);
    }
    const visible = this.#has('one result missing')
      ? results.slice(1)
      : this.#has('results reversed')
        ? results.map((one, index) => ({ ...one, ...(results.at(-1 - index) ?? {}), index }))
        : results;
    const failed = results.filter(({ error }) => error !== null).length + (this.#has('failures miscounted') ? 1 : 0);
    const same = this.#has('every index is 0') ? visible.map((one) => ({ ...one, index: 0 })) : visible;
    return { status: 200, body: { results: same, failed_count: failed } };
  }

  #drop(id: unknown): void {
    const rows = this.#rows('copies');
    const index = rows.findIndex(({ row }) => row.id === id);
    if (index >= 0) rows.splice(index, 1);
  }

  #upsertOne(copy: JsonObject, index: number, tenant: string, all: readonly JsonObject[]): JsonObject {
    const code = copy.code;
    const rows = this.#rows('copies');
    if (copy.bookId !== undefined && !this.#rows('books').some(({ row }) => row.id === copy.bookId))
      return { index, id: null, code, error: { message: 'There is no such book' } };
    const known = this.#has('upsert creates a second')
      ? undefined
      : rows.find(({ row, tenant: of }) => of === tenant && row.code === code);
    if (known !== undefined) {
      known.row = { ...known.row, ...writable('copies', copy), version: known.row.version + 1 };
      return { index, id: known.row.id, code, error: null };
    }
    const row: Row = { ...defaults.copies, ...writable('copies', copy), id: randomUUID(), version: 1 };
    if (this.#has('items get the note of the first') && all[0] !== undefined) row.note = all[0].note ?? null;
    if (!(this.#has('last item not stored') && index > 0 && index === all.length - 1)) rows.push({ tenant, row });
    return { index, id: row.id, code, error: null };
  }
}

function shelfOf({ id, changed: _changed, version: _version, ...row }: JsonObject): JsonObject {
  return { ...row, code: id };
}

function shown(row: JsonObject): JsonObject {
  const { secret: _secret, ...rest } = row;
  return rest;
}

function writable(kind: string, body: JsonObject): JsonObject {
  const names =
    {
      books: bookMembers,
      authors: ['name', 'country', 'note'],
      copies: ['code', 'condition', 'note', 'bookId'],
      notes: ['text', 'bookId'],
      shelves: ['place', 'height'],
    }[kind] ?? [];
  return Object.fromEntries(Object.entries(body).filter(([name]) => names.includes(name)));
}

function rejection(kind: string, body: JsonObject, isWhole: boolean): Reply | undefined {
  const missing = isWhole ? (required[kind] ?? []).filter((name) => body[name] === undefined) : [];
  const wrong = Object.entries(body).filter(
    ([name, value]) =>
      types[name] !== undefined && !types[name].split('|').includes(value === null ? 'null' : typeof value),
  );
  return missing.length + wrong.length === 0
    ? undefined
    : problem(400, `Wrong: ${[...missing, ...wrong.map(([name]) => name)]}`);
}

function etagOf(row: Row): string {
  return `"${createHash('sha256').update(`${row.id} ${row.version}`).digest('hex').slice(0, 12)}"`;
}
