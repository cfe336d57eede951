import type { OpenApiDocument } from '../document/document.ts';
import { flatRow } from '../document/envelopes.ts';
import type { Operation } from '../document/operation.ts';
import type { Call, Exchange } from '../http/call.ts';
import { evaluate } from '../http/deserialize.ts';
import { isKey, isObject, type JsonObject } from '../json.ts';
import {
  collectionPath,
  isOwnId,
  itemOf,
  keyOfName,
  kindOfName,
  kindOfPath,
  kindOfReference,
  kindsOfOperation,
  pathNames,
  rowsIn,
  rowsOf,
  singular,
  wordsOf,
} from './names.ts';

export interface Known {
  readonly kinds: readonly string[];
  readonly path: string;
  readonly row: JsonObject;
  readonly id: unknown;
  readonly parents: Call['path'];
  /** Whether this run created it. Only then may it be changed or deleted. */
  readonly isCreated: boolean;
}

/** The parts of a call that describe the resources in its response. */
type Sent = Pick<Call, 'path' | 'body'>;

/** Whether a response describes a new resource. Status 201 is definite; other successes may return an existing one. */
type Creation = 'yes' | 'unless there' | 'no';

const maxIds = 60;
const maxValues = 12;
/** Limit that keeps memory constant in long runs. */
const maxResources = 2000;

export class Pool {
  readonly #document: OpenApiDocument;
  readonly #resources: Known[] = [];
  readonly #byId = new Map<unknown, Known[]>();
  readonly #counts = new Map<string, number>();
  readonly #gone = new Set<string>();
  /** IDs in reference properties of responses, by resource type. */
  readonly #mentioned = new Map<string, unknown[]>();
  /** Values from declared `links`, by operation and parameter. */
  readonly #linked = new Map<string, unknown[]>();

  /**
   * Whether only what is certain counts: a resource within a created one can be a reference to another one, an ID of a few
   * characters can be that of another resource, and a request that refers to a resource can change it.
   */
  readonly #isCareful: boolean;

  constructor(document: OpenApiDocument, isCareful: boolean) {
    this.#document = document;
    this.#isCareful = isCareful;
  }

