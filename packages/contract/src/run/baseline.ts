import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { hasItemErrors, itemResultsIn } from '../checks/outcome.ts';
import type { Operation, Parameter } from '../document/operation.ts';
import type { Call, Exchange } from '../http/call.ts';
import { isJson } from '../http/serialize.ts';
import { at, isObject, put, sizeOf } from '../json.ts';
import {
  collectionPath,
  isMaking,
  isOwnId,
  isPutCreation,
  isReadingPost,
  kindOfReference,
  lastParameter,
  rowsSchema,
  singular,
} from './names.ts';
import { idOfNobody, isHarmless, unlikelyIds } from './nobody.ts';
import { idOf } from './pool.ts';
import { atEveryDepth, type Freshnesses, freshnesses, renewed } from './renewal.ts';
import type { Session } from './session.ts';

/** A call that succeeded: what every probe changes in one thing. */
export interface Baseline {
  readonly call: Call;
  readonly exchange: Exchange;
}

/** New things that do not help before no more are made. */
const mostHelpless = 3;

/** The calls that are known to succeed, and how new ones are made. */
export class Baselines {
  readonly #session: Session;
  readonly #known = new Map<string, Baseline>();
  readonly #refusals = new Map<string, string>();
  readonly #branches = new Map<string, Promise<readonly Call[]>>();
  readonly #variants = new Map<string, Promise<readonly Call[]>>();
  readonly #freshnesses = new Map<string, Promise<Freshnesses>>();
  /** How often in a row a new thing did not help, by operation. */
  readonly #helpless = new Map<string, number>();

  constructor(session: Session) {
    this.#session = session;
  }

  of(operation: Operation): Baseline | undefined {
    return this.#known.get(operation.id);
  }

