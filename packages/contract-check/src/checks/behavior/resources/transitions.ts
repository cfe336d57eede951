import { lastSegment, type Operation } from '../../../document/operation.ts';
import type { CheckName } from '../../../finding/rules.ts';
import { type Exchange, isSuccess } from '../../../http/call.ts';
import { isKey, isObject, isScalar, jsonText, parsedJson } from '../../../json.ts';
import { keyOfName } from '../../../run/names.ts';
import { View } from '../../../schema/view.ts';
import { type Difference, type Differences, differ, differIn, need } from '../../observe.ts';
import { exactly, lacking, unguarded } from '../../scopes.ts';
import { isNothing, isOpen, isSame, isServerOwned, notKept, otherThanRead, ownId, resourceIn } from './compare.ts';
import { etagOf, staleTag } from './conditions.ts';
import type { Created, ResourceHarness, Shown } from './resource.ts';
import { conditionOf, declares, isJob } from './resource-types.ts';
import { isEnd, isReturning, listedAfter, type Move, machineOf, stateNamed } from './states.ts';
import { isWritable, keptTimes, Updating } from './update.ts';

/** Limits of one walk through the states of a resource. */
const maxAttempts = 80;
const maxStates = 10;
/** How long a state that changes by itself is waited for, in milliseconds. */
const maxWaitMs = 3000;

/** Each action is possible in the declared states only, leads to its state, and its effect is read and listed. */
export async function* transitions(harness: ResourceHarness, label: string): Differences {
  if (harness.resourceType.read !== undefined && machineOf(harness).moves.length > 0)
    yield* new Walk(harness, label).differences();
}

/** How a state is reached: by moves, and by waiting for what changes by itself. */
type Path = readonly (Move | 'wait')[];

/** Visits all states that can be reached, and tries each move in each of them. */
class Walk {
  readonly #harness: ResourceHarness;
  readonly #label: string;
  readonly #name: string | undefined;
  readonly #moves: readonly Move[];
  /** Whether it is a job, whose state, times and counts change by themselves. */
  readonly #isJob: boolean;
  readonly #paths = new Map<string, Path>();
  /** Operations of which roles and preconditions were checked. */
  readonly #guarded = new Set<Operation>();
  /** The properties that show what an action was sent, by the action. */
  readonly #kept = new Map<string, Operation>();
  /** The responses of actions that the caller was forbidden, and the statuses of all others. */
  readonly #forbidden = new Map<Operation, Exchange>();
  readonly #statuses = new Map<Operation, number>();
  #attempts = 0;
  /** The requests that brought the current resource into its state. */
  #trail: Exchange[] = [];
  /** The resource, while it is in the state of the visit. */
  #current: Created | undefined;

