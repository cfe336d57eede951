import { randomUUID } from 'node:crypto';
import type { Operation } from '../../../document/operation.ts';
import type { Call, Exchange } from '../../../http/call.ts';
import { isJson } from '../../../http/serialize.ts';
import { isObject, type JsonObject } from '../../../json.ts';
import { type Baseline, isSuccess } from '../../../run/baseline.ts';
import { withKnownIds } from '../../../run/known-ids.ts';
import { isOwnId, kindOfReference, lastParameter } from '../../../run/names.ts';
import { atEveryDepth, renewed } from '../../../run/renewal.ts';
import type { Identity, SendOptions, Session } from '../../../run/session.ts';
import type { CheckContext } from '../../checks.ts';
import { hasItemErrors } from '../../outcome.ts';
import { addressesOf } from './address.ts';
import { anothers } from './another.ts';
import { type Collection, readCollection } from './collection.ts';
import type { Resource } from './resources.ts';
import { itemOf, memberNames, memberOf, partsOf, requestSchema, says, targetOf } from './schema.ts';
import { thingIn } from './thing-in.ts';

/** A thing that this run made. */
export interface Thing {
  readonly call: Call;
  readonly made: Exchange;
  readonly sent: JsonObject;
  /** What the creation answered. */
  readonly body: JsonObject;
  /** The values of the parameters that lead to it. */
  readonly address: Readonly<Record<string, unknown>>;
  readonly id: unknown;
}

/** A thing as the server shows it. */
export interface Shown {
  readonly row: JsonObject;
  readonly exchange: Exchange;
  /** Of the row, where it is not that of the answer as a whole. */
  readonly schema?: JsonObject | undefined;
}

/** How a creation is filled: as it is known to succeed, or with all values that may be others. */
export type Filling = 'known' | 'varied' | 'least';

/** Makes, reads, changes and deletes things of one resource. */
export class Bench {
  readonly context: CheckContext;
  readonly session: Session;
  readonly resource: Resource;
  /** The creation with as many members as the server takes. */
  #rich: Call;
  /** The creation as it is known to succeed. */
  readonly #plain: Call;
  /** How deep texts may be changed: those further down may have to agree with each other. */
  #depth = 9;
  /** Which way of finding the address of what is made has led somewhere. */
  #way: string | undefined;

  constructor(context: CheckContext, resource: Resource, baseline: Baseline) {
    this.context = context;
    this.session = context.session;
    this.resource = resource;
    this.#plain = baseline.call;
    this.#rich = withoutKey(baseline.call);
  }

  get document() {
    return this.session.document;
  }