  /** Finds a call for each operation, in an order in which those that make come before those that need. */
  async find(onProgress: (done: number, all: number) => void): Promise<void> {
    const operations = [...this.#session.operations].sort((left, right) => rank(left) - rank(right));
    // A second round: by then, operations that make what others need have been called.
    for (let round = 0; round < 3; round += 1) {
      let done = 0;
      const before = this.#known.size;
      for (const operation of operations) {
        if (this.#session.isOver) return;
        done += 1;
        onProgress(done, operations.length);
        if (this.#known.has(operation.id) || this.#session.stateOf(operation).isNotImplemented) continue;
        await this.#try(operation, round);
      }
      if (round > 0 && this.#known.size === before) break;
    }
    for (const operation of this.#session.judged) {
      if (this.#known.has(operation.id)) continue;
      const state = this.#session.stateOf(operation);
      state.reason = state.isNotImplemented
        ? 'it answers 501: it is still to be written'
        : (this.#refusals.get(operation.id) ?? 'no call of it could be made');
    }
  }

  /**
   * Calls an operation anew, with texts that were not sent before, so that what must be unique does not meet itself; one that
   * changes or deletes, on a thing that is made for it. Gives its answer where it succeeded.
   */
  async again(operation: Operation, label: string): Promise<Baseline | undefined> {
    const known = this.#known.get(operation.id);
    if (known === undefined) return undefined;
    for (const extent of await this.freshnesses(operation)) {
      const call = renewed(this.#session, known.call, `fresh ${label}`, extent);
      const target = isPutCreation(operation, this.#session.operations)
        ? await this.putAnew(call, label)
        : isDestructive(operation)
          ? await this.#onNewThing(call, label)
          : call;
      if (target === undefined) return undefined;
      const exchange = await this.#session.send(target);
      if (isSuccess(exchange) && !hasItemErrors(exchange)) return { call: target, exchange };
      if (!isConflict(exchange)) return undefined;
    }
    return isMaking(operation) ? this.#withOthers(known.call, label) : undefined;
  }

  /** The call with other things that it refers to, where those that it knew are used up: a seat is sold once. It is the known one then. */
  async #withOthers(call: Call, label: string): Promise<Baseline | undefined> {
    for (let turn = 0; turn < 3 && !this.#session.isOver; turn += 1) {
      const body = this.#otherThings(call.operation, call.body, turn);
      if (isDeepStrictEqual(body, call.body)) return undefined;
      const target = renewed(this.#session, { ...call, body }, `others ${turn} ${label}`, atEveryDepth);
      const exchange = await this.#session.send(target);
      if (!isSuccess(exchange) || hasItemErrors(exchange)) continue;
      const found = { call: target, exchange };
      this.#known.set(call.operation.id, found);
      return found;
    }
    return undefined;
  }

  /** The value with other known things in the place of those that it refers to. */
  #otherThings(operation: Operation, value: unknown, turn: number): unknown {
    const visit = (node: unknown, name: string): unknown => {
      if (Array.isArray(node)) return node.map((item) => visit(item, name));
      if (isObject(node))
        return Object.fromEntries(Object.entries(node).map(([key, member]) => [key, visit(member, key)]));
      if (kindOfReference(name) === undefined || !['string', 'number'].includes(typeof node)) return node;
      const others = this.#session.pool
        .forMember(operation, name, false)
        .filter((one) => one !== node && typeof one === typeof node);
      return others[turn] ?? node;
    };
    return visit(value, '');
  }

  /**
   * A call that would succeed now: other checks may have deleted what the known one is about. Of one that deletes, on a thing
   * that is made for it and is still there.
   */
  async alive(operation: Operation): Promise<Baseline | undefined> {
    // What it uses up may be used up by now.
    if (isMaking(operation)) await this.again(operation, 'alive');
    const known = this.#known.get(operation.id);
    if (known === undefined) return undefined;
    if (operation.method === 'DELETE') {
      const call = await this.#onNewThing(known.call, 'alive');
      return { call: call ?? known.call, exchange: known.exchange };
    }
    if (!operation.path.includes('{')) return known;
    const exchange = await this.#session.send(known.call);
    if (![404, 410].includes(exchange.answer.status)) return known;
    for (const id of Object.values(known.call.path)) this.#session.pool.forget(id);
    const maker = this.makerFor(operation);
    if (maker !== undefined) await this.again(maker, `alive ${operation.id}`);
    await this.#try(operation, 5);
    return this.#known.get(operation.id);
  }

  /**
   * The call with other bodies that succeeded too: what is refused in one context may be taken in another. Made when it is
   * first asked for.
   */
  variants(operation: Operation): Promise<readonly Call[]> {
    let variants = this.#variants.get(operation.id);
    if (variants === undefined) {
      variants = this.#findVariants(operation);
      this.#variants.set(operation.id, variants);
    }
    return variants;
  }

  /**
   * The call with a body of each branch of the schema's choices, as far as such calls succeed: what stands in one branch only
   * is not in the baseline.
   */
  branches(operation: Operation): Promise<readonly Call[]> {
    let branches = this.#branches.get(operation.id);
    if (branches === undefined) {
      branches = this.#findBranches(operation);
      this.#branches.set(operation.id, branches);
    }
    return branches;
  }

  async #findBranches(operation: Operation): Promise<Call[]> {
    const call = this.#known.get(operation.id)?.call;
    const content = operation.body?.contents.find(({ mediaType }) => mediaType === call?.mediaType);
    if (call?.body === undefined || content?.schema === undefined || operation.method === 'DELETE') return [];
    const { schema } = content;
    const { values, validators } = this.#session;
    const found: Call[] = [];
    const isNear = ({ pointer }: { readonly pointer: string }) => pointer.split('/').length <= 3;
    const branches = values
      .branches(schema, 'request', this.#session.seedFor(`${operation.id} branches`))
      .filter(isNear);
    for (const { pointer, value } of branches.slice(0, 10)) {
      // What is known to be taken beside it is taken beside another branch, too, more likely than what is made up with it.
      const grafted = put(call.body, pointer, at(value, pointer));
      for (const whole of pointer === '' ? [value] : [grafted, value]) {
        const body = this.withKnownIds(operation, whole);
        if (this.#session.isOver || !validators.accepts(schema, body, 'request')) continue;
        const exchange = await this.#session.send({ ...call, body });
        if (!isSuccess(exchange) || hasItemErrors(exchange)) continue;
        found.push({ ...call, body });
        break;
      }
    }
    return found;
  }

  async #findVariants(operation: Operation): Promise<Call[]> {
    const call = this.#known.get(operation.id)?.call;
    if (call?.body === undefined) return [];
    const found: Call[] = [];
    for (const [index, { body }] of this.#bodies(operation, 7).entries()) {
      if (found.length >= 4 || this.#session.isOver) break;
      const exchange = await this.sendAnew({ ...call, body }, `variant ${index}`);
      if (isSuccess(exchange) && !hasItemErrors(exchange)) found.push({ ...call, body });
    }
    return found;
  }

  /**
   * Sends a call; one that makes something in other words than those before it, and in more of them as long as it conflicts.
   *
   * @param kept a JSON Pointer to what in the body stays as it is.
   */
  async sendAnew(call: Call, label: string, kept?: string): Promise<Exchange> {
    const session = this.#session;
    if (!isMaking(call.operation)) return session.send(call);
    const [least, ...more] = await this.freshnesses(call.operation);
    let exchange = await session.send(renewed(session, call, label, least, kept));
    for (const freshness of more) {
      if (!isConflict(exchange)) break;
      exchange = await session.send(renewed(session, call, label, freshness, kept));
    }
    return this.elsewhere(call, exchange, label);
  }

  /**
   * How much must be told anew for what an operation makes to be new, and what may be tried where that is not enough. Found out
   * once: else every probe would learn it again.
   */
  freshnesses(operation: Operation): Promise<Freshnesses> {
    let found = this.#freshnesses.get(operation.id);
    if (found === undefined) {
      found = isMaking(operation) ? this.#findFreshnesses(operation) : Promise.resolve(freshnesses);
      this.#freshnesses.set(operation.id, found);
    }
    return found;
  }

  async #findFreshnesses(operation: Operation): Promise<Freshnesses> {
    const known = this.#known.get(operation.id);
    let [least, ...more] = freshnesses;
    while (known !== undefined && more.length > 0) {
      const exchange = await this.#session.send(renewed(this.#session, known.call, 'how fresh', least));
      if (!isConflict(exchange)) break;
      [least = least, ...more] = more;
    }
    return [least, ...more];
  }

  /** The operation that makes what a path's parameter names. */
  makerFor(operation: Operation): Operation | undefined {
    const name = lastParameter(operation.path);
    if (name === undefined) return undefined;
    const collection = collectionPath(operation.path, name);
    const { operations } = this.#session;
    return operations.find(
      (one) =>
        this.#known.has(one.id) &&
        (one.method === 'POST'
          ? one.path === collection
          : one.path === operation.path && isPutCreation(one, operations)),
    );
  }

  async #try(operation: Operation, round: number): Promise<void> {
    for (const [index, call] of this.#candidates(operation, round).entries()) {
      if (this.#session.isOver) return;
      const target = await this.#onItsOwn(call, `try ${round} ${index}`);
      if (target === undefined) continue;
      let sent = target;
      let exchange = await this.#session.send(sent);
      for (const extent of freshnesses) {
        if (exchange.answer.status !== 409) break;
        sent = renewed(this.#session, call, `fresh conflict ${round} ${index}`, extent);
        exchange = await this.#session.send(sent);
      }
      const lessened = hasItemErrors(exchange) ? withoutFailed(sent, exchange) : undefined;
      if (lessened !== undefined) {
        const again = await this.#session.send(lessened);
        if (isSuccess(again) && !hasItemErrors(again)) [sent, exchange] = [lessened, again];
      }
      if (isSuccess(exchange)) {
        // A batch in which an item failed is better than none, and another may do better.
        const known = this.#known.get(operation.id);
        if (known === undefined || (!hasItemErrors(exchange) && !hasNoRows(this.#session, exchange)))
          this.#known.set(operation.id, { call: sent, exchange });
        if (operation.method === 'DELETE') for (const id of Object.values(sent.path)) this.#session.pool.forget(id);
        if (hasItemErrors(exchange) || hasNoRows(this.#session, exchange)) continue;
        return;
      }
      if (exchange.answer.status === 501) return;
      this.#refusals.set(
        operation.id,
        `every call of it was refused, at last with ${exchange.answer.status} ${exchange.answer.text.slice(0, 160)}`,
      );
    }
  }

  /** The call as it may be tried: one that deletes, on what is made for it; one that puts, where it harms nothing. */
  async #onItsOwn(call: Call, label: string): Promise<Call | undefined> {
    const { operation } = call;
    if (operation.method === 'DELETE') return (await this.#onNewThing(call, label)) ?? call;
    if (!isPutCreation(operation, this.#session.operations) || (await isHarmless(this.#session, call))) return call;
    const anew = await this.putAnew(call, label);
    if (anew === undefined)
      this.#refusals.set(operation.id, 'every path that it could be tried at leads to what this run did not make');
    return anew;
  }

  /** Calls that may succeed, the likeliest first. */
  #candidates(operation: Operation, round: number): Call[] {
    const onlyMade = isDestructive(operation) && operation.path.includes('{');
    const parameters = this.#parameterSets(operation, onlyMade, round);
    if (parameters.length === 0) {
      this.#refusals.set(
        operation.id,
        onlyMade
          ? 'it changes or deletes what this run did not make, and no operation makes it'
          : 'no id is known that it could be asked for',
      );
      return [];
    }
    const bodies = this.#bodies(operation, round);
    const calls: Call[] = [];
    for (const set of parameters)
      for (const { body, mediaType } of bodies) calls.push({ operation, ...set, body, mediaType });
    return calls.slice(0, 18);
  }

  #parameterSets(
    operation: Operation,
    onlyMade: boolean,
    round: number,
  ): Pick<Call, 'path' | 'query' | 'headers' | 'cookies'>[] {
    const inPath = operation.parameters.filter((parameter) => parameter.in === 'path');
    const choices = inPath.map((parameter) => this.#valuesOf(operation, parameter, onlyMade, round));
    if (choices.some((values) => values.length === 0)) return [];
    const longest = Math.max(1, ...choices.map((values) => values.length));
    const others = (turn: number) => ({
      query: this.#required(operation, 'query', round, turn),
      headers: this.#required(operation, 'header', round, turn),
      cookies: this.#required(operation, 'cookie', round, turn),
    });
    const isChosen = operation.parameters.some((parameter) => parameter.in === 'query' && parameter.required);
    return Array.from({ length: Math.min(Math.max(longest, isChosen ? 6 : 1), 6) }, (_, index) => ({
      ...others(index),
      path: Object.fromEntries(
        inPath.map((parameter, at) => [parameter.name, choices[at]?.[index % (choices[at]?.length ?? 1)]]),
      ),
    }));
  }

  /** What must be sent; in each turn with other values, and no two parameters with the same of a list. */
  #required(operation: Operation, place: Parameter['in'], round: number, turn: number): Record<string, unknown> {
    const isAsked = operation.answers.some(({ status }) => status === '428');
    const needed = operation.parameters.filter(
      (parameter) => parameter.in === place && (parameter.required || (isAsked && /^if-match$/i.test(parameter.name))),
    );
    return Object.fromEntries(
      needed
        // What an identity sends by itself need not be made up.
        .filter(({ name }) => place !== 'header' || !this.#isGiven(name))
        .map((parameter, index) => {
          const values = this.#valuesOf(operation, parameter, false, round);
          return [parameter.name, values[turn === 0 ? 0 : (turn + index) % values.length]];
        }),
    );
  }

  #isGiven(header: string): boolean {
    return this.#session.givenHeaders.includes(header.toLowerCase());
  }

  /** Values for a parameter: what the server has, then examples, then what the schema allows. */
  #valuesOf(operation: Operation, parameter: Parameter, onlyMade: boolean, round: number): unknown[] {
    const { values, pool, validators, given } = this.#session;
    // Any version will do: what is stale is a check of its own.
    const isCondition = /^if-match$/i.test(parameter.name);
    if (isCondition && validators.accepts(parameter.schema, '*', 'request')) return ['*'];
    if (isCondition) return this.#tagToBe(operation, parameter);
    if (given[parameter.name] !== undefined) return [given[parameter.name]];
    const { likely, possible } = pool.forParameter(operation, parameter.name, onlyMade);
    const fitting = likely.flatMap((value) => this.#fit(parameter, value));
    if (parameter.in === 'path' && fitting.length > 0) return fitting;
    const sameName = possible.flatMap((value) => this.#fit(parameter, value));
    // An id that nobody has is no call that could succeed; but a path may take a word from a list, or a date.
    const isChosen = isClosedList(this.#session, parameter);
    const seed = this.#session.seedFor(`${operation.id} ${parameter.name} ${round}`);
    const sampled = values.sample(parameter.schema, 'request', 'most', seed);
    if (parameter.in === 'path' && onlyMade && !isChosen) {
      const isPut =
        isPutCreation(operation, this.#session.operations) && parameter.name === lastParameter(operation.path);
      return isPut && sampled !== undefined ? [values.fresh(parameter.schema, sampled.value, seed)] : [];
    }
    const examples = parameter.examples.filter((value) => validators.accepts(parameter.schema, value, 'request'));
    const isReference = kindOfReference(parameter.name) !== undefined;
    const ids = this.#isId(parameter) ? pool.ids().flatMap((value) => this.#fit(parameter, value)) : [];
    return [
      ...(isReference ? fitting : []),
      ...examples,
      ...sameName,
      ...(sampled === undefined ? [] : [sampled.value]),
      ...fitting,
      ...ids,
    ];
  }

  /** A text in place of the tag that the thing will have. */
  #tagToBe(operation: Operation, { schema, name }: Parameter): unknown[] {
    const { values, tagsToBe } = this.#session;
    const tag = values.sample(schema, 'request', 'some', this.#session.seedFor(`${operation.id} ${name}`))?.value;
    if (typeof tag === 'string') tagsToBe.add(tag);
    return [tag];
  }

  /** Whether the values of a parameter look like ids, whatever its name: then those of known things may be meant. */
  #isId({ in: place, schema }: Parameter): boolean {
    return place === 'query' && this.#session.document.object(schema).format === 'uuid';
  }

  /** A known value where the parameter's schema takes it, as a text or a number as need be. */
  #fit(parameter: Parameter, value: unknown): unknown[] {
    const forms = [
      value,
      typeof value === 'number'
        ? String(value)
        : typeof value === 'string' && /^\d+$/.test(value)
          ? Number(value)
          : undefined,
    ];
    const fitting = forms.find(
      (form) => form !== undefined && this.#session.validators.accepts(parameter.schema, form, 'request'),
    );
    return fitting === undefined ? [] : [fitting];
  }

  #bodies(operation: Operation, round: number): Pick<Call, 'body' | 'mediaType'>[] {
    const contents = operation.body?.contents ?? [];
    const content = contents.find(({ mediaType }) => isJson(mediaType)) ?? contents[0];
    if (content === undefined) return [{ body: undefined, mediaType: undefined }];
    const { mediaType, schema } = content;
    if (schema === undefined) return [{ body: content.examples[0] ?? {}, mediaType }];
    const { values, validators } = this.#session;
    const seed = this.#session.seedFor(`${operation.id} body ${round}`);
    const samples = (['least', 'most', 'some', 'some'] as const).map((extent, index) =>
      values.sample(schema, 'request', extent, seed + index),
    );
    const made = samples.filter((sample) => sample !== undefined).map(({ value }) => value);
    const examples = content.examples.filter((value) => validators.accepts(schema, value, 'request'));
    const isValid = (body: unknown) => validators.accepts(schema, body, 'request');
    const given = [...examples, ...made].slice(0, 9);
    const known = given.map((value) => {
      const body = this.withKnownIds(operation, value);
      return isValid(body) ? body : value;
    });
    const isOther = (body: unknown, index: number) => !isDeepStrictEqual(body, known[index]) && isValid(body);
    const keyed = given.map((value) => this.withKnownIds(operation, value, 0, true)).filter(isOther);
    const modest = known.map((body) => this.#withoutStrangers(operation, body)).filter(isOther);
    // What makes is to make something new, and leave alone what is there; and little of it, because every probe makes one.
    const little = keyed.toSorted((one, other) => sizeOf(one) - sizeOf(other));
    const bodies = isMaking(operation) ? [...little.slice(0, 4), ...known] : [...known, ...keyed.slice(0, 4)];
    return [...bodies, ...modest.slice(0, 3)].map((body) => ({ body, mediaType }));
  }

  /** The value without the ids of things that nobody has seen: what is optional may refer to nothing. */
  #withoutStrangers(operation: Operation, value: unknown): unknown {
    const { pool } = this.#session;
    let isOther = false;
    const isStranger = (name: string, member: unknown) =>
      typeof member === 'string' &&
      (kindOfReference(name) !== undefined || isOwnId(name)) &&
      !pool.forMember(operation, name, false).includes(member);
    const visit = (node: unknown): unknown => {
      if (Array.isArray(node)) return node.map(visit);
      if (!isObject(node)) return node;
      const kept = Object.entries(node).filter(([name, member]) => !isStranger(name, member));
      isOther ||= kept.length < Object.keys(node).length;
      return Object.fromEntries(kept.map(([name, member]) => [name, visit(member)]));
    };
    const without = visit(value);
    return isOther ? without : value;
  }

  /**
   * The value with the ids in it exchanged for ids of things that the server has.
   *
   * @param keepsKeys for what is to be new: the keys of the things themselves stay, and are none that are known.
   */
  withKnownIds(operation: Operation, value: unknown, turn = 0, keepsKeys = false): unknown {
    const { pool } = this.#session;
    const onlyMade = isDestructive(operation);
    const knownFor = (name: string, owner: string | undefined): unknown[] => {
      // What stands in an object of another kind is of that kind: the `systemRef` of a `client`.
      const things = owner === undefined ? [] : pool.ofKind(owner);
      if (things.length > 0) return things.map(({ row }) => (isOwnId(name) ? idOf(row) : row[name]));
      return pool.forMember(operation, name, onlyMade && isOwnId(name));
    };
    const visit = (node: unknown, name: string | undefined, owner: string | undefined): unknown => {
      if (Array.isArray(node)) return node.map((item) => visit(item, name, owner));
      if (isObject(node)) {
        const kind = typeof node.type === 'string' ? singular(node.type) : owner;
        return Object.fromEntries(
          Object.entries(node).map(([key, member]) => [
            key,
            visit(member, key, isObject(member) ? singular(key) : kind),
          ]),
        );
      }
      if (name === undefined || !['string', 'number'].includes(typeof node)) return node;
      if (this.#session.given[name] !== undefined) return this.#session.given[name];
      const isReference = kindOfReference(name) !== undefined || isOwnId(name);
      if (keepsKeys && isOwnId(name)) return this.#unused(node, turn);
      if (!isReference || (keepsKeys && pool.isKey(operation, name))) return node;
      const known = knownFor(name, owner).filter((one) => typeof one === typeof node);
      return known.length === 0 || known.includes(node) ? node : known[turn % known.length];
    };
    return visit(value, undefined, undefined);
  }

  /** An id that nothing is known by: what is to be made must not take the place of what is there. */
  #unused(id: unknown, turn: number): unknown {
    const { pool } = this.#session;
    if (!pool.has(id)) return id;
    const [other = id] = unlikelyIds(id, this.#session.seedFor(`unused ${id} ${turn}`));
    return other;
  }

  /**
   * A call that puts a thing where none is: under an id that is new, also where the body repeats it; undefined where none is
   * known to be.
   */
  async putAnew(call: Call, label: string): Promise<Call | undefined> {
    const name = lastParameter(call.operation.path) ?? '';
    const parameter = call.operation.parameters.find((one) => one.in === 'path' && one.name === name);
    if (parameter === undefined) return undefined;
    // What is new in this run may be there since an earlier one of the same seed.
    for (const turn of [label, `${label} ${randomUUID()}`]) {
      const seed = this.#session.seedFor(`${call.operation.id} put ${turn}`);
      const id = idOfNobody(this.#session, parameter.schema, call.path[name], seed);
      const body = isObject(call.body) && name in call.body ? { ...call.body, [name]: id } : call.body;
      const target = { ...call, path: { ...call.path, [name]: id }, body };
      if (id !== undefined && (await isHarmless(this.#session, target))) return target;
    }
    return undefined;
  }

  /**
   * The answer, or the answer of the same call on a thing that is made for it, where what was done to the known one already is in
   * the way: an order is cancelled once. Given up where it does not help.
   */
  async elsewhere(call: Call, exchange: Exchange, label: string): Promise<Exchange> {
    const { id, method, path } = call.operation;
    const failures = this.#helpless.get(id) ?? 0;
    const isAction = method === 'POST' && path.includes('{') && !path.endsWith('}');
    if (exchange.answer.status !== 409 || !isAction || failures >= mostHelpless) return exchange;
    const target = await this.#onNewThing(call, `elsewhere ${label}`);
    if (target === undefined || target === call) return exchange;
    const other = await this.#session.send(target);
    this.#helpless.set(id, other.answer.status === 409 ? failures + 1 : 0);
    return other;
  }

  /** The call on a thing that is made for it: what one probe deletes, no other misses. */
  async #onNewThing(call: Call, label: string): Promise<Call | undefined> {
    const maker = this.makerFor(call.operation);
    if (maker === undefined) return call.operation.method === 'DELETE' ? undefined : call;
    const made = await this.again(maker, `for ${call.operation.id} ${label}`);
    if (made === undefined) return undefined;
    const name = lastParameter(call.operation.path) ?? '';
    const parameter = call.operation.parameters.find((one) => one.in === 'path' && one.name === name);
    const body = made.exchange.answer.json?.value;
    const own = isObject(body) ? [body[name], idOf(body)] : [];
    const known = this.#session.pool.forParameter(call.operation, name, true).likely;
    const [id] = [...own, ...known].flatMap((value) =>
      parameter === undefined || value === undefined ? [] : this.#fit(parameter, value),
    );
    return id === undefined ? undefined : { ...call, path: { ...call.path, [name]: id } };
  }
}

/** The call with those of its items that did not fail; undefined where that cannot be told, or none is left. */
function withoutFailed(call: Call, exchange: Exchange): Call | undefined {
  const { body } = call;
  if (!isObject(body)) return undefined;
  const lists = Object.entries(body).filter(([, member]) => Array.isArray(member));
  const [name, items] = lists[0] ?? [];
  if (lists.length !== 1 || name === undefined || !Array.isArray(items)) return undefined;
  const failed = new Set(itemResultsIn(exchange)?.flatMap(({ index, isFailure }) => (isFailure ? [index] : [])));
  const kept: unknown[] = items.filter((_item, index) => !failed.has(index));
  return kept.length === 0 || kept.length === items.length ? undefined : { ...call, body: { ...body, [name]: kept } };
}

/** A list that is empty: another call may find more. What is made is no list, whatever is in it. */
function hasNoRows({ document }: Session, { operation, answer }: Exchange): boolean {
  if (operation !== undefined && isMaking(operation)) return false;
  const schema = operation?.answers.find(({ status }) => status === String(answer.status))?.contents[0]?.schema;
  const rows = rowsSchema(document, schema);
  const list = rows === undefined ? undefined : at(answer.json?.value, rows.member === '' ? '' : `/${rows.member}`);
  return Array.isArray(list) && list.length === 0;
}

/** Whether other words may help: what is there already is in the way, or of an item that may be. */
function isConflict(exchange: Exchange): boolean {
  return exchange.answer.status === 409 || hasItemErrors(exchange);
}

export function isSuccess({ answer }: Exchange): boolean {
  return answer.status >= 200 && answer.status < 300;
}

/** Whether a call changes or takes away what is there. */
export function isDestructive({ method }: Operation): boolean {
  return method === 'PUT' || method === 'PATCH' || method === 'DELETE';
}

/** Lists first, then what makes, reads, changes and, last, what takes away. */
function rank(operation: Operation): number {
  const isNamed = operation.path.includes('{');
  if (operation.method === 'GET') return isNamed ? 3 : 0;
  if (operation.method === 'HEAD' || operation.method === 'OPTIONS') return 4;
  if (operation.method === 'DELETE') return 7;
  if (operation.method === 'POST') return isReadingPost(operation) ? 1 : isNamed ? 5 : 2;
  return 6;
}

function isClosedList(session: Session, parameter: Parameter): boolean {
  const schema = session.document.object(parameter.schema);
  return Array.isArray(schema.enum) || 'const' in schema;
}
