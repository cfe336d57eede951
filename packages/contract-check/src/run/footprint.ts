import { isDeepStrictEqual } from 'node:util';
import type { OpenApiDocument } from '../document/document.ts';
import type { Operation } from '../document/operation.ts';
import { type Call, type Exchange, isJson } from '../http/call.ts';
import { noResponse } from '../http/client.ts';
import { pathPattern } from '../http/deserialize.ts';
import { safeMethods } from '../http/gate.ts';
import type { WireRequest } from '../http/serialize.ts';
import { isObject, type JsonObject, remembered } from '../json.ts';
import type { Left } from '../report/report.ts';
import { shapeOf } from '../schema/shape.ts';
import { ifSent } from './parallel.ts';
import { idOf, isFailed, isOld } from './pool.ts';

/** A resource that the run created. */
interface Created {
  readonly operation: Operation;
  readonly target: string;
}

/** Data from before the run that a request changed. */
interface Changed {
  readonly operation: Operation;
  readonly target: string;
  /** The response to a GET before the first change. */
  readonly before: Promise<Exchange | undefined> | undefined;
  isRestored: boolean;
}

/** What a run leaves on the server: the resources that it created, and the data that it changed. */
export class Footprint {
  readonly #created = new Map<string, Created>();
  /** Also those that the run deleted. */
  readonly #ever = new Set<string>();
  readonly #unidentified = new Map<Operation, number>();
  readonly #changed = new Map<string, Changed>();
  readonly #befores = new Map<string, Promise<Exchange | undefined>>();
  readonly #base: string;

  /** @param base the path of the server's URL, which `Location` includes. */
  constructor(base: string) {
    this.#base = base;
  }

