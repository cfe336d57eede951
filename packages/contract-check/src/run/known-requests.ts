import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { type Operation, pathParameter } from '../document/operation.ts';
import { responseText } from '../finding/finding.ts';
import { bodySchemaOf, type Call, contentOf, type Exchange, isSuccess } from '../http/call.ts';
import { NotSent } from '../http/gate.ts';
import { at, isKey, isObject, put, remembered } from '../json.ts';
import { hasItemErrors, isComplete } from '../judge/outcome.ts';
import { branchesOf } from '../schema/spots.ts';
import { Candidates, hasNoRows, rank, withoutFailed } from './candidates.ts';
import { isHarmless, unknownId, withKnownIds, withOtherIds } from './ids.ts';
import { isCreating, isDestructive, isPutCreation, itemOf, lastParameter } from './names.ts';
import { eachOperation } from './parallel.ts';
import { creatorFor, undoneBy, whyNoId } from './plan.ts';
import { identitiesIn, idOf } from './pool.ts';
import { atEveryDepth, type Freshness, freshnesses, renewed } from './renewal.ts';
import type { Session } from './session.ts';

/** A call that succeeded. Each probe changes one thing in it. */
export interface KnownRequest {
  readonly call: Call;
  readonly exchange: Exchange;
}

/** How long a job of the server is waited for, in milliseconds. */
const jobPause = 200;

/** Consecutive new resources that may fail to help before the run stops creating them. */
const maxFruitlessAttempts = 3;

/** Calls that are known to succeed, and how to create fresh resources for them. */
export class KnownRequests {
  readonly #session: Session;
  readonly #parts: Candidates;
  readonly #known = new Map<string, KnownRequest>();
  readonly #rejections = new Map<string, string>();
  /** Consecutive times that a new resource did not help, by operation. */
  readonly #fruitlessAttempts = new Map<string, number>();

  /** As an index: the first freshness that succeeded. */
  readonly #freshness = new Map<string, number>();

