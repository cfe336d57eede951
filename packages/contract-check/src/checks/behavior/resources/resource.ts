import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Operation } from '../../../document/operation.ts';
import { type Call, type Exchange, emptyCall, flatCall, isSuccess, locationOf, type Raw } from '../../../http/call.ts';
import { decoded, pathPattern, pathTexts } from '../../../http/deserialize.ts';
import { formMembers, isForm, isKey, isObject, isScalar, type JsonObject, mapped, withMember } from '../../../json.ts';
import { isComplete } from '../../../judge/outcome.ts';
import type { Identity } from '../../../run/identities.ts';
import type { KnownRequest } from '../../../run/known-requests.ts';
import { isOwnId, kindOfReference, lastParameter } from '../../../run/names.ts';
import { namedIn, withoutCollection } from '../../../run/pool.ts';
import { atEveryDepth, type Freshness, renewed } from '../../../run/renewal.ts';
import type { Session } from '../../../run/session.ts';
import { requestSchema, View } from '../../../schema/view.ts';
import { type CheckContext, need } from '../../observe.ts';
import { Listing, type Settings } from '../lists/listing.ts';
import { innerView, isOpen, ownId, resourceIn } from './compare.ts';
import { enriched, otherValues, withoutOptional } from './enrich.ts';
import { conditionOf, declares, type ResourceType } from './resource-types.ts';

export interface Resource {
  readonly call: Call;
  readonly created: Exchange;
  readonly sent: JsonObject;
  readonly body: JsonObject;
  readonly path: Readonly<Record<string, unknown>>;
  readonly id: unknown;
  /** The values of all places that can have its ID, most likely first. */
  readonly ids: readonly unknown[];
}

export interface Shown {
  readonly row: JsonObject;
  readonly exchange: Exchange;
  readonly view: View;
}

export interface Created extends Shown {
  readonly resource: Resource;
}

/**
 * How to fill a create request: as in the known call, with all values varied, with required
 * properties only, or with those only in nested objects.
 */
export type Filling = 'known' | 'varied' | 'least' | 'shallow';

/** The time between two reads of a job, in milliseconds. */
const pollPause = 50;

/** Headers; null removes one that is sent otherwise. */
export type Headers = NonNullable<Raw['headers']>;

/** Creates, reads, changes and removes resources of one type. */
export class ResourceHarness {
  readonly context: CheckContext;
  readonly session: Session;
  readonly resourceType: ResourceType;
  /** Whether a created resource could be read. */
  isReadable = false;
  /** The create call with as many properties as the server accepts. */
  #rich: Call;
  /** Where the ID of a new resource is: an index of its `ids`. */
  #source = 0;

  constructor(context: CheckContext, resourceType: ResourceType, known: KnownRequest) {
    this.context = context;
    this.session = context.session;
    this.resourceType = resourceType;
    this.#rich = flatCall(withoutKey(known.call));
  }

  get document() {
    return this.session.document;
  }

  accepts(operation: Operation, body: unknown): boolean {
    return this.session.validators.accepts(requestSchema(operation) ?? {}, body);
  }

  /** Determines which properties a create request accepts, and where the resource can be read. */
  async start(): Promise<Resource | undefined> {
    this.#rich = await enriched(this.session, this.#rich);
    const resource = await this.create('first');
    if (resource === undefined || this.resourceType.read === undefined) return resource;
    for (const source of resource.ids.keys()) {
      this.#source = source;
      const exchange = await this.read(this.resourceOf(resource.call, resource.created));
      this.isReadable = exchange !== undefined && isSuccess(exchange);
      if (this.isReadable) break;
    }
    return resource;
  }

  /** Creates a resource; with fewer properties if the server rejects the request. */
  async create(label: string, filling: Filling = 'known'): Promise<Resource | undefined> {
    const { create } = this.resourceType;
    const { requests } = this.context;
    // An earlier run with the same seed may have used the values.
    const labelOf = (turn: number) => (turn === 0 ? label : `${label} ${randomUUID()}`);
    const fresh = (freshness: Freshness, turn: number) => this.callTo(labelOf(turn), filling, freshness);
    const sent = await requests.untilNew(create, fresh, isComplete);
    if (sent !== undefined && isComplete(sent.exchange)) return this.resourceOf(sent.call, sent.exchange);
    const known = this.session.isOver ? undefined : await requests.again(create, labelOf(1));
    if (known === undefined) return undefined;
    // What the request refers to can be used up: a seat is sold only once.
    const before = this.#rich;
    this.#rich = { ...before, path: known.call.path, body: referringAs(before.body, flatCall(known.call).body) };
    const other = await requests.untilNew(
      create,
      (freshness) => this.callTo(`${label} other`, filling, freshness),
      isComplete,
    );
    if (other !== undefined && isComplete(other.exchange)) return this.resourceOf(other.call, other.exchange);
    if (filling === 'known') this.#rich = flatCall(withoutKey(known.call));
    return this.resourceOf(known.call, known.exchange);
  }

