import { type Operation, safeMethods } from '../document/operation.ts';
import type { Creation } from '../finding/finding.ts';
import { type Exchange, locationOf } from '../http/call.ts';
import { noResponse } from '../http/client.ts';
import { decoded, encoded, pathPattern, pathTexts } from '../http/deserialize.ts';
import type { WireRequest } from '../http/serialize.ts';
import { isWithin, type JsonObject, remembered } from '../json.ts';
import { lastParameter } from './names.ts';
import type { Plan } from './plan.ts';
import { identitiesIn, idOf, isOld, type Pool } from './pool.ts';
import type { Left } from './report.ts';

export interface Changed {
  readonly operation: Operation;
  readonly target: string;
  readonly before: Promise<Exchange | undefined> | undefined;
  isRestored: boolean;
}

/** What a run may change, and what it leaves on the server: the resources that it created, and the data that it changed. */
export class Footprint {
  readonly #plan: Plan;
  readonly #pool: Pool;
  readonly #base: string;
  readonly #created = new Map<string, Operation>();
  /** The requests that created resources, also those that the run deleted, by the path of the resource. */
  readonly #ever = new Map<string, Exchange>();
  /** The paths of what the run deleted, and the requests to them since. */
  readonly #deleted = new Set<string>();
  readonly #afterDeletion = new WeakSet<Exchange['request']>();
  readonly #unidentified = new Map<Operation, number>();
  readonly #changed = new Map<string, Changed>();
  readonly #befores = new Map<string, Promise<Exchange | undefined>>();
  /** Paths without a resource, and IDs that were invented, which can be called without harm. */
  readonly #absent = new Set<string>();

  /** @param base the path of the server's URL, which `Location` includes. */
  constructor(plan: Plan, pool: Pool, base: string) {
    this.#plan = plan;
    this.#pool = pool;
    this.#base = base;
  }