  /** The call with other bodies that also succeed: what one context rejects, another may accept. */
  readonly variants = perOperation((operation) => this.#findVariants(operation));
  /** The call with a body for each branch of the schema's choices, where such calls succeed. */
  readonly branches = perOperation((operation) => this.#findBranches(operation));

  constructor(session: Session) {
    this.#session = session;
    this.#parts = new Candidates(session);
  }

  of(operation: Operation): KnownRequest | undefined {
    return this.#known.get(operation.id);
  }

  /** Finds a successful call for each operation. Those that create come before those that need what is created. */
  async find(onProgress: (done: number, all: number) => void): Promise<void> {
    const operations = [...this.#session.operations].sort((left, right) => rank(left) - rank(right));
    // Later rounds can use resources that were created in earlier ones.
    for (let round = 0; round < 5; round += 1) {
      const before = this.#known.size;
      const find = async (operation: Operation) => {
        if (this.#known.has(operation.id) || this.#session.stateOf(operation).isNotImplemented) return;
        try {
          await this.#try(operation, round);
        } catch (error) {
          if (error instanceof NotSent) this.#rejections.set(operation.id, error.message);
          throw error;
        }
      };
      await eachOperation(operations, 1, find, onProgress);
      if (round > 0 && this.#known.size === before) break;
    }
    for (const operation of this.#session.judged) {
      const state = this.#session.stateOf(operation);
      const known = this.#known.get(operation.id);
      const rejection = this.#rejections.get(operation.id) ?? 'no request could be generated';
      const reason = state.isNotImplemented ? 'it returns 501 (not implemented)' : rejection;
      state.reason = known
        ? `it returned ${known.exchange.response.status}, which is not declared`
        : (this.#session.plan.reasonFor(operation) ?? reason);
    }
  }

  /** Creates another resource: repeats the call of an operation with fresh texts. Returns undefined if no call succeeds. */
  async again(operation: Operation, label: string): Promise<KnownRequest | undefined> {
    const known = this.#known.get(operation.id);
    if (known === undefined) return undefined;
    const session = this.#session;
    const fresh = (freshness: Freshness) => {
      const call = renewed(session, known.call, `fresh ${label}`, freshness);
      return operation.method === 'PUT' ? this.putNew(call, label) : call;
    };
    const sent = await this.untilNew(operation, fresh, isComplete);
    if (sent === undefined || isComplete(sent.exchange)) return sent;
    return isConflict(sent.exchange) ? this.#withOthers(known.call, label) : undefined;
  }

  /** Sends a call with fresh texts, and with others as long as it conflicts with what exists, or does not succeed. */
  async untilNew(
    operation: Operation,
    fresh: (freshness: Freshness, turn: number) => Call | undefined | Promise<Call | undefined>,
    isDone = (exchange: Exchange) => !isConflict(exchange),
  ): Promise<KnownRequest | undefined> {
    let sent: KnownRequest | undefined;
    for (const [turn, freshness] of freshnesses.entries()) {
      if (turn < (this.#freshness.get(operation.id) ?? 0) || this.#session.isOver) continue;
      const call = await fresh(freshness, turn);
      if (call === undefined) return undefined;
      sent = { call, exchange: await this.#session.send(call) };
      if (!isDone(sent.exchange)) continue;
      this.#freshness.set(operation.id, turn);
      break;
    }
    return sent;
  }

  /** Retries with other references: a seat is sold only once. A success becomes the new known request. */
  async #withOthers(call: Call, label: string): Promise<KnownRequest | undefined> {
    for (let turn = 0; turn < 3 && !this.#session.isOver; turn += 1) {
      const body = withOtherIds(this.#session, call.operation, call.body, turn);
      if (isDeepStrictEqual(body, call.body)) return undefined;
      const target = renewed(this.#session, { ...call, body }, `others ${turn} ${label}`, atEveryDepth);
      const exchange = await this.#session.send(target);
      if (!isComplete(exchange)) continue;
      const found = { call: target, exchange };
      this.#known.set(call.operation.id, found);
      return found;
    }
    return undefined;
  }

  /** A call that succeeds now, although its resource may have been deleted since. A delete gets a new resource. */
  async usable(operation: Operation): Promise<KnownRequest | undefined> {
    // The known request may depend on a resource that is used up by now.
    if (isCreating(operation)) await this.again(operation, 'alive');
    const known = this.#known.get(operation.id);
    if (known === undefined) return undefined;
    if (operation.method === 'DELETE') {
      const call = await this.#onNewResource(known.call, 'alive');
      return { call: call ?? known.call, exchange: known.exchange };
    }
    if (!operation.path.includes('{')) return known;
    const exchange = await this.#session.send(known.call);
    if (![404, 410].includes(exchange.response.status)) return known;
    this.#forget(known.call);
    const { creator } = creatorFor(this.#session.operations, operation, this.#known) ?? {};
    if (creator !== undefined) await this.again(creator, `alive ${operation.id}`);
    await this.#try(operation, 5);
    return this.#known.get(operation.id);
  }

  async #findVariants(operation: Operation): Promise<Call[]> {
    const call = this.of(operation)?.call;
    return call?.body === undefined
      ? []
      : this.#accepted(
          call,
          this.#parts.bodies(operation, 7).map(({ body }) => [body]),
          4,
        );
  }

  async #findBranches(operation: Operation): Promise<Call[]> {
    const { values, validators } = this.#session;
    const call = this.of(operation)?.call;
    const schema = call && bodySchemaOf(call);
    if (call?.body === undefined || schema === undefined || operation.method === 'DELETE') return [];
    const branches = branchesOf(values, schema, this.#session.seedFor(`${operation.id} branches`))
      .filter(({ pointer }) => pointer.split('/').length <= 3)
      .slice(0, 10)
      // Known good siblings are more likely to be accepted in another branch than generated ones.
      .map(({ pointer, value }) => (pointer === '' ? [value] : [put(call.body, pointer, at(value, pointer)), value]))
      .map((bodies) =>
        bodies
          .map((body) => withKnownIds(this.#session, operation, body))
          .filter((body) => validators.accepts(schema, body)),
      );
    return this.#accepted(call, branches, branches.length);
  }

  /** The call with one of each of some alternative bodies, where it succeeds. */
  async #accepted(call: Call, bodies: readonly (readonly unknown[])[], most: number): Promise<Call[]> {
    const found: Call[] = [];
    for (const [index, alternatives] of bodies.entries())
      for (const body of alternatives) {
        if (found.length >= most || this.#session.isOver) return found;
        if (!isComplete(await this.sendFresh({ ...call, body }, `variant ${index}`))) continue;
        found.push({ ...call, body });
        break;
      }
    return found;
  }

  /**
   * Sends a call. A call that creates a resource gets fresh texts.
   *
   * @param kept JSON Pointer to the part of the body that must not change.
   */
  async sendFresh(call: Call, label: string, kept?: string): Promise<Exchange> {
    const session = this.#session;
    if (!isCreating(call.operation)) return session.send(call);
    const sent = await this.untilNew(call.operation, (freshness) => renewed(session, call, label, freshness, kept));
    return this.elsewhere(call, sent?.exchange ?? (await session.send(call)), label);
  }

  async #try(operation: Operation, round: number): Promise<void> {
    let calls = this.#candidates(operation, round);
    const { creator } = creatorFor(this.#session.operations, operation, this.#known) ?? {};
    // Other operations can have deleted what the run created.
    if (calls.length === 0 && creator !== undefined && (await this.again(creator, `for ${operation.id} ${round}`)))
      calls = this.#candidates(operation, round);
    for (const [index, call] of calls.entries()) {
      if (this.#session.isOver) return;
      const target = await this.#isolated(call, `try ${round} ${index}`);
      if (target === undefined) continue;
      let sent = target;
      let exchange = await this.#session.send(sent);
      if (exchange.response.status === 409) {
        const fresh = async (freshness: Freshness) => {
          // What has no texts may conflict with a job that is not done yet.
          if (call.body === undefined && round > 0 && index === 0) await sleep(jobPause);
          return renewed(this.#session, call, `conflict ${round} ${index}`, freshness);
        };
        ({ call: sent, exchange } = (await this.untilNew(operation, fresh)) ?? { call: sent, exchange });
        // An earlier action can have brought the known resource into a state that forbids others.
        const other = exchange.response.status === 409 && index === 0 ? await this.#onNewResource(sent, 'try') : sent;
        if (other !== undefined && other !== sent) [sent, exchange] = [other, await this.#session.send(other)];
      }
      if (exchange.response.status === 415 && operation.body === undefined && operation.method !== 'GET') {
        // Some servers require a media type of every request that is no GET.
        sent = { ...sent, raw: { headers: { 'content-type': 'application/json' } } };
        exchange = await this.#session.send(sent);
      }
      const reduced = hasItemErrors(exchange) ? withoutFailed(sent, exchange) : undefined;
      if (reduced !== undefined) {
        const again = await this.#session.send(reduced);
        if (isComplete(again)) [sent, exchange] = [reduced, again];
      }
      if (isSuccess(exchange)) {
        // A batch with a failed item is a fallback: a later candidate may succeed completely.
        const isGood = isComplete(exchange) && !hasNoRows(this.#session, exchange);
        if (isGood || !this.#known.has(operation.id)) this.#known.set(operation.id, { call: sent, exchange });
        if (isCreating(operation)) await this.#findId(sent, exchange);
        if (operation.method === 'DELETE') this.#forget(sent);
        if (isGood) return;
        continue;
      }
      // That an ID does not exist says less than any other rejection.
      if (exchange.response.status !== 404 || !this.#rejections.has(operation.id))
        this.#rejections.set(operation.id, this.#whyRejected(operation, exchange));
      // No other value helps without an implementation or credentials.
      if ([401, 501].includes(exchange.response.status)) return;
    }
  }

  #whyRejected(operation: Operation, exchange: Exchange): string {
    const why = exchange.response.status === 404 ? whyNoId(this.#session.plan, operation, false) : '';
    return /is not called/.test(why) ? why : `every request was rejected, one with ${responseText(exchange)}`;
  }

  /** Prepares a call so that it harms no existing data: a delete runs on a new resource, a PUT under an unused ID. */
  async #isolated(call: Call, label: string): Promise<Call | undefined> {
    const { operation } = call;
    if (operation.method === 'DELETE') return (await this.#onNewResource(call, label)) ?? call;
    if (!isPutCreation(operation, this.#session.operations) || (await isHarmless(this.#session, call))) return call;
    const freshCall = await this.putNew(call, label);
    const reason = 'every path that could be used leads to a resource that this run did not create';
    if (freshCall === undefined) this.#rejections.set(operation.id, reason);
    return freshCall;
  }

  #candidates(operation: Operation, round: number): Call[] {
    const effect = this.#session.plan.effectOf(operation);
    // Where the API creates none of the resources, an existing one is changed and restored.
    const onlyCreated =
      operation.path.includes('{') &&
      undoneBy(this.#session.operations, operation, this.#known) === undefined &&
      ((isDestructive(operation) && effect !== 'change existing') ||
        (effect === 'change own' && this.#session.options.disposable !== true));
    const own = this.#parts.parameterSets(operation, onlyCreated, round);
    // What no operation creates is changed, but never deleted.
    const isChange =
      this.#session.options.disposable === true && effect === 'irreversible' && operation.method !== 'DELETE';
    const parameters = own.length === 0 && isChange ? this.#parts.parameterSets(operation, false, round) : own;
    if (parameters.length === 0) {
      this.#rejections.set(operation.id, whyNoId(this.#session.plan, operation, onlyCreated));
      return [];
    }
    const bodies = this.#parts.bodies(operation, round);
    const calls = parameters.flatMap((set, row) =>
      bodies.map((body, column) => ({ call: { operation, ...set, ...body }, rank: (row + 1) * (column + 1) })),
    );
    return calls
      .toSorted((one, other) => one.rank - other.rank)
      .slice(0, 24)
      .map(({ call }) => withPathId(call));
  }

  /** Excludes a deleted resource; its parents exist, unless the run created them. */
  #forget({ operation, path }: Call): void {
    const { pool } = this.#session;
    for (const [name, id] of Object.entries(path))
      if (operation.path.endsWith(`{${name}}`) || pool.isCreated(operation, name, path)) pool.forget(id);
  }

  /** Reads what a creation belongs to, if its response does not have the ID. */
  async #findId({ operation: { path }, path: values }: Call, { response }: Exchange): Promise<void> {
    const paths = [path, path.slice(0, path.lastIndexOf('/'))];
    const read = this.#session.operations.find((one) => one.method === 'GET' && paths.includes(one.path));
    const known = read === undefined || response.json !== undefined ? undefined : this.#known.get(read.id);
    if (known !== undefined) await this.#session.send({ ...known.call, path: values });
  }

  /** A PUT to an unused ID. The ID is also replaced in the body. Returns undefined if no unused ID is known. */
  async putNew(call: Call, label: string): Promise<Call | undefined> {
    const name = lastParameter(call.operation.path) ?? '';
    const parameter = pathParameter(call.operation, name);
    if (parameter === undefined) return undefined;
    // An earlier run with the same seed may have created the first ID.
    for (const turn of [label, `${label} ${randomUUID()}`]) {
      const seed = this.#session.seedFor(`${call.operation.id} put ${turn}`);
      const id = unknownId(this.#session, parameter.schema, call.path[name], seed);
      const body = isObject(call.body) && name in call.body ? { ...call.body, [name]: id } : call.body;
      const target = { ...call, path: { ...call.path, [name]: id }, body };
      if (id !== undefined && (await isHarmless(this.#session, target))) return target;
    }
    return undefined;
  }

  /**
   * Repeats a conflicting action on a resource that is created for it, because an earlier call may have changed the
   * state of the known one: an order is cancelled only once. Returns the first response if that does not help.
   */
  async elsewhere(
    call: Call,
    exchange: Exchange,
    label: string,
    send = (target: Call) => this.#session.send(target),
  ): Promise<Exchange> {
    const { id, method, path } = call.operation;
    const failures = this.#fruitlessAttempts.get(id) ?? 0;
    const isAction = method === 'POST' && path.includes('{') && !path.endsWith('}');
    if (exchange.response.status !== 409 || !isAction || failures >= maxFruitlessAttempts) return exchange;
    const target = await this.#onNewResource(call, `elsewhere ${label}`);
    if (target === undefined || target === call) return exchange;
    const other = await send(target);
    this.#fruitlessAttempts.set(id, other.response.status === 409 ? failures + 1 : 0);
    return other;
  }

  /** The call on a resource that is created for it, so that a deletion does not affect other probes. */
  async #onNewResource(call: Call, label: string): Promise<Call | undefined> {
    const { operation } = call;
    const undone = undoneBy(this.#session.operations, operation, this.#known);
    if (undone !== undefined) {
      const put = undone.method === 'PUT' ? this.#known.get(undone.id)?.call : undefined;
      if (put !== undefined) await this.#session.send(put);
      const path = put?.path ?? (await this.again(undone, `for ${operation.id} ${label}`))?.call.path;
      return path === undefined ? undefined : { ...call, path };
    }
    const { creator, name } = creatorFor(this.#session.operations, operation, this.#known) ?? {};
    if (creator === undefined || name === undefined) return operation.method === 'DELETE' ? undefined : call;
    const created = await this.again(creator, `for ${operation.id} ${label}`);
    const parameter = pathParameter(operation, name);
    if (created === undefined || parameter === undefined) return undefined;
    const [row = created.call.body] = this.#session.pool.resourcesIn(created.exchange);
    const own = isObject(row) ? identitiesIn({ row, id: idOf(row) }, name) : [];
    const known = this.#session.pool.forParameter(operation, name, true).likely;
    const ids = [...own, ...known].flatMap((value) => (value === undefined ? [] : this.#parts.fit(parameter, value)));
    // `{repo}` can be a name, beside an ID.
    const isNumber = (value: unknown) => /^\d+$/.test(String(value));
    const id = ids.find((one) => isNumber(one) === isNumber(call.path[name])) ?? ids[0];
    if (id === undefined) return undefined;
    const path = { ...created.call.path, ...this.#session.pool.contextOf(operation, name, id), [name]: id };
    const names = Object.keys(call.path);
    return { ...call, path: Object.fromEntries(names.map((one) => [one, path[one] ?? call.path[one]])) };
  }
}

/** The call of a change with the ID of its path in the document of JSON:API. */
function withPathId(call: Call): Call {
  const id = call.path[itemOf(call.operation.path)?.name ?? ''];
  const data: unknown = isObject(call.body) ? call.body.data : undefined;
  const isNamed = contentOf(call)?.flat !== undefined && isObject(data) && 'id' in data && isKey(id);
  return isNamed ? { ...call, body: { ...Object(call.body), data: { ...data, id: String(id) } } } : call;
}

/** What is found out about an operation on first use, because every probe needs it. */
function perOperation<Value>(find: (operation: Operation) => Promise<Value>) {
  const known = new Map<string, Promise<Value>>();
  return (operation: Operation): Promise<Value> => remembered(known, operation.id, () => find(operation));
}

/** Whether fresh texts may help, because an existing resource conflicts. */
function isConflict(exchange: Exchange): boolean {
  return exchange.response.status === 409 || hasItemErrors(exchange);
}
