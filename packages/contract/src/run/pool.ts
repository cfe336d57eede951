import type { OpenApiDocument } from '../document/document.ts';
import type { Operation } from '../document/operation.ts';
import type { Exchange } from '../http/call.ts';
import { at, isObject, type JsonObject } from '../json.ts';
import {
  collectionPath,
  isMaking,
  isOwnId,
  kindOfPath,
  kindOfReference,
  kindsOfOperation,
  kindsOfSchema,
  lastParameter,
  rowsSchema,
  singular,
} from './names.ts';

/** A thing that the server is known to have. */
export interface Known {
  readonly kinds: readonly string[];
  /** The path of the operation that told of it. */
  readonly path: string;
  readonly row: JsonObject;
  /** The id of the row, where it has one. */
  readonly id: unknown;
  /** Whether this run made it: only then may it be changed or deleted. */
  readonly isMade: boolean;
}

/** Whether an answer tells of what its call made: 201 says so, another success may tell of what was there. */
type Making = 'yes' | 'unless there' | 'no';

const most = 60;
/** Values that are handed out for one place. */
const mostValues = 12;
/** Things that are remembered: a run of any length takes no more memory. */
const mostThings = 2000;

/** What the server has, as its answers tell: where a call needs the id of something, it is found here. */
export class Pool {
  readonly #document: OpenApiDocument;
  readonly #things: Known[] = [];
  readonly #byId = new Map<unknown, Known[]>();
  readonly #gone = new Set<string>();
  /** Ids that members of answers name, by kind. */
  readonly #mentioned = new Map<string, unknown[]>();
  /** Values that declared `links` give for a parameter, by operation and name. */
  readonly #linked = new Map<string, unknown[]>();

  constructor(document: OpenApiDocument) {
    this.#document = document;
  }

