import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { CannotRun } from '../cannot-run.ts';
import type { OpenApiDocument } from '../document/document.ts';
import { type Operation, operationsOf, readAt } from '../document/operation.ts';
import { shapeOf } from '../document/shape.ts';
import type { Candidate, Category } from '../finding/finding.ts';
import { FindingRegistry } from '../finding/merge.ts';
import { ruleOf } from '../finding/rules.ts';
import type { Call, Exchange } from '../http/call.ts';
import { noResponse } from '../http/client.ts';
import { Gate } from '../http/gate.ts';
import { serialize, type WireRequest } from '../http/serialize.ts';
import { isJson, isObject, remembered } from '../json.ts';
import { declaredResponseFor, firstOfEach, isNotImplemented, Judge, successIn } from '../judge/judge.ts';
import { Validators } from '../schema/validators.ts';
import { Values } from '../schema/values.ts';
import { inconsistent } from './arithmetic.ts';
import { CoverageBook } from './coverage.ts';
import { type Changed, Footprint, pathOf } from './footprint.ts';
import { Identities, type Identity } from './identities.ts';
import { isCreating } from './names.ts';
import type { CheckOptions } from './options.ts';
import { ifSent } from './parallel.ts';
import { chosen, Plan } from './plan.ts';
import { Pool } from './pool.ts';
import { Proofs } from './proofs.ts';
import { newState, type OperationState, Reach } from './results.ts';
import { Transport } from './transport.ts';
import { Versions } from './versions.ts';

export interface SendOptions {
  readonly identity?: Identity;
  /** False for requests outside the contract: their responses are checked for server faults only. */
  readonly isJudged?: boolean;
}

interface Repeated {
  readonly found: Candidate;
  readonly exchange: Exchange;
}

/** One run against one server: sends requests, checks every response, and collects what it learns. */
export class Session {
  readonly document: OpenApiDocument;
  readonly options: CheckOptions;
  readonly declared: readonly Operation[];
  readonly operations: readonly Operation[];
  readonly plan: Plan;
  readonly footprint: Footprint;
  readonly identities: Identities;
  readonly transport: Transport;
  /** The operations that are checked, even if the run may not call them. */
  readonly judged: readonly Operation[];
  readonly validators: Validators;
  readonly values: Values;
  readonly judge: Judge;
  readonly pool: Pool;
  readonly registry = new FindingRegistry();
  readonly coverage: CoverageBook;
  readonly reach = new Reach();
  readonly versions = new Versions(this);
  readonly #states = new Map<string, OperationState>();
  readonly notices: Set<string>;
  readonly seed: number;
  hasFailed = false;
  /** The setting that was changed last, until it is restored. */
  #setting: { readonly target: string; readonly call: Call; restored: Promise<void> | undefined } | undefined;

