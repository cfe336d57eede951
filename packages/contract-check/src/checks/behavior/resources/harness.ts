import { randomUUID } from 'node:crypto';
import type { Operation } from '../../../document/operation.ts';
import { type Call, type Exchange, emptyCall, isSuccess } from '../../../http/call.ts';
import { pathPattern, pathTexts } from '../../../http/deserialize.ts';
import { isObject, type JsonObject, withMember } from '../../../json.ts';
import type { Identity } from '../../../run/identities.ts';
import type { KnownRequest } from '../../../run/known-requests.ts';
import { isOwnId, kindOfReference, lastParameter } from '../../../run/names.ts';
import { atEveryDepth, renewed } from '../../../run/renewal.ts';
import type { SendOptions, Session } from '../../../run/session.ts';
import { requestSchema, View } from '../../../schema/view.ts';
import type { CheckContext } from '../../check.ts';
import { hasItemErrors } from '../../outcome.ts';
import { type FullList, readCollection } from '../lists/listing.ts';
import { need } from '../observe.ts';
import { ownId, resourceIn } from './compare.ts';
import { enriched, otherValues, withoutOptional } from './enrich.ts';
import type { ResourceType } from './resource-types.ts';

export interface Resource {
  readonly call: Call;
  readonly created: Exchange;
  readonly sent: JsonObject;
  /** The body of the create response. */
  readonly body: JsonObject;
  /** The path parameters of the resource. */
  readonly address: Readonly<Record<string, unknown>>;
  readonly id: unknown;
}

/** A resource as the server returns it. */
export interface Shown {
  readonly row: JsonObject;
  readonly exchange: Exchange;
  /** The schema of the row, if it differs from that of the whole response. */
  readonly schema?: JsonObject | undefined;
}

export interface Created extends Shown {
  readonly resource: Resource;
}

/** How to fill a create request: as in the known call, with all values varied, or with required properties only. */
export type Filling = 'known' | 'varied' | 'least';

type Texts = Readonly<Record<string, string>>;

/** Creates, reads, changes and removes resources of one type. */
export class ResourceHarness {
  readonly context: CheckContext;
  readonly session: Session;
  readonly resourceType: ResourceType;
  /** The create call with as many properties as the server accepts. */
  #rich: Call;
  /** The create call that is known to succeed. */
  readonly #plain: Call;
  /** Maximum depth of texts that may change. Deeper texts may depend on each other. */
  #depth = 9;
  /** How the address of a new resource was found. */
  #way: string | undefined;

  constructor(context: CheckContext, resourceType: ResourceType, known: KnownRequest) {
    this.context = context;
    this.session = context.session;
    this.resourceType = resourceType;
    this.#plain = withoutKey(known.call);
    this.#rich = this.#plain;
  }

  get document() {
    return this.session.document;
  }

  /** Whether an operation allows a body. */
  accepts(operation: Operation, body: unknown): boolean {
    return this.session.validators.accepts(requestSchema(operation) ?? {}, body, 'request');
  }

  /** Determines which properties a create request accepts, and where the resource can be read. */
  async start(): Promise<Resource | undefined> {
    this.#rich = await enriched(this.session, this.#rich, (schema, body, seed) =>
      this.#freshened(schema, body, seed, 1),
    );
    const resource = await this.create('first');
    if (resource === undefined || this.resourceType.read === undefined) return resource;
    for (const { way, address } of addressesOf(this.resourceType, resource.call, resource.created)) {
      const found = { ...resource, address, id: this.#idIn(address, resource.body) };
      const read = await this.read(found);
      if (read === undefined || !isSuccess(read)) continue;
      this.#way = way;
      return found;
    }
    return resource;
  }

  /** Whether a created resource could be read. */
  get isReadable(): boolean {
    return this.#way !== undefined;
  }