  /** Creates a resource and reads it. An observation ends if that is not possible. */
  async createAndRead(label: string, filling?: Filling): Promise<Created> {
    const resource = need(await this.create(label, filling));
    return { resource, ...need(await this.shown(resource)) };
  }

  resourceOf(known: Call, created: Exchange): Resource {
    const call = flatCall(known);
    const { read, updates, remove, kind } = this.resourceType;
    const body = resourceIn(created);
    const own = isObject(call.body) ? call.body : {};
    const sent = isForm(call.mediaType ?? '') ? formMembers(own) : own;
    const item = read ?? updates[0] ?? remove;
    const name = lastParameter(item?.path ?? '') ?? '';
    const located = item && locationIn(item, created);
    const isReference = (key: string) => kindOfReference(key) === kind && isScalar(body[key]);
    const reference = body[Object.keys(body).find(isReference) ?? ''];
    // A PUT creates the resource at its own path.
    const atPath = call.operation.method === 'PUT' ? call.path[name] : undefined;
    const named = withoutCollection(body.name);
    const ids = [namedIn(body, name), ownId(body), reference, located?.[name], sent[name], atPath, named];
    const id = [ids[this.#source], ...ids].find(isKey);
    return { call, created, sent, body, path: { ...call.path, ...located, [name]: id }, id, ids };
  }

  /** A create call with fresh texts; undefined if no unused path is found. */
  async callTo(label: string, filling: Filling = 'known', freshness = atEveryDepth): Promise<Call | undefined> {
    const { create } = this.resourceType;
    const base = this.#rich;
    if (!isObject(base.body)) return base;
    const isLess = filling === 'least' || filling === 'shallow';
    const accepts = (one: unknown) => this.accepts(create, one);
    const body = isLess ? withoutOptional(base.body, filling === 'shallow', accepts) : base.body;
    const fresh = renewed(this.session, { ...base, body }, label, freshness);
    const call = filling === 'varied' ? this.#varied(fresh, label) : fresh;
    return create.method === 'PUT' ? this.context.requests.putNew(call, label) : call;
  }

  /** The call with every scalar changed that can be changed alone. */
  #varied(call: Call, label: string): Call {
    const { operation } = call;
    const view = View.ofRequest(this.document, operation);
    const seed = this.session.seedFor(`${operation.id} ${label}`);
    const start: JsonObject = Object(call.body);
    const body = Object.keys(start).reduce((varied, name) => {
      const others = otherValues(this.session, view.member(name), varied[name], name, seed);
      const bodies = others.map((value) => withMember(varied, name, value));
      return bodies.find((one) => this.accepts(operation, one)) ?? varied;
    }, start);
    return { ...call, body };
  }

  async read(
    resource: Resource,
    headers: Headers = {},
    identity: Identity = 'caller',
    query: Call['query'] = {},
  ): Promise<Exchange | undefined> {
    const { read } = this.resourceType;
    const call = read && this.callOn(read, resource);
    return call && this.session.send({ ...call, query: { ...call.query, ...query }, raw: { headers } }, { identity });
  }

  /** The responses of operations that read something of a resource. */
  async readEach(operations: readonly Operation[], resource: Resource) {
    const all: { readonly operation: Operation; readonly exchange: Exchange }[] = [];
    for (const operation of operations) {
      const call = this.callOn(operation, resource);
      if (call !== undefined) all.push({ operation, exchange: await this.session.send(call) });
    }
    return all;
  }

  /** The resource as returned by its read operation, or by its list if there is none; undefined if it cannot be read. */
  async shown(resource: Resource): Promise<Shown | undefined> {
    const { read, list } = this.resourceType;
    if (read !== undefined) {
      const exchange = await this.read(resource);
      if (exchange === undefined || !isSuccess(exchange) || !isObject(exchange.response.json?.value)) return undefined;
      const row = resourceIn(exchange);
      return { row, exchange, view: innerView(View.ofResponse(this.document, read, exchange.response.status), row) };
    }
    const found = await this.finder(list, resource)?.look();
    return found?.row && { row: found.row, exchange: found.exchange, view: View.of(this.document, found.rowSchema) };
  }

  /** What is read of a resource once it does not change by itself any more, or when the time is up. */
  async settled(resource: Resource, milliseconds: number): Promise<Shown | undefined> {
    const end = performance.now() + milliseconds;
    for (;;) {
      const shown = await this.shown(resource);
      if (shown === undefined || !isOpen(shown) || performance.now() > end || this.session.isOver) return shown;
      await sleep(pollPause);
    }
  }

  /** The IDs of what the run created beside a resource, and did not delete. */
  earlier({ created }: Resource): string[] {
    const { footprint } = this.session;
    const collection = `${footprint.below(new URL(created.request.url).pathname)}/`;
    return footprint.created().flatMap((one) => {
      const id = one.startsWith(collection) ? one.slice(collection.length) : '';
      return id === '' || id.includes('/') ? [] : [decoded(id)];
    });
  }

  /** The call of an operation on a resource, without a body. */
  callOn(operation: Operation, resource: Resource): Call | undefined {
    // Without a known call, one of only the path may still succeed.
    const known = this.context.requests.of(operation)?.call ?? emptyCall(operation);
    const path = pathOf(operation, resource);
    return path && { ...flatCall(withoutKey(known)), path, body: undefined };
  }

  /** Updates a resource, with a precondition if the operation requires one. */
  async change(
    operation: Operation,
    resource: Resource,
    body: unknown,
    headers: Headers = {},
    identity: Identity = 'caller',
  ): Promise<Exchange> {
    const call = need(this.callOn(operation, resource));
    const condition = conditionOf(operation);
    const isNeeded = condition?.required === true || (condition !== undefined && declares(operation, 428));
    const etag = isNeeded && !('if-match' in headers) ? (await this.read(resource))?.response.headers.etag : undefined;
    const all = etag === undefined ? headers : { ...headers, 'if-match': etag };
    return this.session.send({ ...call, body, raw: { headers: all } }, { identity });
  }

  async remove(resource: Resource, headers: Headers = {}, identity: Identity = 'caller'): Promise<Exchange> {
    const remove = need(this.resourceType.remove);
    return this.change(remove, resource, this.bodyOf(remove), headers, identity);
  }

  /** The body of a call that is known to succeed. */
  bodyOf(operation: Operation): unknown {
    const known = this.context.requests.of(operation)?.call;
    return known && flatCall(known).body;
  }

  /** How a list is read with some settings beside the largest page, and a resource is found in it; undefined if it cannot be read. */
  finder(list: Operation | undefined, resource: Resource, identity?: Identity) {
    const listing = list && Listing.of(this.context, list, resource.path, identity);
    const look = async (...settings: Settings) => {
      const all = await listing?.walk([...listing.widest, ...settings]);
      return all && { ...all, row: all.rows.find((row) => this.isOf(resource, row)) };
    };
    return listing && { listing, look };
  }

  /** Whether a row or a response is this resource. */
  isOf(resource: Resource, row: JsonObject): boolean {
    const named = (test: (name: string) => boolean) => Object.entries(row).find(([name]) => test(name))?.[1];
    const name = lastParameter(this.resourceType.read?.path ?? '') ?? 'id';
    const id = named(isOwnId);
    const own = namedIn(row, name) ?? id ?? named((key) => kindOfReference(key) === this.resourceType.kind);
    // Without an ID, a row is identified by a name or a token, which the path calls otherwise.
    const values = own === undefined ? Object.values(row).filter((value) => typeof value === 'string') : [own];
    const isNamed = values.some((value) => String(withoutCollection(value)) === String(resource.id));
    // `/repos/{repo}` can have the name of what has an ID, too.
    return isNamed || (isKey(id) && id === ownId(resource.body));
  }
}

function pathOf({ path, parameters }: Operation, resource: Resource): Record<string, unknown> | undefined {
  const last = lastParameter(path);
  const entries = parameters
    .filter((parameter) => parameter.in === 'path')
    .map(({ name }) => [name, name === last ? (resource.id ?? resource.body[name]) : resource.path[name]] as const);
  return entries.some(([, value]) => value === undefined) ? undefined : Object.fromEntries(entries);
}

/** A body with the references of another one, by their names. */
function referringAs(body: unknown, other: unknown): unknown {
  const references = new Map<string, unknown>();
  mapped(other, (value, name) => references.set(name, value));
  return mapped(body, (value, name) => (kindOfReference(name) === undefined ? value : (references.get(name) ?? value)));
}

export function locationIn({ path, extension }: Operation, created: Exchange): Record<string, string> | undefined {
  // The server's URL may have a path, too.
  const own = locationOf(created)
    ?.pathname.split('/')
    .slice(1 - path.split('/').length);
  const whole = `/${own?.join('/')}`;
  const target = whole.endsWith(extension) ? whole.slice(0, whole.length - extension.length) : whole;
  return pathPattern(path).test(target) ? pathTexts(path, target) : undefined;
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