  constructor(document: OpenApiDocument, url: string, options: CheckOptions) {
    this.document = document;
    this.options = options;
    this.seed = options.seed ?? 1;
    this.declared = operationsOf(document);
    this.plan = new Plan(document, this.declared, options);
    this.operations = this.declared.filter((operation) => this.plan.isCalled(operation));
    this.judged = chosen(chosen(this.declared, options), { only: options.focus });
    this.validators = Validators.of(document);
    this.values = new Values(document, this.validators);
    this.judge = new Judge(document, this.validators, options);
    this.pool = new Pool(document, options.disposable !== true);
    this.coverage = new CoverageBook(
      document,
      this.judged.filter((operation) => this.plan.isCalled(operation)),
    );
    this.identities = new Identities(document, options);
    const base = new URL(url).pathname.replace(/\/$/, '');
    this.footprint = new Footprint(this.plan, this.pool, base);
    const gate = new Gate({
      operations: this.declared,
      isAllowed: (operation) => this.plan.isCalled(operation),
      isExcludedPath: (method, path) => this.plan.isExcludedPath(method, path),
      isSelective: (options.only ?? []).length > 0,
      isDisposable: options.disposable === true,
      mayChange: (operation, path) => this.footprint.mayChange(operation, path),
      base,
    });
    this.transport = new Transport(url, options, gate, this.identities);
    this.notices = this.transport.notices;
    for (const note of document.notes) this.notices.add(note);
    const proofs = new Proofs(this);
    this.transport.around = async (operation, wire, send) => {
      if (this.#setting !== undefined && pathOf(wire) !== this.#setting.target) await this.#restoreSetting();
      await this.#remember(operation, wire);
      return proofs.send(operation, send);
    };
    this.transport.onExchange = (exchange, wire) => this.footprint.note(exchange, wire);
  }

  /** A seed for one purpose. It depends only on the run's seed and the label, so it is independent of other calls. */
  seedFor(label: string): number {
    return createHash('sha256').update(`${this.seed} ${label}`).digest().readInt32BE(0);
  }

  /** Whether the run ended early. Nothing is sent then. */
  get isOver(): boolean {
    return this.transport.stopped !== undefined;
  }

  /** Notes a failure of the check itself. What does not depend on it goes on. */
  noteFailure(what: string, error: unknown): void {
    const reason = error instanceof CannotRun ? error.message : `a bug in contract-check: ${String(error)}`;
    this.hasFailed = true;
    this.notices.add(`${what} failed: ${reason}`);
    if (process.env.DEBUG !== undefined) console.error(error);
  }

  /** Whether an operation creates the resource that it returns. Without `disposable`, only if that is certain. */
  isCreation(operation: Operation): boolean {
    return this.options.disposable === true
      ? isCreating(operation)
      : this.plan.effectOf(operation) === 'create' && operation.method === 'POST';
  }

  /** Restores a setting before another operation is called: a server can reject all others in a maintenance mode. */
  async #restoreSetting(): Promise<void> {
    const setting = this.#setting;
    const changed = this.footprint.changed().find(({ target }) => target === setting?.target);
    if (setting !== undefined && changed !== undefined) {
      setting.restored ??= this.restore(changed, () => setting.call);
      await setting.restored;
    }
    this.#setting = undefined;
  }