  /** Finds out how much a creation may hold, and where what is made can be read. */
  async start(): Promise<Thing | undefined> {
    await this.#enrich();
    const thing = await this.make('first');
    if (thing === undefined || this.resource.read === undefined) return thing;
    for (const { way, address } of addressesOf(this.resource, thing.call, thing.made)) {
      const read = await this.read({ ...thing, address });
      if (read === undefined || !isSuccess(read)) continue;
      this.#way = way;
      return { ...thing, address, id: this.#idIn(address, thing.body) };
    }
    return thing;
  }

  /** Whether a thing that was made could be read. */
  get isReadable(): boolean {
    return this.#way !== undefined;
  }

  /** Makes a thing; with fewer members and fewer words of its own where the server takes no other. */
  async make(label: string, filling: Filling = 'known', headers: Call['headers'] = {}): Promise<Thing | undefined> {
    const plain = withoutKey(this.#plain);
    const ways: readonly (() => Promise<Call | undefined>)[] = [
      () => this.callTo(this.resource.create, label, filling),
      // What is unique may be taken since an earlier run of the same seed.
      () => this.callTo(this.resource.create, `${label} ${randomUUID()}`, filling),
      () => this.callTo(this.resource.create, `${label} ${randomUUID()}`, filling, 1),
      () => this.callTo(this.resource.create, `${label} ${randomUUID()}`, 'known', 1),
      () => this.callTo(this.resource.create, `${label} ${randomUUID()}`, 'known', 1, plain),
      // And so may be the keys that it was given.
      async () => renewed(this.session, plain, `${label} ${randomUUID()}`, { ...atEveryDepth, keys: true }),
    ];
    for (const [turn, way] of ways.entries()) {
      if (this.session.isOver) return undefined;
      const call = await way();
      if (call === undefined) continue;
      const made = await this.session.send({ ...call, headers: { ...call.headers, ...headers } });
      const isNew = call.operation.method !== 'PUT' || made.answer.status === 201;
      if (isNew && isSuccess(made) && !hasItemErrors(made)) {
        if (turn === 2 || turn === 3) this.#depth = 1;
        if (turn >= 4) [this.#rich, this.#depth] = [plain, 1];
        return this.thingOf(call, made);
      }
    }
    return undefined;
  }

  thingOf(call: Call, made: Exchange): Thing | undefined {
    const body = thingIn(made);
    const sent = isObject(call.body) ? call.body : {};
    const found = addressesOf(this.resource, call, made);
    const { address = {} } = found.find(({ way }) => way === this.#way) ?? found[0] ?? {};
    return { call, made, sent, body, address, id: this.#idIn(address, body) };
  }

  /** A creation with texts of its own; undefined where there is no place for another. */
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
    return create.method === 'PUT' ? this.context.baselines.putAnew(call, label) : call;
  }

  /** The body with each scalar changed that may be changed alone. */
  varied(operation: Operation, body: JsonObject, seed: number): JsonObject {
    const schema = requestSchema(operation);
    if (schema === undefined) return body;
    let changed = body;
    for (const name of Object.keys(body)) {
      const members = memberOf(this.document, [schema], name);
      const taken = anothers(this.session, members, changed[name], name, seed)
        .map((value) => ({ ...changed, [name]: value }))
        .find((one) => this.session.validators.accepts(schema, one, 'request'));
      changed = taken ?? changed;
    }
    return changed;
  }

  async read(
    thing: Thing,
    options: SendOptions & { readonly headers?: Readonly<Record<string, string>> } = {},
  ): Promise<Exchange | undefined> {
    const { read } = this.resource;
    if (read === undefined) return undefined;
    const call = this.callOn(read, thing);
    if (call === undefined) return undefined;
    return this.session.send(
      options.headers === undefined ? call : { ...call, raw: { headers: options.headers } },
      options,
    );
  }

  /** What reading shows of a thing, or its list where nothing reads one; undefined where it cannot be read. */
  async shown(thing: Thing): Promise<Shown | undefined> {
    if (this.resource.read === undefined) return this.#shownInList(thing);
    const exchange = await this.read(thing);
    if (exchange === undefined || !isSuccess(exchange) || !isObject(exchange.answer.json?.value)) return undefined;
    return { row: thingIn(exchange), exchange };
  }

  async #shownInList(thing: Thing): Promise<Shown | undefined> {
    const list = this.resource.lists.find(({ path }) => path === this.resource.collection);
    const all = list === undefined ? undefined : await readCollection(this.context, list, thing.call.path);
    const exchange = all?.exchanges.at(-1);
    const row = all?.rows.find((one) => this.isOf(thing, one));
    return row === undefined || exchange === undefined ? undefined : { row, exchange, schema: all?.rowSchema };
  }

  /** The call of an operation on a thing, without a body. */
  callOn(
    operation: Operation,
    thing: Thing,
    known: Call | undefined = this.context.baselines.of(operation)?.call ?? unknownCall(operation),
  ): Call | undefined {
    if (known === undefined) return undefined;
    const path = this.#pathOf(operation, thing);
    return path === undefined ? undefined : { ...withoutKey(known), path, body: undefined };
  }

  /** Changes a thing. */
  async change(
    operation: Operation,
    thing: Thing,
    body: unknown,
    headers: Readonly<Record<string, string>> = {},
    identity: Identity = 'caller',
  ): Promise<Exchange | undefined> {
    const call = this.callOn(operation, thing);
    if (call === undefined) return undefined;
    const { mediaType } = call;
    const given = await this.#demanded(operation, thing, headers);
    return this.session.send({ ...call, body, mediaType, raw: { headers: given } }, { identity });
  }

  /** Changes a thing without the condition that the operation may ask for. */
  async changeBare(operation: Operation, thing: Thing, body: unknown): Promise<Exchange | undefined> {
    const call = this.callOn(operation, thing);
    return call === undefined ? undefined : this.session.send({ ...call, body });
  }

  async remove(
    thing: Thing,
    headers: Readonly<Record<string, string>> = {},
    identity: Identity = 'caller',
  ): Promise<Exchange | undefined> {
    const { remove } = this.resource;
    const call = remove === undefined ? undefined : this.callOn(remove, thing);
    if (remove === undefined || call === undefined) return undefined;
    const known = this.context.baselines.of(remove)?.call;
    const given = await this.#demanded(remove, thing, headers);
    return this.session.send({ ...call, body: known?.body, raw: { headers: given } }, { identity });
  }

  list(operation: Operation): Promise<Collection | undefined> {
    return readCollection(this.context, operation, this.#rich.path);
  }

  /** Whether a row of a list, or an answer, is this thing. */
  isOf(thing: Thing, row: JsonObject): boolean {
    const name = lastParameter(this.resource.read?.path ?? '') ?? 'id';
    const own = row[name] ?? Object.entries(row).find(([key]) => isOwnId(key))?.[1] ?? this.#ofKind(row);
    return own !== undefined && String(own) === String(thing.id);
  }

  #ofKind(row: JsonObject): unknown {
    return Object.entries(row).find(([key]) => kindOfReference(key) === this.resource.kind)?.[1];
  }

  /** A condition where the operation cannot do without one. */
  async #demanded(
    operation: Operation,
    thing: Thing,
    headers: Readonly<Record<string, string>>,
  ): Promise<Readonly<Record<string, string>>> {
    const demanded = operation.parameters.find(({ in: place, name }) => place === 'header' && /^if-match$/i.test(name));
    const isNeeded =
      demanded !== undefined && (demanded.required || operation.answers.some(({ status }) => status === '428'));
    if (!isNeeded || 'if-match' in headers) return headers;
    const etag = (await this.read(thing))?.answer.headers.etag;
    return etag === undefined ? headers : { ...headers, 'if-match': etag };
  }

  #idIn(address: Readonly<Record<string, unknown>>, body: JsonObject): unknown {
    const name = lastParameter(
      this.resource.read?.path ?? this.resource.updates[0]?.path ?? this.resource.remove?.path ?? '',
    );
    return name === undefined ? body[Object.keys(body).find(isOwnId) ?? ''] : address[name];
  }

  #pathOf(operation: Operation, thing: Thing): Record<string, unknown> | undefined {
    const last = lastParameter(operation.path);
    const path: Record<string, unknown> = {};
    for (const { name } of operation.parameters.filter((parameter) => parameter.in === 'path')) {
      const value = name === last ? (thing.id ?? thing.body[name]) : (thing.call.path[name] ?? thing.address[name]);
      if (value === undefined) return undefined;
      path[name] = value;
    }
    return path;
  }