  /** Learns from a successful answer. */
  learn(exchange: Exchange, isMade: boolean): void {
    const { operation, answer } = exchange;
    const value = answer.json?.value;
    if (operation === undefined || answer.status < 200 || answer.status > 299) return;
    this.#follow(exchange);
    if (value === undefined || operation.method === 'DELETE') return;
    const isPut = operation.method === 'PUT' && answer.status === 201;
    const made: Making = !isMade && !isPut ? 'no' : answer.status === 201 ? 'yes' : 'unless there';
    // What is put under an id of its own is one of its collection.
    const path = isPut ? collectionPath(operation.path, lastParameter(operation.path) ?? '') : operation.path;
    const declared = operation.answers.find(({ status }) => status === String(answer.status)) ?? operation.answers[0];
    const schema = declared?.contents[0]?.schema;
    const rows = rowsSchema(this.#document, schema);
    const kinds = kindsOfOperation(this.#document, operation);
    const list = rows === undefined ? undefined : rows.member === '' ? value : at(value, `/${rows.member}`);
    if (Array.isArray(list)) for (const row of list.slice(0, most)) this.#add(row, kinds, path, made);
    else this.#add(value, kinds, path, made);
    this.#mention(value, 0);
    // What stands in a thing is not what the path picks.
    for (const [kind, one] of this.#nested(value, schema)) this.#add(one, [kind], `${operation.path}#${kind}`, made);
  }

  /** What is deleted is no longer handed out. */
  forget(id: unknown): void {
    this.#gone.add(String(id));
  }

  /**
   * Values for a parameter of a path or a query, the best first: those that paths, kinds and links lead to, and those that
   * merely stand under the same name somewhere.
   *
   * @param onlyMade for calls that change or delete what they name.
   */
  forParameter(operation: Operation, name: string, onlyMade: boolean): { likely: unknown[]; possible: unknown[] } {
    const linked = onlyMade ? [] : (this.#linked.get(`${operation.id} ${name}`) ?? []);
    const usable = onlyMade ? this.#made() : this.#things;
    const same = isOwnId(name) ? [] : asked(usable, ({ row }) => row[name]);
    const reference = kindOfReference(name);
    const mentioned = onlyMade || reference === undefined ? [] : (this.#mentioned.get(reference) ?? []);
    const values = this.#named(operation, name, usable);
    return { likely: this.#clean(linked, values, mentioned), possible: this.#clean(same) };
  }

  /** What names things that an operation may be about: those of the collection that its path goes through, then those of its kinds. */
  *#named(operation: Operation, name: string, things: readonly Known[]): Generator<unknown> {
    const collection = collectionPath(operation.path, name);
    const isLast = operation.path.endsWith(`{${name}}`);
    const own = isLast ? kindsOfOperation(this.#document, operation) : [];
    const wanted = [kindOfReference(name), kindOfPath(collection), ...own].filter((kind) => kind !== undefined);
    const nameOf = ({ row, id, path }: Known) => (path === collection || !isOwnId(name) ? (row[name] ?? id) : id);
    if (operation.path.includes(`{${name}}`)) yield* asked(things, nameOf, ({ path }) => path === collection);
    for (const kind of wanted) yield* asked(things, nameOf, ({ kinds }) => kinds.includes(kind));
  }

  /** Ids for a member of a body. */
  forMember(operation: Operation, name: string, onlyMade: boolean): unknown[] {
    const kinds = kindsOfOperation(this.#document, operation);
    const usable = onlyMade ? this.#made() : this.#things;
    if (isOwnId(name)) {
      const path = kindOfPath(operation.path);
      const isMeant = (thing: Known) => thing.kinds.some((kind) => kind === path || kinds.includes(kind));
      return this.#clean(asked(usable, ({ id }) => id, isMeant));
    }
    const kind = kindOfReference(name);
    if (kind === undefined) return [];
    const known = asked(
      this.#things,
      ({ id }) => id,
      (thing) => thing.kinds.includes(kind),
    );
    // A row of the operation's own kind that has such a member names itself by it.
    const isOwn = (thing: Known) => thing.kinds.some((one) => kinds.includes(one));
    const own = asked(usable, ({ row }) => row[name], isOwn);
    return this.#clean(known, own, this.#mentioned.get(kind) ?? []);
  }

  /** Whether the things that an operation works on are known by a member themselves: `systemRef`, and not `clientRef`. */
  isKey(operation: Operation, name: string): boolean {
    const kinds = kindsOfOperation(this.#document, operation);
    const kind = kindOfReference(name);
    const isOfOther = kind !== undefined && this.#things.some((thing) => thing.kinds.includes(kind));
    return (
      isOwnId(name) ||
      (!isOfOther && this.#things.some(({ kinds: of, row }) => kinds.some((one) => of.includes(one)) && name in row))
    );
  }

  /** Whether a member may name a thing that the server knows by another word than an id: `voucherCode` where there are vouchers. */
  mayRefer(name: string): boolean {
    const [, kind] = /^(.+?)[-_]?(?:code|number|no|slug|handle|sku)$/i.exec(name) ?? [];
    return kind !== undefined && this.ofKind(singular(kind)).length > 0;
  }

  /** Whether something is known by an id. */
  has(id: unknown): boolean {
    return id !== undefined && this.#byId.has(id);
  }

  /** Whether a value of a path's parameter names what this run made. */
  isMade(operation: Operation, name: string, value: unknown): boolean {
    for (const one of this.#named(operation, name, this.#made())) if (String(one) === String(value)) return true;
    return false;
  }

  /** Ids of all that is known. */
  ids(): unknown[] {
    return this.#clean(this.#things.map(({ id }) => id));
  }

  /** Things of a kind, the newest first. */
  ofKind(kind: string): Known[] {
    return this.#things.filter(({ kinds, id }) => kinds.includes(kind) && !this.#gone.has(String(id)));
  }

  /** What this run made, and the operation that deletes it; the newest first, so that what needs another goes before it. */
  deletable(operations: readonly Operation[]): { operation: Operation; name: string; id: unknown }[] {
    return this.#made().flatMap(({ path, row, id: own }) => {
      const operation = deleterOf(operations, path);
      const name = operation === undefined ? undefined : lastParameter(operation.path);
      if (operation === undefined || name === undefined) return [];
      const id = row[name] ?? own;
      return id === undefined || this.#gone.has(String(id)) ? [] : [{ operation, name, id }];
    });
  }

  /** The paths of what this run made and no operation deletes. */
  undeletable(operations: readonly Operation[]): string[] {
    const deletable = new Set(this.deletable(operations).map(({ id }) => String(id)));
    const left = this.#made().filter(({ id }) => !deletable.has(String(id)) && !this.#gone.has(String(id)));
    // What was made is told by the operation that made it; lists show it once more.
    const makers = new Set(operations.filter(isMaking).map(({ path }) => path));
    return [...new Set(left.map(({ path }) => path))].filter((path) => makers.has(path));
  }

  #made(): Known[] {
    return this.#things.filter(({ isMade }) => isMade);
  }

  #add(row: unknown, kinds: readonly string[], path: string, made: Making): void {
    // What failed is nothing that is there.
    if (!isObject(row) || isObject(row.error) || /^fail/i.test(String(row.status ?? ''))) return;
    const id = idOf(row);
    const same = this.#byId.get(id) ?? [];
    const before = id === undefined ? undefined : same.find((thing) => thing.path === path);
    if (before !== undefined) {
      this.#things.splice(this.#things.indexOf(before), 1);
      same.splice(same.indexOf(before), 1);
    }
    const all = [...new Set([...kinds, ...(before?.kinds ?? [])])];
    const isThere = before?.isMade === false || this.#hasAs(id, all, false);
    const isNew = (made === 'yes' || (made === 'unless there' && !isThere)) && !isOld(row);
    const isMadeNow = isNew || before?.isMade === true || this.#hasAs(id, all, true);
    const thing: Known = { kinds: all, path, row, id, isMade: isMadeNow };
    this.#things.unshift(thing);
    if (id !== undefined) this.#byId.set(id, [...same, thing]);
    const oldest = this.#things.length > mostThings ? this.#things.pop() : undefined;
    if (oldest === undefined) return;
    const left = this.#byId.get(oldest.id)?.filter((one) => one !== oldest) ?? [];
    if (left.length > 0) this.#byId.set(oldest.id, left);
    else this.#byId.delete(oldest.id);
  }

  /**
   * Whether a thing of these kinds is known by the same id, as made by this run or as there before: a list shows what another
   * operation made, and an upsert what it only changed. Ids that are numbers are those of many kinds.
   */
  #hasAs(id: unknown, kinds: readonly string[], isMade: boolean): boolean {
    if (id === undefined) return false;
    const same = this.#byId.get(id) ?? [];
    return same.some((thing) => thing.isMade === isMade && thing.kinds.some((kind) => kinds.includes(kind)));
  }

  /** Objects within an answer whose schema has a name: an onboarded client comes with its contacts. */
  #nested(value: unknown, schema: JsonObject | undefined): [string, JsonObject][] {
    if (!isObject(value) || schema === undefined) return [];
    return Object.entries(value).flatMap(([name, member]) => {
      const list = Array.isArray(member) ? member.slice(0, most) : [member];
      return list
        .filter(isObject)
        .filter((one) => idOf(one) !== undefined)
        .flatMap((one) =>
          [singular(name), ...kindsOfSchema(this.#document, undefined)].map(
            (kind) => [kind, one] as [string, JsonObject],
          ),
        );
    });
  }

  #mention(value: unknown, depth: number): void {
    if (depth > 6) return;
    if (Array.isArray(value)) for (const item of value.slice(0, most)) this.#mention(item, depth + 1);
    if (!isObject(value)) return;
    for (const [name, member] of Object.entries(value)) {
      const kind = kindOfReference(name);
      const ids = (Array.isArray(member) ? member : [member]).filter((one) =>
        ['string', 'number'].includes(typeof one),
      );
      if (kind !== undefined && ids.length > 0) {
        const known = this.#mentioned.get(kind) ?? [];
        this.#mentioned.set(kind, [...new Set([...ids, ...known])].slice(0, most));
      }
      this.#mention(member, depth + 1);
    }
  }

  /** Evaluates the links that the answer declares: they say outright what goes where. */
  #follow({ operation, request, answer }: Exchange): void {
    const declared = operation?.answers.find(({ status }) => status === String(answer.status));
    for (const link of Object.values(declared?.links ?? {})) {
      if (typeof link.operationId !== 'string' || !isObject(link.parameters)) continue;
      for (const [name, expression] of Object.entries(link.parameters)) {
        const value = evaluate(expression, request, answer);
        if (value === undefined) continue;
        const key = `${link.operationId} ${name.replace(/^(?:path|query|header)\./, '')}`;
        this.#linked.set(key, [value, ...(this.#linked.get(key) ?? [])].slice(0, most));
      }
    }
  }

  /** The first that are there and may be ids, each once. No more are looked for than are handed out. */
  #clean(...sources: readonly Iterable<unknown>[]): unknown[] {
    const usable = new Set<unknown>();
    for (const source of sources)
      for (const value of source) {
        if (usable.size === mostValues) return [...usable];
        if (['string', 'number'].includes(typeof value) && !this.#gone.has(String(value))) usable.add(value);
      }
    return [...usable];
  }
}

/** What things answer, those that are wanted; one by one, as most callers need only the first. */
function* asked(
  things: readonly Known[],
  ask: (thing: Known) => unknown,
  isWanted: (thing: Known) => boolean = () => true,
): Generator<unknown> {
  for (const thing of things) if (isWanted(thing)) yield ask(thing);
}

/** Whether the result of an operation that makes says that it made nothing. */
function isOld({ created, status }: JsonObject): boolean {
  return created === false || /^(?:updated|unchanged|existing|existed|deleted)$/i.test(String(status ?? ''));
}

function deleterOf(operations: readonly Operation[], collection: string): Operation | undefined {
  return operations.find(({ method, path }) => {
    const name = lastParameter(path);
    return (
      method === 'DELETE' &&
      name !== undefined &&
      path.endsWith(`{${name}}`) &&
      collectionPath(path, name) === collection
    );
  });
}

/** The id of an object: its `id`, or what is named so. */
export function idOf(row: JsonObject): unknown {
  const name = Object.keys(row).find(isOwnId);
  if (name !== undefined) return row[name];
  const named = Object.keys(row).filter(
    (key) => /(?:Id|_id|Uuid|ID)$/.test(key) && ['string', 'number'].includes(typeof row[key]),
  );
  return named.length > 0 && named[0] !== undefined ? row[named[0]] : undefined;
}

/** A runtime expression of OpenAPI, as far as answers and requests have what it names. */
function evaluate(expression: unknown, request: Exchange['request'], answer: Exchange['answer']): unknown {
  if (typeof expression !== 'string' || !expression.startsWith('$')) return expression;
  const [source = '', pointer = ''] = expression.split('#');
  if (source === '$response.body') return at(answer.json?.value, pointer);
  if (source.startsWith('$response.header.')) return answer.headers[source.slice(17).toLowerCase()];
  if (source.startsWith('$request.query.')) return new URL(request.url).searchParams.get(source.slice(15)) ?? undefined;
  if (source === '$request.body' && request.body !== undefined) {
    try {
      return at(JSON.parse(request.body), pointer);
    } catch {
      return undefined;
    }
  }
  return undefined;
}