  /** Reads what a call is about to change, if the run did not create it. */
  async #remember(operation: Operation | undefined, wire: WireRequest): Promise<void> {
    const target = pathOf(wire);
    if (operation === undefined || this.footprint.isOwn(operation, target)) return;
    if (!['PUT', 'PATCH'].includes(wire.method) && !this.plan.isSetting(operation)) return;
    const read = readAt(this.operations, operation.path);
    if (read !== undefined) await this.footprint.remember(target, () => this.read(target, read));
  }

  /** Reads what a path names, without judging the response. */
  read(target: string, operation?: Operation): Promise<Exchange> {
    const { extension = '' } = operation ?? {};
    return this.sendRaw({ method: 'GET', target, extension, headers: { accept: '*/*' }, body: undefined }, operation);
  }

  /** Writes the values from before the run, and reads whether they are back. */
  async restore(changed: Changed, callOf: (writer: Operation) => Call | undefined): Promise<void> {
    const { target, operation } = changed;
    const before = (await changed.before)?.response;
    const value = before?.json?.value;
    if (before === undefined || before.status >= 300 || !isObject(value)) return;
    const writers = this.operations.filter(
      ({ method, path }) => path === operation.path && ['PUT', 'PATCH', 'POST'].includes(method),
    );
    for (const writer of writers) {
      const content = writer.body?.contents.find(({ mediaType }) => isJson(mediaType));
      const known = callOf(writer);
      if (content?.schema === undefined || known === undefined) continue;
      const { properties } = shapeOf(this.document, content.schema);
      const isWritable = (name: string) => !shapeOf(this.document, ...(properties.get(name) ?? [])).readOnly;
      const version = this.versions.nameIn(writer);
      const isRestorable = (name: string) => properties.has(name) && isWritable(name) && name !== version;
      const names = Object.keys(value).filter(isRestorable);
      if (names.length === 0) continue;
      const old = Object.fromEntries(names.map((name) => [name, value[name]]));
      const body = this.versions.placeholderIn(writer, old);
      const call = { ...known, body, mediaType: content.mediaType, raw: { path: target } };
      await ifSent(() => this.send(call, { isJudged: false }));
      const after = (await ifSent(() => this.read(target, writer)))?.response.json?.value;
      changed.isRestored = isObject(after) && names.every((name) => isDeepStrictEqual(after[name], value[name]));
      if (changed.isRestored) return;
    }
  }

  readonly includesCategory = (category: Category): boolean => this.options.checks?.includes(category) ?? true;

  isJudged(operation: Operation): boolean {
    return this.judged.includes(operation);
  }

  stateOf({ id }: Operation): OperationState {
    return remembered(this.#states, id, newState);
  }

  /** Sends a call and checks its response. Waits if the server limits the rate. */
  async send(known: Call, options: SendOptions = {}): Promise<Exchange> {
    const call = await this.versions.filled(known);
    const wire = serialize(call);
    const exchange = await this.sendRaw(wire, call.operation, options.identity);
    const state = this.stateOf(call.operation);
    state.requests += 1;
    const { status } = exchange.response;
    this.reach.note(call.operation, exchange);
    if (isNotImplemented(exchange)) state.isNotImplemented = true;
    // With an empty parameter, the path is that of another operation: `/tools/` instead of `/tools/{id}`.
    const isMeant = !Object.values(call.path).includes('');
    const isSuccess = status >= 200 && status < 400;
    if (isMeant && isSuccess && (options.identity ?? 'caller') === 'caller') {
      if (call.operation.isReading) state.known ??= wire;
      state.isReached ||= options.isJudged !== false && declaredResponseFor(call.operation, status) !== undefined;
      if (this.plan.isSetting(call.operation)) this.#setting = { target: pathOf(wire), call, restored: undefined };
      this.pool.learn(exchange, this.isCreation(call.operation), call);
    }
    if (this.isJudged(call.operation)) {
      const isOfContract = isMeant && options.isJudged !== false;
      if (isOfContract) this.coverage.recordExchange(call.operation, exchange);
      const candidates = this.#judged(exchange).filter(
        ({ cause, check }) =>
          !this.registry.has(cause) &&
          // Waiting for a slow server again takes long.
          !(check === 'no-response' && this.registry.isUnconfirmed(cause)) &&
          (isOfContract || ruleOf(check).category === 'robustness') &&
          this.includesCategory(ruleOf(check).category),
      );
      if (candidates.length > 0) await this.#confirm(candidates, exchange, call, options);
    }
    return exchange;
  }

  /** Sends a request that no operation declares. Only server faults count here. */
  sendRaw(wire: WireRequest, operation?: Operation, identity: Identity = 'caller'): Promise<Exchange> {
    return this.transport.exchange(operation, wire, identity);
  }

  /** Compares a response with its declaration. */
  #judged(exchange: Exchange): Candidate[] {
    const success = successIn(exchange);
    return [...this.judge.judge(exchange), ...firstOfEach(success ? inconsistent(this.document, success) : [])];
  }

  /** Confirms candidates by repeating the request. A write is not repeated: a later write confirms it. */
  async #confirm(
    candidates: readonly Candidate[],
    exchange: Exchange,
    call: Call,
    options: SendOptions,
  ): Promise<void> {
    const { status } = exchange.response;
    const isFault = status >= 500 || status === noResponse;
    const isRepeatable = call.operation.isReading || call.operation.method === 'PUT' || isFault || status >= 400;
    // What a fault may have created is not created again.
    const again = isRepeatable ? ((await ifSent(() => this.#repeated(exchange, call, options))) ?? []) : [];
    for (const candidate of candidates) {
      const same = again.find(({ found }) => found.cause === candidate.cause);
      if (same !== undefined) this.registry.write(same.found, [same.exchange]);
      else if (isFault) this.registry.noteUnrepeated(candidate);
      else this.registry.noteUnconfirmed(candidate, exchange);
    }
  }

  /** Repeats a request, and returns what is found in the response. */
  async #repeated({ operation, response }: Exchange, call: Call, { identity }: SendOptions): Promise<Repeated[]> {
    // A server that is only slow responds at last.
    const patience = response.status === noResponse ? this.transport.patienceFor(call.operation) : 1;
    const wire = { ...serialize(call), patience };
    const again = await this.sendRaw(wire, operation, identity);
    const { known } = this.stateOf(call.operation);
    // What the server stores can be at fault, and not the request.
    const before = known && again.response.status >= 500 ? await this.sendRaw(known, operation, identity) : undefined;
    if (before === undefined || before.response.status < 500)
      return this.#judged(again).map((found) => ({ found, exchange: again }));
    return this.#judged(before).map((found) => {
      return { found: { ...found, title: `${found.title} to a request that succeeded before` }, exchange: before };
    });
  }
}