  /** A path on the server as a path of the contract. */
  below(path: string, { extension }: Partial<Operation> = {}): string {
    const own = path.startsWith(`${this.#base}/`) ? path.slice(this.#base.length) : path;
    return extension !== undefined && own.endsWith(extension) ? own.slice(0, own.length - extension.length) : own;
  }

  /** Notes that a path has no resource, or that an ID was invented, so that a call to it changes nothing. */
  noteAbsent(target: string): void {
    this.#absent.add(target);
  }

  /** Whether an operation may change what a path names: the run created it, or it does not exist. */
  mayChange(operation: Operation, path: string): boolean {
    const names = this.#plan.resourcesIn(operation);
    const effect = this.#plan.effectOf(operation);
    if (effect === 'read' || names.length === 0) return true;
    const isHarmless = (name = '') => {
      const depth = operation.path.slice(0, operation.path.indexOf(`{${name}}`)).split('/').length;
      const segments = path.split('/').slice(0, depth);
      const isAbsent = [segments.join('/'), segments.at(-1) ?? ''].some((one) => this.#absent.has(one));
      return isAbsent || this.#isBelowCreated(segments.join('/')) || this.#isCreated(operation, path, name);
    };
    // A PUT that creates also changes what it is below.
    const [name, parent = name] = names.toReversed();
    return isHarmless(name) && (effect !== 'create' || operation.method !== 'PUT' || isHarmless(parent));
  }

  isOwn(operation: Operation, target: string): boolean {
    const name = lastParameter(operation.path);
    return this.#isBelowCreated(target) || (name !== undefined && this.#isCreated(operation, target, name));
  }

  #isCreated(operation: Operation, target: string, name: string): boolean {
    return this.#pool.isCreated(operation, name, pathTexts(operation.path, target));
  }

  #isBelowCreated(target: string): boolean {
    for (let path = target; path !== ''; path = path.slice(0, Math.max(0, path.lastIndexOf('/'))))
      if (this.#ever.has(path)) return true;
    return false;
  }

  note(exchange: Exchange, wire: WireRequest): void {
    const { operation, request, response } = exchange;
    const target = pathOf(wire);
    if (this.#deleted.has(target)) this.#afterDeletion.add(request);
    const effect = operation && this.#plan.effectOf(operation);
    if (operation === undefined || effect === 'read' || safeMethods.includes(wire.method)) return;
    const isDone = response.status >= 200 && response.status < 300;
    if (!isDone && !hasUnknownEffect(response)) return;
    if (wire.method === 'DELETE' && isDone) this.gone(target);
    const isNewPath = response.status === 201 || (response.status === noResponse && this.#absent.has(target));
    if (effect === 'create' && (wire.method === 'POST' || isNewPath)) this.#noteCreated(operation, target, exchange);
    else if (!this.isOwn(operation, target) && !this.#changed.has(target))
      this.#changed.set(target, { operation, target, before: this.#befores.get(target), isRestored: false });
  }

  /**
   * What requests create, and what they name that the run created and deleted, or that they change: to repeat them, it
   * must be created again.
   *
   * @param fresh the body of a creation with other texts, because what it created remains.
   */
  setupFor(exchanges: readonly Exchange[], fresh: (exchange: Exchange) => string | undefined): Creation[] {
    const found = new Map<Exchange, Creation>();
    const pathIn = ({ request, operation }: Exchange) => this.below(new URL(request.url).pathname, operation);
    const isShown = (creation: Exchange) => exchanges.some(({ request }) => request === creation.request);
    const isChanged = (target: string) =>
      exchanges.some(({ operation, ...one }) => {
        const isChange = operation !== undefined && !['read', 'create'].includes(this.#plan.effectOf(operation));
        return isChange && isWithin(pathIn({ operation, ...one }), target);
      });
    const add = (target: string, exchange: Exchange, id?: string) => {
      // A name can be in use after what had it was deleted, too.
      const isUsed = this.#created.has(target) || (exchange.request.method === 'POST' && !isShown(exchange));
      found.set(exchange, { id, exchange, body: isUsed ? fresh(exchange) : undefined });
    };
    const visit = (named: Exchange) => {
      for (const [target, exchange] of this.#ever) {
        const id = decoded(target.slice(target.lastIndexOf('/') + 1));
        const isNamed = isWithin(pathIn(named), target) || (id.length > 8 && named.request.body?.includes(id) === true);
        // What is missing is shown as it is.
        const isGone = this.#afterDeletion.has(named.request) || [404, 410].includes(named.response.status);
        const isMissing = isGone && pathIn(named) === target;
        if (!isNamed || isMissing || found.has(exchange) || exchange.request === named.request) continue;
        if (this.#created.has(target) && !isShown(exchange) && !isChanged(target)) continue;
        visit(exchange);
        add(target, exchange, id);
      }
    };
    for (const exchange of exchanges) visit(exchange);
    for (const [target, exchange] of this.#ever) if (isShown(exchange) && !found.has(exchange)) add(target, exchange);
    return [...found.values()];
  }

  /** Reads what a request is about to change, once. */
  remember(target: string, read: () => Promise<Exchange | undefined>): Promise<Exchange | undefined> {
    return remembered(this.#befores, target, read);
  }

  /** What an operation created last, if it remains. */
  lastOf(operation: Operation): string | undefined {
    return this.created().find((target) => this.#created.get(target) === operation);
  }

  created(): string[] {
    return [...this.#created.keys()].reverse();
  }

  changed(): Changed[] {
    return [...this.#changed.values()];
  }

  gone(target: string): void {
    this.#created.delete(target);
    this.#deleted.add(target);
  }

  left(): Left {
    const operations = new Set([...this.#created.values(), ...this.#unidentified.keys()]);
    return {
      created: [...operations].map((operation) => ({
        operation: operation.id,
        targets: [...this.#created].flatMap(([target, creator]) => (creator === operation ? [target] : [])),
        unidentified: this.#unidentified.get(operation) ?? 0,
      })),
      changed: this.changed().map(({ before: _, ...one }) => ({ ...one, operation: one.operation.id })),
    };
  }

  #noteCreated(operation: Operation, target: string, exchange: Exchange): void {
    const { response } = exchange;
    const isCertain = response.status === 201;
    // An error describes no resource, whatever has a name in it.
    const rows = hasUnknownEffect(response) ? [] : this.#pool.resourcesIn(exchange).filter((row) => !isOld(row));
    const name = this.#plan.itemIn(operation);
    const identityOf = (row: JsonObject) =>
      (name === undefined ? undefined : identitiesIn({ row, id: idOf(row) }, name)[0]) ?? idOf(row);
    const ids = rows
      .flatMap((row) => identityOf(row) ?? [])
      .filter((id) => isCertain || !this.#pool.existedBefore(operation, id));
    const paths = ids.map((id) => `${target}/${encoded(String(id))}`);
    const location = isCertain ? locationOf(exchange)?.pathname : undefined;
    const located = location === undefined ? target : this.below(location, operation);
    // A relative Location can lead to the collection.
    const named = paths.length > 0 || located === target ? paths : [located];
    const targets = operation.method === 'PUT' ? [target] : named;
    if (targets.length === 0 && (isCertain || hasUnknownEffect(response)))
      this.#unidentified.set(operation, (this.#unidentified.get(operation) ?? 0) + 1);
    for (const one of targets) {
      this.#ever.set(one, exchange);
      this.#created.set(one, operation);
      this.#deleted.delete(one);
    }
  }
}

/** Whether a request failed on the server, or its response is lost: it can have had its effect. */
export const hasUnknownEffect = ({ status }: Exchange['response']) => status === noResponse || status >= 500;

export function pathOf({ target }: WireRequest): string {
  return (target.split('?')[0] ?? '').replace(/(?<=.)\/$/, '');
}

export function deleterOf(operations: readonly Operation[], target: string): Operation | undefined {
  return operations.find(
    ({ method, path }) => method === 'DELETE' && path.endsWith('}') && pathPattern(path).test(target),
  );
}