  /** Creates a resource; with fewer properties and fewer fresh texts if the server rejects the request. */
  async create(label: string, filling: Filling = 'known'): Promise<Resource | undefined> {
    const { create } = this.resourceType;
    // An earlier run with the same seed may have used the values, and also the keys.
    const other = `${label} ${randomUUID()}`;
    const ways: readonly (() => Promise<Call | undefined>)[] = [
      () => this.callTo(create, label, filling),
      () => this.callTo(create, other, filling, 1),
      () => this.callTo(create, other, 'known', 1, this.#plain),
      async () => renewed(this.session, this.#plain, other, { ...atEveryDepth, keys: true }),
    ];
    for (const [turn, way] of ways.entries()) {
      const call = this.session.isOver ? undefined : await way();
      if (call === undefined) continue;
      const created = await this.session.send(call);
      const isNew = call.operation.method !== 'PUT' || created.response.status === 201;
      if (!isNew || !isSuccess(created) || hasItemErrors(created)) continue;
      if (turn > 0) this.#depth = 1;
      if (turn > 1) this.#rich = this.#plain;
      return this.resourceOf(call, created);
    }
    return undefined;
  }

  /** Creates a resource and reads it. An observation ends if that is not possible. */
  async createAndRead(label: string): Promise<Created> {
    const resource = need(await this.create(label));
    return { resource, ...need(await this.shown(resource)) };
  }

  resourceOf(call: Call, created: Exchange): Resource {
    const body = resourceIn(created);
    const sent = isObject(call.body) ? call.body : {};
    const found = addressesOf(this.resourceType, call, created);
    const { address = {} } = found.find(({ way }) => way === this.#way) ?? found[0] ?? {};
    return { call, created, sent, body, address, id: this.#idIn(address, body) };
  }

  /** A create call with fresh texts; undefined if no unused path is found. */
  async callTo(
    create: Operation,
    label: string,
    filling: Filling = 'known',
    depth = this.#depth,
    base = this.#rich,
  ): Promise<Call | undefined> {
    const schema = requestSchema(create);
    const seed = this.session.seedFor(`${create.id} ${label}`);
    if (schema === undefined || !isObject(base.body)) return base;
    const body = filling === 'least' ? withoutOptional(base.body, (one) => this.accepts(create, one)) : base.body;
    const fresh = this.#freshened(schema, body, seed, depth);
    const call = { ...base, body: filling === 'varied' && isObject(fresh) ? this.#varied(schema, fresh, seed) : fresh };
    return create.method === 'PUT' ? this.context.requests.putNew(call, label) : call;
  }

  /** The body with every scalar changed that can be changed alone. */
  #varied(schema: JsonObject, body: JsonObject, seed: number): JsonObject {
    const view = View.of(this.document, schema);
    return Object.keys(body).reduce((varied, name) => {
      const others = otherValues(this.session, view.member(name), varied[name], name, seed);
      const bodies = others.map((value) => withMember(varied, name, value));
      return bodies.find((one) => this.session.validators.accepts(schema, one, 'request')) ?? varied;
    }, body);
  }

  async read(
    resource: Resource,
    options: SendOptions & { readonly headers?: Texts } = {},
  ): Promise<Exchange | undefined> {
    const { read } = this.resourceType;
    const call = read && this.callOn(read, resource);
    return (
      call &&
      this.session.send(options.headers === undefined ? call : { ...call, raw: { headers: options.headers } }, options)
    );
  }

  /** The resource as returned by its read operation, or by its list if there is none; undefined if it cannot be read. */
  async shown(resource: Resource): Promise<Shown | undefined> {
    const { read, list } = this.resourceType;
    if (read !== undefined) {
      const exchange = await this.read(resource);
      const isRead = exchange !== undefined && isSuccess(exchange) && isObject(exchange.response.json?.value);
      return isRead ? { row: resourceIn(exchange), exchange } : undefined;
    }
    const all = list && (await readCollection(this.context, list, resource.call.path));
    const row = all?.rows.find((one) => this.isOf(resource, one));
    return all && row && { row, exchange: all.exchange, schema: all.rowSchema };
  }

  /** The call of an operation on a resource, without a body. */
  callOn(
    operation: Operation,
    resource: Resource,
    known: Call | undefined = this.context.requests.of(operation)?.call ?? unknownCall(operation),
  ): Call | undefined {
    const path = this.#pathOf(operation, resource);
    return known && path && { ...withoutKey(known), path, body: undefined };
  }

  async change(
    operation: Operation,
    resource: Resource,
    body: unknown,
    headers: Texts = {},
    identity: Identity = 'caller',
  ): Promise<Exchange> {
    const call = need(this.callOn(operation, resource));
    const all = await this.#withRequiredHeaders(operation, resource, headers);
    return this.session.send({ ...call, body, raw: { headers: all } }, { identity });
  }

  /** Updates a resource without a precondition, even if the operation requires one. */
  changeUnconditionally(operation: Operation, resource: Resource, body: unknown): Promise<Exchange> {
    return this.session.send({ ...need(this.callOn(operation, resource)), body });
  }

  async remove(resource: Resource, headers: Texts = {}, identity: Identity = 'caller'): Promise<Exchange> {
    const remove = need(this.resourceType.remove);
    return this.change(remove, resource, this.context.requests.of(remove)?.call.body, headers, identity);
  }

  list(operation: Operation): Promise<FullList | undefined> {
    return readCollection(this.context, operation, this.#rich.path);
  }

  /** Whether a row or a response is this resource. */
  isOf(resource: Resource, row: JsonObject): boolean {
    const named = (test: (name: string) => boolean) => Object.entries(row).find(([name]) => test(name))?.[1];
    const name = lastParameter(this.resourceType.read?.path ?? '') ?? 'id';
    const own = row[name] ?? named(isOwnId) ?? named((key) => kindOfReference(key) === this.resourceType.kind);
    // Without an ID, a row is identified by a name or a token, which the path calls otherwise.
    const values = own === undefined ? Object.values(row).filter((value) => typeof value === 'string') : [own];
    return values.some((value) => String(value) === String(resource.id));
  }

  /** Adds a precondition if the operation requires one. */
  async #withRequiredHeaders(operation: Operation, resource: Resource, headers: Texts): Promise<Texts> {
    const condition = operation.parameters.find(
      ({ in: place, name }) => place === 'header' && /^if-match$/i.test(name),
    );
    const isNeeded =
      condition?.required === true || (condition && operation.responses.some(({ status }) => status === '428'));
    if (!isNeeded || 'if-match' in headers) return headers;
    const etag = (await this.read(resource))?.response.headers.etag;
    return etag === undefined ? headers : { ...headers, 'if-match': etag };
  }

  #idIn(address: Readonly<Record<string, unknown>>, body: JsonObject): unknown {
    const { read, updates, remove } = this.resourceType;
    const name = lastParameter((read ?? updates[0] ?? remove)?.path ?? '');
    return name === undefined ? ownId(body) : address[name];
  }

  #pathOf({ path, parameters }: Operation, { id, body, call, address }: Resource): Record<string, unknown> | undefined {
    const last = lastParameter(path);
    const names = parameters.filter((parameter) => parameter.in === 'path').map(({ name }) => name);
    const values = names.map((name) => (name === last ? (id ?? body[name]) : (call.path[name] ?? address[name])));
    return values.includes(undefined)
      ? undefined
      : Object.fromEntries(names.map((name, index) => [name, values[index]]));
  }

  #freshened(schema: JsonObject, body: unknown, seed: number, depth = this.#depth): unknown {
    return this.session.values.fresh(schema, body, seed, (pointer, key) => {
      const kind = kindOfReference(key);
      // A key named after the resource's own type identifies the new resource.
      const isReference = kind !== undefined && !(kind === this.resourceType.kind && !/ids?$/i.test(key));
      return pointer.split('/').length - 1 <= depth && !isReference && !isOwnId(key);
    });
  }
}

interface Found {
  /** How it was found. The same method also works for later resources. */
  readonly way: string;
  readonly address: Readonly<Record<string, unknown>>;
}

/** Possible addresses of a new resource, most likely first. */
function addressesOf({ create, read, updates, remove, kind }: ResourceType, call: Call, created: Exchange): Found[] {
  const item = read ?? updates[0] ?? remove;
  const name = item && lastParameter(item.path);
  if (item === undefined || name === undefined) return [];
  const body = resourceIn(created);
  const sent = isObject(call.body) ? call.body : {};
  const ofKind = Object.keys(body).find((key) => kindOfReference(key) === kind && !Array.isArray(body[key])) ?? '';
  const located = locationIn(item, created);
  const found: [string, unknown][] = [
    [`response ${name}`, body[name]],
    ['response id', ownId(body)],
    ['response kind', body[ofKind]],
    ['location', located?.[name]],
    [`request ${name}`, sent[name]],
    // A PUT creates the resource at its own path.
    ['path', create.method === 'PUT' ? call.path[name] : undefined],
  ];
  return found
    .filter(([, value]) => ['string', 'number'].includes(typeof value))
    .map(([way, value]) => ({ way, address: { ...call.path, ...located, [name]: value } }));
}

/** The path parameters in the `Location` header. */
export function locationIn({ path }: Operation, { response, request }: Exchange): Record<string, string> | undefined {
  const { location } = response.headers;
  if (location === undefined || !URL.canParse(location, request.url)) return undefined;
  const { pathname } = new URL(location, request.url);
  // The server's URL may have a path, too.
  const own = pathname.split('/').slice(1 - path.split('/').length);
  return pathPattern(path).test(`/${own.join('/')}`) ? pathTexts(path, `/${own.join('/')}`) : undefined;
}

/** A minimal call if only the path and a precondition are required. It may succeed although none did before. */
function unknownCall(operation: Operation): Call | undefined {
  const isComplete = operation.parameters.every(
    ({ in: place, name, required }) => !required || place === 'path' || /^if-match$/i.test(name),
  );
  return isComplete ? emptyCall(operation) : undefined;
}

/** The call without its idempotency key, because a repeated key creates nothing; with a fresh one if it is required. */
function withoutKey(call: Call): Call {
  const isRequired = (name: string) => call.operation.parameters.some((one) => one.name === name && one.required);
  const headers = Object.entries(call.headers).flatMap(([name, value]) => {
    if (/idempotency/i.test(name)) return isRequired(name) ? [[name, randomUUID()]] : [];
    return /^if-/i.test(name) ? [] : [[name, value]];
  });
  return { ...call, headers: Object.fromEntries(headers) };
}