  #freshened(schema: JsonObject, body: unknown, seed: number, depth = this.#depth): unknown {
    return this.session.values.fresh(schema, body, seed, (pointer, key) => {
      const kind = kindOfReference(key);
      // A key of its own kind is the key of the new thing itself.
      const isReference = kind !== undefined && !(kind === this.resource.kind && !/ids?$/i.test(key));
      return pointer.split('/').length - 1 <= depth && !isReference && !isOwnId(key);
    });
  }

  /** The body without what may be left out. */
  #least(schema: JsonObject, body: JsonObject): JsonObject {
    let least = body;
    for (const name of Object.keys(body)) {
      const { [name]: _left, ...rest } = least;
      if (this.session.validators.accepts(schema, rest, 'request')) least = rest;
    }
    return least;
  }

  /** Adds the optional members that the creation does without, as far as the server takes them. */
  async #enrich(): Promise<void> {
    const { create } = this.resource;
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
        !says(this.document, memberOf(this.document, [schema], name), 'readOnly'),
    );
    await this.#add(schema, most, missing, { left: 12 });
    await this.#deepen(schema, most);
    await this.#lengthen(schema);
  }

  /** Adds what may stand within the objects of the body and was left out of them. */
  async #deepen(schema: JsonObject, most: JsonObject): Promise<void> {
    const base = this.#rich.body;
    for (const [name, value] of isObject(base) ? Object.entries(base) : []) {
      const fuller = most[name];
      if (this.session.isOver || !isObject(value) || !isObject(fuller) || !isObject(this.#rich.body)) continue;
      const body = { ...this.#rich.body, [name]: { ...fuller, ...value } };
      const isMore = Object.keys(fuller).some((key) => !Object.hasOwn(value, key));
      if (!isMore || !this.session.validators.accepts(schema, body, 'request')) continue;
      const seed = this.session.seedFor(`${this.resource.create.id} deepen ${name}`);
      const made = await this.session.send({ ...this.#rich, body: this.#freshened(schema, body, seed, 1) });
      if (isSuccess(made) && !hasItemErrors(made)) this.#rich = { ...this.#rich, body };
    }
  }

  /** Gives lists and maps of one entry a second: of what keeps only the first, one entry shows nothing. */
  async #lengthen(schema: JsonObject): Promise<void> {
    const { body } = this.#rich;
    if (!isObject(body)) return;
    const seed = this.session.seedFor(`${this.resource.create.id} longer`);
    let longer = body;
    for (const [name, value] of Object.entries(body)) {
      const members = memberOf(this.document, [schema], name);
      const [one] = Array.isArray(value) ? value : isObject(value) ? Object.entries(value) : [];
      if (one === undefined || (Array.isArray(value) ? value.length : Object.keys(Object(value)).length) > 1) continue;
      const more = Array.isArray(value) ? this.#itemBeside(members, one, seed) : entryBeside(one);
      const whole = {
        ...longer,
        [name]: Array.isArray(value) ? [...value, more] : { ...Object(value), ...Object(more) },
      };
      if (more !== undefined && this.session.validators.accepts(schema, whole, 'request')) longer = whole;
    }
    if (longer === body) return;
    const made = await this.session.send({ ...this.#rich, body: this.#freshened(schema, longer, seed, 1) });
    if (isSuccess(made) && !hasItemErrors(made)) this.#rich = { ...this.#rich, body: longer };
  }

  #itemBeside(members: readonly JsonObject[], one: unknown, seed: number): unknown {
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
      const seed = this.session.seedFor(`${this.resource.create.id} add ${names.join(' ')}`);
      const made = await this.session.send({ ...this.#rich, body: this.#freshened(schema, fuller, seed, 1) });
      if (isSuccess(made) && !hasItemErrors(made)) {
        this.#rich = { ...this.#rich, body: fuller };
        return;
      }
      blamed = names.filter((name) => new RegExp(`[/"'.\`]${name}\\b`).test(made.answer.text));
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

/** Another entry of a map, under a key that is like the known one. */
function entryBeside(entry: unknown): JsonObject | undefined {
  const [key, value] = Array.isArray(entry) ? entry : [];
  return typeof key === 'string' && key !== ''
    ? { [`${key.slice(0, -1)}${key.endsWith('b') ? 'c' : 'b'}`]: value }
    : undefined;
}

/** The call of what needs nothing but its path, and a condition: that none was found to succeed does not say that none does. */
function unknownCall(operation: Operation): Call | undefined {
  const isComplete = operation.parameters.every(
    ({ in: place, name, required }) => !required || place === 'path' || /^if-match$/i.test(name),
  );
  return isComplete ? emptyCall(operation) : undefined;
}

/** A call with nothing in it, where none is known. */
export function emptyCall(operation: Operation): Call {
  const mediaType = operation.body?.contents.find((content) => isJson(content.mediaType))?.mediaType;
  return { operation, path: {}, query: {}, headers: {}, cookies: {}, body: undefined, mediaType };
}

/** The call without a key of its own: a repeated key makes nothing new. */
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