  learn(exchange: Exchange, isCreated: boolean, { path: parents, body }: Sent = { path: {}, body: undefined }): void {
    const { operation, response } = exchange;
    if (operation === undefined || response.status < 200 || response.status > 299) return;
    // A resource that was created at its own path belongs to the parent collection.
    const isNew = isCreated || (operation.method === 'PUT' && response.status === 201);
    const item = isNew ? itemOf(operation.path) : undefined;
    const path = item?.collection ?? operation.path;
    // Where a creation returns nothing, the resource is what was sent, if that names it.
    const sent = { ...(item && { [item.name]: parents[item.name] }), ...(isObject(body) ? body : {}) };
    const isNamed = item !== undefined || (idOf(sent) ?? sent[kindOfPath(operation.path) ?? '']) !== undefined;
    const value = response.json?.value ?? (isNew && isNamed ? sent : undefined);
    this.#follow(exchange);
    if (value === undefined || operation.method === 'DELETE') return;
    const created: Creation = !isNew ? 'no' : response.status === 201 ? 'yes' : 'unless there';
    const kinds = kindsOfOperation(this.#document, operation);
    const all = response.json === undefined ? [sent] : this.resourcesIn(exchange);
    for (const row of all.slice(0, maxIds)) this.#add(row, kinds, path, created, parents);
    this.#mention(value, 0);
    // Nested resources are not selected by this path.
    const nested = this.#isCareful ? 'no' : created;
    for (const [kind, one] of nestedIn(value)) this.#add(one, [kind], `${operation.path}#${kind}`, nested, parents);
  }

  /** The resources in a response: its rows, or the resource itself. A failed item does not exist on the server. */
  resourcesIn(exchange: Exchange): JsonObject[] {
    const { operation, response } = exchange;
    const rows = operation && rowsIn(exchange, rowsOf(this.#document, operation, response.status));
    const body = response.json?.value;
    // A creation can return lists of other resources beside the new one.
    const created = operation?.isReading ? undefined : wrappedIn(body);
    const all: unknown[] = created ? [created] : (rows ?? [onlyListIn(body) ?? body].flat().map(unwrapped));
    return all
      .filter(isObject)
      .filter((row) => !isFailed(row))
      .map(flatRow);
  }

  forget(id: unknown): void {
    this.#gone.add(String(id));
  }

  /**
   * Values for a path or query parameter, best first: likely ones match by path, type or link; possible ones only by
   * name.
   *
   * @param onlyCreated for calls that change or delete the resource.
   */
  forParameter(operation: Operation, name: string, onlyCreated: boolean): { likely: unknown[]; possible: unknown[] } {
    const isLimited = onlyCreated || this.#isLimited(operation);
    const linked = isLimited ? [] : (this.#linked.get(`${operation.id} ${name}`) ?? []);
    const usable = this.#usable(isLimited);
    const same = isOwnId(name) ? [] : usable.map(({ row }) => row[name]);
    const mentioned = isLimited ? [] : (this.#mentioned.get(kindOfReference(name) ?? '') ?? []);
    const values = [...this.#named(operation, name, usable)].flatMap((resource) => identitiesIn(resource, name));
    return { likely: this.#clean([...linked, ...values, ...mentioned]), possible: this.#clean(same) };
  }

  /** Resources that an operation may act on: first from the collection in its path, then by type. */
  *#named(operation: Operation, name: string, resources: readonly Known[]): Generator<Known> {
    const collection = collectionPath(operation.path, name);
    const isLast = operation.path.endsWith(`{${name}}`);
    const own = isLast ? kindsOfOperation(this.#document, operation) : [];
    const expected = [kindOfReference(name), kindOfName(name), kindOfPath(collection), ...own];
    const isInPath = operation.path.includes(`{${name}}`);
    for (const resource of resources) if (isInPath && resource.path === collection) yield resource;
    for (const kind of new Set(expected.filter((one) => one !== undefined)))
      for (const resource of resources) if (resource.kinds.includes(kind)) yield resource;
  }

  /** The other path parameters that belong to a value of one: its parents, and the rest of its key. */
  contextOf(operation: Operation, name: string, value: unknown): Call['path'] {
    const resource = this.#identified(operation, name, value, this.#resources);
    if (resource === undefined) return {};
    const { row, path, parents } = resource;
    // `/tags/{type}/{value}`, `/tags/by-name/{type}/{value}`: the parameters below a collection are properties of its rows.
    const below = operation.path.startsWith(`${path}/`) ? operation.path.slice(path.length) : '';
    const names = pathNames(/^(?:\/[\w-]+)?((?:\/\{[^}]+\})*)/.exec(below)?.[1] ?? '');
    // `/repos/{owner}/{repo}`: the row has what else the path names, as an object or a text.
    const others = pathNames(operation.path)
      .filter((one) => one !== name && !isOwnId(one) && !/^(?:name|key|slug|code|number)$/.test(one))
      .flatMap((one) => (row[one] === undefined ? [] : [[one, namedIn(row, one)]]));
    return {
      ...Object.fromEntries([...others, ...names.map((one) => [one, row[one] ?? innerIn(resource, one)])]),
      ...parents,
    };
  }

  #identified(operation: Operation, name: string, value: unknown, resources: readonly Known[]): Known | undefined {
    for (const one of this.#named(operation, name, resources))
      if (identitiesIn(one, name).map(String).includes(String(value))) return one;
    return undefined;
  }

  forMember(operation: Operation, name: string, onlyCreated: boolean): unknown[] {
    const kinds = kindsOfOperation(this.#document, operation);
    const isLimited = this.#isLimited(operation);
    const usable = this.#usable(onlyCreated || isLimited);
    if (isOwnId(name))
      return this.#clean(ofKinds(usable, [...kinds, kindOfPath(operation.path) ?? '']).map(({ id }) => id));
    const kind = kindOfReference(name);
    if (kind === undefined) return [];
    // A resource of another type is referenced by the property that it has itself: a client by its `clientRef`.
    const known = ofKinds(this.#usable(isLimited), [kind]).map(({ id, row }) =>
      kinds.includes(kind) ? id : (row[name] ?? id),
    );
    // A row of the operation's own type identifies itself by this property.
    const own = ofKinds(usable, kinds).map(({ row }) => row[name]);
    return this.#clean([...known, ...own, ...(isLimited ? [] : (this.#mentioned.get(kind) ?? []))]);
  }

  /** Whether a property such as `systemRef` identifies the operation's own resources, unlike `clientRef`. */
  isKey(operation: Operation, name: string): boolean {
    const kinds = kindsOfOperation(this.#document, operation);
    if (isOwnId(name)) return true;
    const isOfOther = ofKinds(this.#resources, [kindOfReference(name) ?? '']).length > 0;
    return !isOfOther && ofKinds(this.#resources, kinds).some(({ row }) => name in row);
  }

  has(id: unknown): boolean {
    return id !== undefined && this.#byId.has(id);
  }

  /** Whether a value of a path identifies a resource that this run created. @param path all values of the path. */
  isCreated(operation: Operation, name: string, path: Call['path']): boolean {
    const value = path[name];
    const collection = collectionPath(operation.path, name);
    const isCertain = (one: Known) =>
      !this.#isCareful || isUnique(value) || (one.path === collection && isOfSameParents(one, path));
    const isIt = (one: Known) => identitiesIn(one, name).map(String).includes(String(value)) && isCertain(one);
    return [...this.#named(operation, name, this.#usable(true))].some(isIt);
  }

  /** Whether a resource of an operation's type was known before the run created any of this ID. */
  existedBefore(operation: Operation, id: unknown): boolean {
    return this.#hasAs(id, kindsOfOperation(this.#document, operation), false, operation.path);
  }

  /** Resources of a type that an operation may refer to, newest first. */
  ofKind(kind: string, operation: Operation): Known[] {
    return ofKinds(this.#usable(this.#isLimited(operation)), [kind]).filter(({ id }) => !this.#gone.has(String(id)));
  }

  #usable(onlyCreated: boolean): readonly Known[] {
    return onlyCreated ? this.#resources.filter(({ isCreated }) => isCreated) : this.#resources;
  }

  #isLimited({ isReading }: Operation): boolean {
    return this.#isCareful && !isReading;
  }

  #add(row: JsonObject, kinds: readonly string[], path: string, created: Creation, parents: Call['path']): void {
    const id = idOf(row);
    const before = this.#byId.get(id)?.find((resource) => resource.path === path);
    const all = [...new Set([...kinds, ...(before?.kinds ?? [])])];
    const isThere = this.#hasAs(id, all, false, path);
    const isNew = (created === 'yes' || (created === 'unless there' && !isThere)) && !isOld(row);
    const isCreated = isNew || this.#hasAs(id, all, true, path);
    if (before !== undefined) this.#drop(before);
    const resource: Known = { kinds: all, path, row, id, parents, isCreated };
    this.#resources.unshift(resource);
    if (id !== undefined) this.#byId.set(id, [...(this.#byId.get(id) ?? []), resource]);
    this.#counts.set(path, (this.#counts.get(path) ?? 0) + 1);
    if (this.#resources.length > maxResources) this.#dropOldest();
  }

  /** Of the path with most resources, so that long lists do not push out the only row of another. */
  #dropOldest(): void {
    const most = Math.max(...this.#counts.values());
    const oldest = this.#resources.findLast(({ path }) => this.#counts.get(path) === most);
    if (oldest !== undefined) this.#drop(oldest);
  }

  #drop(resource: Known): void {
    this.#resources.splice(this.#resources.lastIndexOf(resource), 1);
    this.#counts.set(resource.path, (this.#counts.get(resource.path) ?? 1) - 1);
    const left = this.#byId.get(resource.id)?.filter((one) => one !== resource) ?? [];
    if (left.length > 0) this.#byId.set(resource.id, left);
    else this.#byId.delete(resource.id);
  }

  /** Whether a resource with this ID and a type in common is known, as created or not. Numbers are not unique. */
  #hasAs(id: unknown, kinds: readonly string[], isCreated: boolean, path: string): boolean {
    const isCertain = (one: Known) => !isCreated || !this.#isCareful || isUnique(id) || one.path === path;
    return ofKinds(this.#byId.get(id) ?? [], kinds).some((one) => one.isCreated === isCreated && isCertain(one));
  }

  #mention(value: unknown, depth: number): void {
    if (depth > 6) return;
    if (Array.isArray(value)) for (const item of value.slice(0, maxIds)) this.#mention(item, depth + 1);
    if (!isObject(value)) return;
    for (const [name, member] of Object.entries(value)) {
      const kind = kindOfReference(name);
      const ids = (Array.isArray(member) ? member : [member]).filter((one) => isKey(one));
      if (kind !== undefined && ids.length > 0) {
        const known = this.#mentioned.get(kind) ?? [];
        this.#mentioned.set(kind, [...new Set([...ids, ...known])].slice(0, maxIds));
      }
      this.#mention(member, depth + 1);
    }
  }

  /** Evaluates declared links, which state explicitly where a value is used. */
  #follow(exchange: Exchange): void {
    const { operation, response } = exchange;
    const declared = operation?.responses.find(({ status }) => status === String(response.status));
    for (const link of Object.values(declared?.links ?? {})) {
      if (typeof link.operationId !== 'string' || !isObject(link.parameters)) continue;
      for (const [name, expression] of Object.entries(link.parameters)) {
        const value = evaluate(expression, exchange);
        if (value === undefined) continue;
        const key = `${link.operationId} ${name.replace(/^(?:path|query|header)\./, '')}`;
        this.#linked.set(key, [value, ...(this.#linked.get(key) ?? [])].slice(0, maxIds));
      }
    }
  }

  #clean(values: readonly unknown[]): unknown[] {
    const isUsable = (one: unknown) => isKey(one) && !this.#gone.has(String(one));
    return [...new Set(values.filter(isUsable))].slice(0, maxValues);
  }
}

const ofKinds = (resources: readonly Known[], kinds: readonly string[]) =>
  resources.filter((resource) => resource.kinds.some((kind) => kinds.includes(kind)));

/** Whether no other resource has an ID, whatever its type. */
const isUnique = (id: unknown) => typeof id === 'string' && id.length >= 16;

/** Whether a resource was returned below the parents that a path names. */
const isOfSameParents = ({ parents }: Known, path: Call['path']) =>
  Object.entries(parents).every(([name, value]) => !(name in path) || String(path[name]) === String(value));

/** Nested objects with an ID, by their type: an onboarded client includes its contacts. */
function nestedIn(value: unknown): [kind: string, row: JsonObject][] {
  return Object.entries(isObject(value) ? value : {}).flatMap(([name, member]) =>
    (Array.isArray(member) ? member.slice(0, maxIds) : [member])
      .filter(isObject)
      .filter((one) => idOf(one) !== undefined)
      .map((one): [string, JsonObject] => [singular(name), one]),
  );
}

/** The only object with an ID in one without an ID and without values of its own, such as `{ location, entities }`. */
export function wrappedIn(value: unknown): JsonObject | undefined {
  if (!isObject(value) || Object.values(value).some(isScalar)) return undefined;
  const inner = Object.values(value).filter((one) => isObject(one) && Object.keys(one).some(isOwnId));
  return inner.length === 1 ? Object(inner[0]) : undefined;
}

/** The list in an object without an ID, if it has one: the contract may not declare it. */
function onlyListIn(value: unknown): unknown {
  const lists = isObject(value) && idOf(value) === undefined ? Object.values(value).filter(Array.isArray) : [];
  return lists.length === 1 ? lists[0] : undefined;
}

/** The resource in an envelope such as `{ version, tag }`. */
function unwrapped(value: unknown): unknown {
  const inner = isObject(value) && idOf(value) === undefined ? Object.values(value).filter(isObject) : [];
  return inner.length === 1 ? inner[0] : value;
}

const isFailed = ({ error, status }: JsonObject) => isObject(error) || /^fail/i.test(String(status ?? ''));

/** Whether the result of a create operation states that nothing was created. */
export function isOld({ created, status }: JsonObject): boolean {
  return created === false || /^(?:updated|unchanged|existing|existed|deleted)$/i.test(String(status ?? ''));
}

/** The ID of an object: its `id`, or a property such as `clientId` or `key`. */
export function idOf(row: JsonObject): unknown {
  const names = Object.keys(row).filter((key) => isScalar(row[key]));
  const reference = names.find((key) => /(?:Id|_id|Uuid|ID)$/.test(key));
  const named = ['key', 'slug', 'code', 'name'].find((key) => isScalar(row[key]));
  // An ID that does not come first can be that of another resource.
  const other = named === undefined || reference === names[0] ? reference : named;
  return row[names.find(isOwnId) ?? other ?? ''];
}

/** What a parameter identifies a resource by: the property of its name, or of the end of it, such as `featureName`. */
export function identityIn(resource: Pick<Known, 'row' | 'id'>, name: string): unknown {
  return namedIn(resource.row, name) ?? resource.id ?? innerIn(resource, name);
}

/** Without an ID, an object in a resource can name it: `{ kind, metadata: { name } }`. */
function innerIn({ row, id }: Pick<Known, 'row' | 'id'>, name: string): unknown {
  const inner = id === undefined ? Object.values(row).filter(isObject) : [];
  return inner.map((one) => namedIn(one, name)).find((one) => one !== undefined);
}

/** The property of the name of a parameter, or of the end of it; of an object such as `owner`, what names it. */
export function namedIn(row: JsonObject, name: string): unknown {
  const [end = ''] = wordsOf(name).slice(-1);
  const alike = Object.keys(row).find((key) => keyOfName(key) === keyOfName(name));
  const { login, slug, key, name: own, id } = Object(row[name]);
  const isEnd = /^(?:name|key|slug|code|number)$/.test(end);
  return [row[name], row[alike ?? ''], isEnd ? row[end] : undefined, login, slug, key, own, id].find(isScalar);
}

/** The last segment of the name of a resource, such as `books/1`, which a path has without `books/`. */
export function withoutCollection(id: unknown): unknown {
  return typeof id === 'string' && /^(?:[a-z][\w-]*\/[^/]+)+$/i.test(id) ? id.slice(id.lastIndexOf('/') + 1) : id;
}

/** Also secrets: a path can name a resource by a token that it calls otherwise. */
export function identitiesIn(resource: Pick<Known, 'row' | 'id'>, name: string): unknown[] {
  const { row } = resource;
  const isKnown = namedIn(row, name) !== undefined || Object.keys(row).some(isOwnId);
  const isSecret = (value: unknown) => typeof value === 'string' && /^(?!\d{4}-)[\w:.*-]{16,}$/.test(value);
  const secrets = isKnown ? [] : Object.values(row).filter(isSecret);
  const own = withoutCollection(identityIn(resource, name));
  // `{repo}` can be its name, beside an ID.
  const other = isOwnId(name) || namedIn(row, name) !== undefined ? [] : [row.name].filter(isScalar);
  const all = [own, ...other.map(withoutCollection), ...secrets];
  return /token|key|secret/i.test(name) ? [...secrets, ...all] : all;
}

const isScalar = (value: unknown) => isKey(value) && value !== '';