  constructor(harness: ResourceHarness, label: string) {
    this.#harness = harness;
    this.#label = label;
    this.#isJob = isJob(harness.document, harness.resourceType.create);
    ({ name: this.#name, moves: this.#moves } = machineOf(harness));
  }

  #stateOf({ row }: Pick<Created, 'row'>): string {
    return this.#name === undefined ? '' : String(row[this.#name]);
  }

  async *differences(): Differences {
    const first = await this.#harness.createAndRead(this.#label);
    const by = first.resource.created;
    const isAccepted = this.#isJob && (by.response.status === 202 || isOpen(first));
    const start = this.#start();
    if (!isAccepted && start !== undefined && this.#stateOf(first) !== start) {
      const facts = { expected: start, actual: this.#stateOf(first), exchanges: [by] };
      yield differ('create-state', this.#harness.resourceType.create, this.#name ?? '', facts);
    }
    this.#paths.set(this.#stateOf(first), []);
    const last = isAccepted ? await this.#waited(first) : first;
    if (!this.#paths.has(this.#stateOf(last))) this.#paths.set(this.#stateOf(last), ['wait']);
    // A map that grows is iterated to its end.
    for (const [state, path] of this.#paths) if (this.#paths.size <= maxStates) yield* this.#visit(state, path);
    // The caller can do everything, and the server has another status for what a state forbids.
    const isApart = [...this.#statuses.values()].includes(409);
    for (const [operation, exchange] of isApart ? this.#forbidden : [])
      if (!this.#statuses.has(operation))
        yield differ('permission-rejected', operation, 'caller', { expected: 'success', exchanges: [by, exchange] });
  }

  /** The only state that no move leads to, if the contract declares all moves: that of a new resource. */
  #start(): string | undefined {
    const from = new Set(this.#moves.flatMap((move) => move.from ?? []));
    const [start, ...others] = [...from].filter((state) => !this.#moves.some(({ to }) => to === state));
    return others.length === 0 && this.#moves.every((move) => move.from !== undefined) ? start : undefined;
  }

  /** A difference that the requests of the trail and another one show. */
  #differ(check: CheckName, by: Operation, about: string, expected: string, last: Exchange, actual?: string) {
    const facts = { expected, exchanges: [...this.#trail, last] };
    return differ(check, by, about, actual === undefined ? facts : { ...facts, actual });
  }

  /** A resource in a state, if the way there still leads there. */
  async #reached(state: string, path: Path): Promise<Created | undefined> {
    let current = await this.#harness.createAndRead(`${this.#label} ${state} ${this.#attempts}`);
    this.#trail = [current.resource.created];
    for (const step of path) {
      if (step === 'wait') current = await this.#waited(current);
      else this.#trail.push(await this.#send(step, current));
      current = { ...current, ...need(await this.#harness.shown(current.resource)) };
    }
    // What is new can be in another state: a job begins at once.
    return path.length === 0 || this.#stateOf(current) === state ? current : undefined;
  }

  async #waited(current: Created): Promise<Created> {
    const last = await this.#harness.settled(current.resource, maxWaitMs);
    return last === undefined ? current : { ...current, ...last };
  }

  async *#visit(state: string, path: Path): Differences {
    this.#current = undefined;
    // To set the state that it is in changes nothing.
    for (const move of this.#moves.filter(({ isSetting, to }) => isSetting !== true || to !== state)) {
      if (this.#harness.session.isOver || this.#attempts > maxAttempts) return;
      this.#attempts += 1;
      this.#current ??= await this.#reached(state, path);
      if (this.#current === undefined) return;
      yield* this.#attempt(move, this.#current, path);
    }
  }

  /** Tries a move, and keeps the resource if it is in the same state afterwards. */
  async *#attempt(move: Move, start: Created, path: Path): Differences {
    const { operation, from, to } = move;
    const { resourceType } = this.#harness;
    const state = this.#stateOf(start);
    let before = start;
    const about = `in ${state || 'any state'}`;
    const isPossible = from?.includes(state);
    this.#current = undefined;
    let own: Exchange | undefined;
    if (isPossible === true && !this.#guarded.has(operation)) {
      const guarded = await this.#guard(move, before);
      if (guarded.found !== undefined) yield guarded.found;
      if (guarded.isBroken) return;
      own = guarded.response;
      // A job goes on meanwhile.
      if (this.#isJob && (own === undefined || !isSuccess(own))) {
        before = need(await this.#reached(state, path));
        own = undefined;
      }
    }
    const response = own ?? (await this.#send(move, before));
    if (response.response.status === 403) this.#forbidden.set(operation, response);
    else this.#statuses.set(operation, response.response.status);
    if (!isSuccess(response)) {
      const now = await this.#harness.shown(before.resource);
      if (now === undefined || this.#stateOf(now) !== state) return;
      this.#current = { ...before, ...now };
      if (isPossible === true && [409, 422].includes(response.response.status))
        yield this.#differ('transition-rejected', operation, about, 'success', response);
      return;
    }
    const isRemoval = operation.method === 'DELETE' && operation === resourceType.remove;
    const after =
      isRemoval || response.response.status === 202 ? undefined : await this.#harness.shown(before.resource);
    const next = after && this.#stateOf(after);
    const isUndeclared = from === undefined && declares(operation, 409) && !this.#isJob;
    const isAgain = isUndeclared && state === to && changes(before, after);
    // `confirm` does not bring back what is cancelled.
    const verb = lastSegment(operation.path);
    const isBack = isUndeclared && next === to && isEnd(state) && !isEnd(to ?? state) && !isReturning(verb);
    const expected = from === undefined ? `409, because it is ${state}` : `409; it is possible in ${from.join(', ')}`;
    if ((isPossible === false && !(this.#isJob && isOpen(before))) || isAgain || isBack)
      yield this.#differ('transition-accepted', operation, about, expected, response);
    if (after === undefined || next === undefined) return;
    if (move.isSetting === true && isPossible === true && next !== to)
      yield this.#differ('update-lost', operation, about, `the state ${to}`, response, next);
    if (isPossible !== false && resourceType.actions.includes(operation))
      yield* this.#effects(move, before, { ...before, ...after }, response);
    if (next === state) {
      yield* this.#takenBack(operation, before);
      this.#current = { ...before, ...after };
    } else if (!this.#paths.has(next)) {
      if (isPossible !== false) this.#paths.set(next, [...path, move]);
      if (this.#name !== undefined)
        yield* listedAfter(
          this.#harness,
          operation,
          before.resource,
          this.#name,
          [state, next],
          [...this.#trail, response],
        );
    }
    // Only now it is known that the operation is possible in this state.
    if (isPossible !== undefined || this.#guarded.has(operation)) return;
    this.#current = undefined;
    const again = await this.#reached(state, path);
    const { found } = again === undefined ? {} : await this.#guard(move, again);
    if (found !== undefined) yield found;
  }

  async #send({ operation, isSetting, to }: Move, before: Created, ...more: ChangeArguments): Promise<Exchange> {
    const isUpdate = this.#harness.resourceType.updates.includes(operation);
    const updating = new Updating(this.#harness, operation);
    const [change] =
      isSetting === true
        ? updating.bodiesWith(before, this.#name ?? '', [to])
        : isUpdate
          ? updating.changes(before, `${this.#label} ${this.#attempts}`)
          : [this.#harness.bodyOf(operation)];
    // A whole body can have properties that only some users may write.
    const body = more.length > 1 ? unguarded(this.#harness.session, operation, change) : change;
    return this.#harness.change(operation, before.resource, body, ...more);
  }

  /**
   * Sends a move that must not succeed, with another ETag and without a required scope; broken if it did. Otherwise the
   * response to a user with exactly the required scopes, if that user is allowed.
   */
  async #guard(move: Move, before: Created): Promise<{ isBroken?: boolean; found?: Difference; response?: Exchange }> {
    const { operation, to } = move;
    this.#guarded.add(operation);
    const isDone = (after: Shown) =>
      this.#isJob ? this.#stateOf(after) === to : this.#stateOf(after) !== this.#stateOf(before);
    const { session } = this.#harness;
    if (conditionOf(operation) !== undefined && declares(operation, 412)) {
      const stale = await this.#send(move, before, { 'if-match': staleTag(etagOf(before)) });
      if (isSuccess(stale))
        return { isBroken: true, found: this.#differ('if-match-ignored', operation, 'stale', '412', stale) };
    }
    const version = session.versions.nameIn(operation);
    if (version !== undefined && this.#harness.resourceType.actions.includes(operation)) {
      const body = { [version]: staleTag(String(before.row[version])) };
      const stale = await this.#harness.change(operation, before.resource, body);
      if (isSuccess(stale))
        return { isBroken: true, found: this.#differ('if-match-ignored', operation, version, '409 or 412', stale) };
    }
    for (const { who, identity } of lacking(session, operation)) {
      const response = await this.#send(move, before, {}, identity);
      const after = await this.#harness.shown(before.resource);
      if (isSuccess(response) || (after !== undefined && isDone(after)))
        return { isBroken: true, found: this.#differ('missing-permission', operation, who, '403', response) };
    }
    const identity = exactly(session, operation);
    const response = identity && (await this.#send(move, before, {}, identity));
    if (response === undefined) return {};
    if (![401, 403].includes(response.response.status)) return { response };
    return { found: this.#differ('permission-rejected', operation, '', 'success', response) };
  }

  /** What an action changes, and what it must leave alone. */
  *#effects({ operation, to }: Move, before: Created, after: Created, by: Exchange) {
    const harness = this.#harness;
    const { document, resourceType } = harness;
    const { resource } = before;
    const exchanges = [before.exchange, by, after.exchange];
    const returned = { row: resourceIn(by), view: View.ofResponse(document, operation, by.response.status) };
    const isOwn = String(ownId(returned.row) ?? resource.id) === String(resource.id);
    const unlike = otherThanRead('action-lost', operation, returned, after, [by, after.exchange]);
    if (isOwn && harness.isOf(resource, returned.row))
      yield* unlike.filter(({ about }) => !this.#isJob || about === this.#name);
    const differs = (name: string, expected: unknown, actual: unknown, check: CheckName = 'action-state') =>
      differIn(check, operation, name, [expected, actual], exchanges, after.view);
    const state = this.#stateOf(after);
    const name = this.#name ?? '';
    if (to !== undefined && state !== to && this.#stateOf(before) !== to) yield differs(name, to, state);
    // `PUT …/lock` sets `locked`, and `unlock` takes it back.
    const flags = after.view.names.filter((one) => typeof after.row[one] === 'boolean');
    const verb = lastSegment(operation.path);
    const flag = stateNamed(verb, flags);
    const undone = stateNamed(verb.replace(/^(?:un|de|dis)-?/i, ''), flags);
    if (flag !== undefined && after.row[flag] === false) yield differs(flag, true, false);
    else if (flag !== undefined) this.#kept.set(flag, operation);
    else if (undone !== undefined && after.row[undone] === true) yield differs(undone, false, true);
    const times = [`${state} at`, `${state} on`].map(keyOfName);
    const time = after.view.names.find((one) => times.includes(keyOfName(one)));
    if (time !== undefined && after.row[time] === null) yield differs(time, 'a time', null);
    const created = View.ofRequest(document, resourceType.create);
    const isKept = (one: string) =>
      one !== name && (/^(?:id|created_?at)$/i.test(one) || (one in resource.sent && isWritable(created, one)));
    // What an action is sent can change any property.
    for (const one of by.request.body === undefined ? Object.keys(before.row).filter(isKept) : []) {
      const [was, is] = [before.row[one], after.row[one]];
      if (isScalar(was) && (isServerOwned(one) ? was !== is : !isSame(was, is, { name: one })))
        yield differs(one, was, is, 'action-others');
    }
    const sentBody: unknown = parsedJson(by.request.body)?.value;
    // `PUT …/address` sets the property `address`.
    const part = after.view.names.find((own) => keyOfName(own) === keyOfName(lastSegment(operation.path)));
    if (part !== undefined && isObject(sentBody) && operation.method !== 'POST') {
      const shown = { row: Object(after.row[part]), view: after.view.member(part) };
      const sent = { value: sentBody, view: View.ofRequest(document, operation) };
      yield* notKept('action-lost', operation, sent, shown, exchanges);
    }
    // `cancelReason` shows the `reason` of `cancel`.
    for (const [key, sent] of Object.entries(Object(sentBody))) {
      const keys = [key, `${lastSegment(operation.path)} ${key}`].map(keyOfName);
      const one = after.view.names.find((own) => keys.includes(keyOfName(own)) && !isServerOwned(own));
      if (one === undefined || !isScalar(sent)) continue;
      if (isSame(sent, after.row[one], { name: one })) this.#kept.set(one, operation);
      else yield differs(one, sent, after.row[one], 'action-lost');
    }
    yield* keptTimes(harness, operation, before, after, exchanges);
  }

  /** A DELETE at the path of an action takes back what the action set. */
  async *#takenBack({ path }: Operation, before: Created): Differences {
    const undo = this.#harness.session.operations.find((one) => one.method === 'DELETE' && one.path === path);
    const set = [...this.#kept].filter(([, by]) => by.path === path).map(([name]) => name);
    if (undo === undefined || set.length === 0) return;
    const response = await this.#harness.change(undo, before.resource, undefined);
    const row = isSuccess(response) ? (await this.#harness.shown(before.resource))?.row : undefined;
    for (const name of set)
      if (row?.[name] === true || (!isNothing(row?.[name]) && isKey(row?.[name])))
        yield this.#differ('action-lost', undo, name, `no ${name}`, response, `${name}: ${row?.[name]}`);
  }
}

type ChangeArguments =
  Parameters<ResourceHarness['change']> extends [unknown, unknown, unknown, ...infer Rest] ? Rest : never;

function changes({ row }: Created, after: Pick<Created, 'row'> | undefined): boolean {
  if (after === undefined) return false;
  return Object.keys(row).some((name) => isKey(row[name]) && jsonText(row[name]) !== jsonText(after.row[name]));
}
