import { randomUUID } from 'node:crypto';
import type { Operation } from '../../../document/operation.ts';
import type { Call, Exchange } from '../../../http/call.ts';
import { isJson } from '../../../http/serialize.ts';
import { isObject, type JsonObject } from '../../../json.ts';
import { type Baseline, isSuccess } from '../../../run/baseline.ts';
import type { Identity } from '../../../run/identities.ts';
import { withKnownIds } from '../../../run/known-ids.ts';
import { isOwnId, kindOfReference, lastParameter } from '../../../run/names.ts';
import { atEveryDepth, renewed } from '../../../run/renewal.ts';
import type { SendOptions, Session } from '../../../run/session.ts';
import type { CheckContext } from '../../check.ts';
import { hasItemErrors } from '../../outcome.ts';
import { addressesOf } from './address.ts';
import { otherValues } from './another.ts';
import { type Collection, readCollection } from './collection.ts';
import { resourceIn } from './resource-in.ts';
import type { ResourceType } from './resource-types.ts';
import { hasFlag, itemOf, memberNames, memberOf, partsOf, requestSchema, targetOf } from './schema.ts';

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

/** How to fill a create request: as in the known call, with all values varied, or with required properties only. */
export type Filling = 'known' | 'varied' | 'least';

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

  constructor(context: CheckContext, resourceType: ResourceType, baseline: Baseline) {
    this.context = context;
    this.session = context.session;
    this.resourceType = resourceType;
    this.#plain = baseline.call;
    this.#rich = withoutKey(baseline.call);
  }

  get document() {
    return this.session.document;
  }

  /** Determines which properties a create request accepts, and where the resource can be read. */
  async start(): Promise<Resource | undefined> {
    await this.#enrich();
    const resource = await this.create('first');
    if (resource === undefined || this.resourceType.read === undefined) return resource;
    for (const { way, address } of addressesOf(this.resourceType, resource.call, resource.created)) {
      const read = await this.read({ ...resource, address });
      if (read === undefined || !isSuccess(read)) continue;
      this.#way = way;
      return { ...resource, address, id: this.#idIn(address, resource.body) };
    }
    return resource;
  }

  /** Whether a created resource could be read. */
  get isReadable(): boolean {
    return this.#way !== undefined;
  }

  /** Creates a resource; with fewer properties and fewer fresh texts if the server rejects the request. */
  async create(
    label: string,
    filling: Filling = 'known',
    headers: Call['headers'] = {},
  ): Promise<Resource | undefined> {
    const plain = withoutKey(this.#plain);
    const ways: readonly (() => Promise<Call | undefined>)[] = [
      () => this.callTo(this.resourceType.create, label, filling),
      // An earlier run with the same seed may have used the values.
      () => this.callTo(this.resourceType.create, `${label} ${randomUUID()}`, filling),
      () => this.callTo(this.resourceType.create, `${label} ${randomUUID()}`, filling, 1),
      () => this.callTo(this.resourceType.create, `${label} ${randomUUID()}`, 'known', 1),
      () => this.callTo(this.resourceType.create, `${label} ${randomUUID()}`, 'known', 1, plain),
      // It may also have used the keys.
      async () => renewed(this.session, plain, `${label} ${randomUUID()}`, { ...atEveryDepth, keys: true }),
    ];
    for (const [turn, way] of ways.entries()) {
      if (this.session.isOver) return undefined;
      const call = await way();
      if (call === undefined) continue;
      const created = await this.session.send({ ...call, headers: { ...call.headers, ...headers } });
      const isNew = call.operation.method !== 'PUT' || created.response.status === 201;
      if (isNew && isSuccess(created) && !hasItemErrors(created)) {
        if (turn === 2 || turn === 3) this.#depth = 1;
        if (turn >= 4) [this.#rich, this.#depth] = [plain, 1];
        return this.resourceOf(call, created);
      }
    }
    return undefined;
  }

  resourceOf(call: Call, created: Exchange): Resource | undefined {
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
    const body = filling === 'least' ? this.#least(schema, base.body) : base.body;
    const fresh = this.#freshened(schema, body, seed, depth);
    const call = { ...base, body: filling === 'varied' && isObject(fresh) ? this.varied(create, fresh, seed) : fresh };
    return create.method === 'PUT' ? this.context.baselines.putNew(call, label) : call;
  }

  /** The body with every scalar changed that can be changed alone. */
  varied(operation: Operation, body: JsonObject, seed: number): JsonObject {
    const schema = requestSchema(operation);
    if (schema === undefined) return body;
    let changed = body;
    for (const name of Object.keys(body)) {
      const members = memberOf(this.document, [schema], name);
      const replacement = otherValues(this.session, members, changed[name], name, seed)
        .map((value) => ({ ...changed, [name]: value }))
        .find((one) => this.session.validators.accepts(schema, one, 'request'));
      changed = replacement ?? changed;
    }
    return changed;
  }

  async read(
    resource: Resource,
    options: SendOptions & { readonly headers?: Readonly<Record<string, string>> } = {},
  ): Promise<Exchange | undefined> {
    const { read } = this.resourceType;
    if (read === undefined) return undefined;
    const call = this.callOn(read, resource);
    if (call === undefined) return undefined;
    return this.session.send(
      options.headers === undefined ? call : { ...call, raw: { headers: options.headers } },
      options,
    );
  }

  /**
   * The resource as returned by its read operation, or by its list if there is none; undefined if it cannot be read.
   */
  async shown(resource: Resource): Promise<Shown | undefined> {
    if (this.resourceType.read === undefined) return this.#shownInList(resource);
    const exchange = await this.read(resource);
    if (exchange === undefined || !isSuccess(exchange) || !isObject(exchange.response.json?.value)) return undefined;
    return { row: resourceIn(exchange), exchange };
  }

  async #shownInList(resource: Resource): Promise<Shown | undefined> {
    const list = this.resourceType.lists.find(({ path }) => path === this.resourceType.collection);
    const all = list === undefined ? undefined : await readCollection(this.context, list, resource.call.path);
    const exchange = all?.exchanges.at(-1);
    const row = all?.rows.find((one) => this.isOf(resource, one));
    return row === undefined || exchange === undefined ? undefined : { row, exchange, schema: all?.rowSchema };
  }

  /** The call of an operation on a resource, without a body. */
  callOn(
    operation: Operation,
    resource: Resource,
    known: Call | undefined = this.context.baselines.of(operation)?.call ?? unknownCall(operation),
  ): Call | undefined {
    if (known === undefined) return undefined;
    const path = this.#pathOf(operation, resource);
    return path === undefined ? undefined : { ...withoutKey(known), path, body: undefined };
  }

  async change(
    operation: Operation,
    resource: Resource,
    body: unknown,
    headers: Readonly<Record<string, string>> = {},
    identity: Identity = 'caller',
  ): Promise<Exchange | undefined> {
    const call = this.callOn(operation, resource);
    if (call === undefined) return undefined;
    const { mediaType } = call;
    const allHeaders = await this.#withRequiredHeaders(operation, resource, headers);
    return this.session.send({ ...call, body, mediaType, raw: { headers: allHeaders } }, { identity });
  }

  /** Updates a resource without a precondition, even if the operation requires one. */
  async changeWithoutPrecondition(
    operation: Operation,
    resource: Resource,
    body: unknown,
  ): Promise<Exchange | undefined> {
    const call = this.callOn(operation, resource);
    return call === undefined ? undefined : this.session.send({ ...call, body });
  }

  async remove(
    resource: Resource,
    headers: Readonly<Record<string, string>> = {},
    identity: Identity = 'caller',
  ): Promise<Exchange | undefined> {
    const { remove } = this.resourceType;
    const call = remove === undefined ? undefined : this.callOn(remove, resource);
    if (remove === undefined || call === undefined) return undefined;
    const known = this.context.baselines.of(remove)?.call;
    const allHeaders = await this.#withRequiredHeaders(remove, resource, headers);
    return this.session.send({ ...call, body: known?.body, raw: { headers: allHeaders } }, { identity });
  }

  list(operation: Operation): Promise<Collection | undefined> {
    return readCollection(this.context, operation, this.#rich.path);
  }

  /** Whether a row or a response is this resource. */
  isOf(resource: Resource, row: JsonObject): boolean {
    const name = lastParameter(this.resourceType.read?.path ?? '') ?? 'id';
    const own = row[name] ?? Object.entries(row).find(([key]) => isOwnId(key))?.[1] ?? this.#ofKind(row);
    return own !== undefined && String(own) === String(resource.id);
  }

  #ofKind(row: JsonObject): unknown {
    return Object.entries(row).find(([key]) => kindOfReference(key) === this.resourceType.kind)?.[1];
  }

  /** Adds a precondition if the operation requires one. */
  async #withRequiredHeaders(
    operation: Operation,
    resource: Resource,
    headers: Readonly<Record<string, string>>,
  ): Promise<Readonly<Record<string, string>>> {
    const condition = operation.parameters.find(
      ({ in: place, name }) => place === 'header' && /^if-match$/i.test(name),
    );
    const isNeeded =
      condition !== undefined && (condition.required || operation.responses.some(({ status }) => status === '428'));
    if (!isNeeded || 'if-match' in headers) return headers;
    const etag = (await this.read(resource))?.response.headers.etag;
    return etag === undefined ? headers : { ...headers, 'if-match': etag };
  }

  #idIn(address: Readonly<Record<string, unknown>>, body: JsonObject): unknown {
    const name = lastParameter(
      this.resourceType.read?.path ?? this.resourceType.updates[0]?.path ?? this.resourceType.remove?.path ?? '',
    );
    return name === undefined ? body[Object.keys(body).find(isOwnId) ?? ''] : address[name];
  }

  #pathOf(operation: Operation, resource: Resource): Record<string, unknown> | undefined {
    const last = lastParameter(operation.path);
    const path: Record<string, unknown> = {};
    for (const { name } of operation.parameters.filter((parameter) => parameter.in === 'path')) {
      const value =
        name === last ? (resource.id ?? resource.body[name]) : (resource.call.path[name] ?? resource.address[name]);
      if (value === undefined) return undefined;
      path[name] = value;
    }
    return path;
  }

  #freshened(schema: JsonObject, body: unknown, seed: number, depth = this.#depth): unknown {
    return this.session.values.fresh(schema, body, seed, (pointer, key) => {
      const kind = kindOfReference(key);
      // A key named after the resource's own type identifies the new resource.
      const isReference = kind !== undefined && !(kind === this.resourceType.kind && !/ids?$/i.test(key));
      return pointer.split('/').length - 1 <= depth && !isReference && !isOwnId(key);
    });
  }

  /** The body without optional properties. */
  #least(schema: JsonObject, body: JsonObject): JsonObject {
    let least = body;
    for (const name of Object.keys(body)) {
      const { [name]: _left, ...rest } = least;
      if (this.session.validators.accepts(schema, rest, 'request')) least = rest;
    }
    return least;
  }

  /** Adds optional properties that the server accepts. */
  async #enrich(): Promise<void> {
    const { create } = this.resourceType;
    const schema = requestSchema(create);
    const { body } = this.#rich;
    if (schema === undefined || !isObject(body)) return;
    const sample = this.session.values.sample(schema, 'request', 'most', this.session.seedFor(`${create.id} rich`));
    const most = withKnownIds(this.session, create, sample?.value);
    if (!isObject(most)) return;
    const missing = memberNames(this.document, schema).filter(
      (name) =>
        !(name in body) &&
        name in most &&
        most[name] !== null &&
        !hasFlag(this.document, memberOf(this.document, [schema], name), 'readOnly'),
    );
    await this.#add(schema, most, missing, { left: 12 });
    await this.#deepen(schema, most);
    await this.#lengthen(schema);
  }

  /** Adds optional properties in nested objects. */
  async #deepen(schema: JsonObject, most: JsonObject): Promise<void> {
    const base = this.#rich.body;
    for (const [name, value] of isObject(base) ? Object.entries(base) : []) {
      const fuller = most[name];
      if (this.session.isOver || !isObject(value) || !isObject(fuller) || !isObject(this.#rich.body)) continue;
      const body = { ...this.#rich.body, [name]: { ...fuller, ...value } };
      const isMore = Object.keys(fuller).some((key) => !Object.hasOwn(value, key));
      if (!isMore || !this.session.validators.accepts(schema, body, 'request')) continue;
      const seed = this.session.seedFor(`${this.resourceType.create.id} deepen ${name}`);
      const created = await this.session.send({ ...this.#rich, body: this.#freshened(schema, body, seed, 1) });
      if (isSuccess(created) && !hasItemErrors(created)) this.#rich = { ...this.#rich, body };
    }
  }

  /** Adds a second entry to lists and maps. A single entry does not reveal a server that stores only the first. */
  async #lengthen(schema: JsonObject): Promise<void> {
    const { body } = this.#rich;
    if (!isObject(body)) return;
    const seed = this.session.seedFor(`${this.resourceType.create.id} longer`);
    let longer = body;
    for (const [name, value] of Object.entries(body)) {
      const members = memberOf(this.document, [schema], name);
      const [one] = Array.isArray(value) ? value : isObject(value) ? Object.entries(value) : [];
      if (one === undefined || (Array.isArray(value) ? value.length : Object.keys(Object(value)).length) > 1) continue;
      const more = Array.isArray(value) ? this.#siblingItem(members, one, seed) : siblingEntry(one);
      const whole = {
        ...longer,
        [name]: Array.isArray(value) ? [...value, more] : { ...Object(value), ...Object(more) },
      };
      if (more !== undefined && this.session.validators.accepts(schema, whole, 'request')) longer = whole;
    }
    if (longer === body) return;
    const created = await this.session.send({ ...this.#rich, body: this.#freshened(schema, longer, seed, 1) });
    if (isSuccess(created) && !hasItemErrors(created)) this.#rich = { ...this.#rich, body: longer };
  }

  #siblingItem(members: readonly JsonObject[], one: unknown, seed: number): unknown {
    const items = itemOf(this.document, members);
    const words = items
      .flatMap((item) => partsOf(this.document, item))
      .flatMap(({ enum: of }) => (Array.isArray(of) ? of : []));
    if (words.length > 0) return words.find((word) => word !== one);
    const schema = targetOf(this.document, items);
    const isFree = (_pointer: string, key: string) => !isOwnId(key) && kindOfReference(key) === undefined;
    return schema === undefined ? undefined : this.session.values.fresh(schema, one, seed, isFree);
  }

  async #add(schema: JsonObject, most: JsonObject, names: readonly string[], budget: { left: number }): Promise<void> {
    if (names.length === 0 || budget.left <= 0 || this.session.isOver) return;
    const base = isObject(this.#rich.body) ? this.#rich.body : {};
    const fuller: JsonObject = { ...base, ...Object.fromEntries(names.map((name) => [name, most[name]])) };
    let blamed: readonly string[] = [];
    if (this.session.validators.accepts(schema, fuller, 'request')) {
      budget.left -= 1;
      const seed = this.session.seedFor(`${this.resourceType.create.id} add ${names.join(' ')}`);
      const created = await this.session.send({ ...this.#rich, body: this.#freshened(schema, fuller, seed, 1) });
      if (isSuccess(created) && !hasItemErrors(created)) {
        this.#rich = { ...this.#rich, body: fuller };
        return;
      }
      blamed = names.filter((name) => new RegExp(`[/"'.\`]${name}\\b`).test(created.response.text));
    }
    if (names.length === 1) return;
    if (blamed.length > 0 && blamed.length < names.length)
      return this.#add(
        schema,
        most,
        names.filter((name) => !blamed.includes(name)),
        budget,
      );
    const half = Math.ceil(names.length / 2);
    await this.#add(schema, most, names.slice(0, half), budget);
    await this.#add(schema, most, names.slice(half), budget);
  }
}

/** Another map entry with a similar key. */
function siblingEntry(entry: unknown): JsonObject | undefined {
  const [key, value] = Array.isArray(entry) ? entry : [];
  return typeof key === 'string' && key !== ''
    ? { [`${key.slice(0, -1)}${key.endsWith('b') ? 'c' : 'b'}`]: value }
    : undefined;
}

/**
 * A minimal call if only the path and a precondition are required. Such a call may succeed although none did before.
 */
function unknownCall(operation: Operation): Call | undefined {
  const isComplete = operation.parameters.every(
    ({ in: place, name, required }) => !required || place === 'path' || /^if-match$/i.test(name),
  );
  return isComplete ? emptyCall(operation) : undefined;
}

/** A call without any values. */
export function emptyCall(operation: Operation): Call {
  const mediaType = operation.body?.contents.find((content) => isJson(content.mediaType))?.mediaType;
  return { operation, path: {}, query: {}, headers: {}, cookies: {}, body: undefined, mediaType };
}

/** The call without its idempotency key, because a repeated key creates nothing. */
function withoutKey(call: Call): Call {
  const headers = Object.entries(call.headers).filter(([name]) => !/idempotency|^if-/i.test(name));
  const fresh = Object.entries(call.headers)
    .filter(
      ([name]) =>
        /idempotency/i.test(name) && call.operation.parameters.some((one) => one.name === name && one.required),
    )
    .map(([name]) => [name, randomUUID()] as const);
  return { ...call, headers: Object.fromEntries([...headers, ...fresh]) };
}