  /**
   * Notes the effect of a request.
   *
   * @param isCreation whether the operation creates what it returns.
   * @param isOwn whether the path names a resource of the run.
   * @param existed whether an ID was known before.
   */
  note(
    { operation, response }: Exchange,
    wire: WireRequest,
    { isCreation, isOwn, existed }: { isCreation: boolean; isOwn: boolean; existed: (id: unknown) => boolean },
  ): void {
    const isDone = response.status >= 200 && response.status < 300;
    if (operation === undefined || safeMethods.includes(wire.method)) return;
    if (!isDone && !hasUnknownEffect(response)) return;
    const target = pathOf(wire);
    if (wire.method === 'DELETE' && isDone) this.#created.delete(target);
    if (isCreation) this.#noteCreated(operation, target, response, existed);
    if (isCreation || isOwn || this.has(target) || this.#changed.has(target)) return;
    this.#changed.set(target, { operation, target, before: this.#befores.get(target), isRestored: false });
  }

  /** Whether the run created the resource of a path, or one above it. */
  has(target: string): boolean {
    for (let path = target; path !== ''; path = path.slice(0, Math.max(0, path.lastIndexOf('/'))))
      if (this.#ever.has(path)) return true;
    return false;
  }

  /** Reads what a request is about to change, once. */
  remember(target: string, read: () => Promise<Exchange | undefined>): Promise<Exchange | undefined> {
    return remembered(this.#befores, target, read);
  }

  created(): Created[] {
    return [...this.#created.values()].reverse();
  }

  changed(): Changed[] {
    return [...this.#changed.values()];
  }

  /** Notes that a resource no longer exists. */
  gone(target: string): void {
    this.#created.delete(target);
  }

  left(): Left {
    const created = Map.groupBy(this.#created.values(), ({ operation }) => operation);
    const operations = new Set([...created.keys(), ...this.#unidentified.keys()]);
    return {
      created: [...operations].map((operation) => ({
        operation: operation.id,
        targets: (created.get(operation) ?? []).map(({ target }) => target),
        unidentified: this.#unidentified.get(operation) ?? 0,
      })),
      changed: this.changed().map(({ before: _, ...one }) => ({ ...one, operation: one.operation.id })),
    };
  }

  #noteCreated(
    operation: Operation,
    target: string,
    response: Exchange['response'],
    existed: (id: unknown) => boolean,
  ): void {
    const isCertain = response.status === 201;
    const ids = newIds(response).filter((id) => isCertain || !existed(id));
    const paths = ids.map((id) => `${target}/${encodeURIComponent(String(id))}`);
    const named = paths.length > 0 ? paths : locationOf(response, this.#base);
    const targets = operation.method === 'PUT' ? [target] : named;
    if (targets.length === 0 && (isCertain || hasUnknownEffect(response)))
      this.#unidentified.set(operation, (this.#unidentified.get(operation) ?? 0) + 1);
    for (const one of targets) {
      this.#ever.add(one);
      this.#created.set(one, { operation, target: one });
    }
  }
}

/** Whether a request failed on the server, or its response is lost: it can have had its effect. */
const hasUnknownEffect = ({ status }: Exchange['response']) => status === noResponse || status >= 500;

/** The path of a request without its query. */
export function pathOf({ target }: WireRequest): string {
  return (target.split('?')[0] ?? '').replace(/(?<=.)\/$/, '');
}

/** The IDs of created resources in a response. */
function newIds({ json }: Exchange['response']): unknown[] {
  const body = json?.value;
  const rows = Array.isArray(body) ? body : isObject(body) ? (listIn(body) ?? [body]) : [];
  return rows.filter(isObject).flatMap((row) => (isFailed(row) || isOld(row) ? [] : (idOf(row) ?? [])));
}

function locationOf({ headers: { location }, status }: Exchange['response'], base: string): string[] {
  if (status !== 201 || location === undefined || !URL.canParse(location, 'http://server')) return [];
  const { pathname } = new URL(location, 'http://server');
  return [pathname.startsWith(`${base}/`) ? pathname.slice(base.length) : pathname];
}

function listIn(body: JsonObject): unknown[] | undefined {
  if (idOf(body) !== undefined) return undefined;
  const lists = Object.values(body).filter((member) => Array.isArray(member));
  return lists.length === 1 ? lists[0] : undefined;
}

/** The operation that deletes a resource, by the resource's path. */
export function deleterOf(operations: readonly Operation[], target: string): Operation | undefined {
  return operations.find(
    ({ method, path }) => method === 'DELETE' && path.endsWith('}') && pathPattern(path).test(target),
  );
}

/** The parts of a session that restoring needs. */
interface Sender {
  readonly document: OpenApiDocument;
  readonly operations: readonly Operation[];
  send(call: Call, options: { readonly isJudged: boolean }): Promise<Exchange>;
  sendRaw(wire: WireRequest): Promise<Exchange>;
}

/** Writes the values from before the run, and reads whether they are back. */
export async function restore(
  session: Sender,
  changed: Changed,
  callOf: (writer: Operation) => Call | undefined,
): Promise<void> {
  const { target, operation } = changed;
  const before = (await changed.before)?.response;
  const value = before?.json?.value;
  if (before === undefined || before.status >= 300 || !isObject(value)) return;
  const writers = session.operations.filter(
    (one) => one.path === operation.path && ['PUT', 'PATCH', 'POST'].includes(one.method),
  );
  for (const writer of writers) {
    const content = writer.body?.contents.find(({ mediaType }) => isJson(mediaType));
    const known = callOf(writer);
    if (content?.schema === undefined || known === undefined) continue;
    const names = writableIn(session, content.schema);
    const body = Object.fromEntries(Object.entries(value).filter(([name]) => names.has(name)));
    if (Object.keys(body).length === 0) continue;
    await ifSent(() =>
      session.send({ ...known, body, mediaType: content.mediaType, raw: { path: target } }, { isJudged: false }),
    );
    const after = await ifSent(() => read(session, target));
    const current = after?.response.json?.value;
    changed.isRestored =
      isObject(current) && Object.entries(body).every(([name, one]) => isDeepStrictEqual(current[name], one));
    if (changed.isRestored) return;
  }
}

function read(session: Sender, target: string): Promise<Exchange> {
  return session.sendRaw({ method: 'GET', target, headers: { accept: '*/*' }, body: undefined });
}

function writableIn({ document }: Sender, schema: JsonObject): Set<string> {
  const properties = [...shapeOf(document, schema).properties];
  return new Set(properties.flatMap(([name, schemas]) => (shapeOf(document, ...schemas).readOnly ? [] : [name])));
}
