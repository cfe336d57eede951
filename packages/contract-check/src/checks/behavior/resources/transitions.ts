import { lastSegment, type Operation } from '../../../document/operation.ts';
import { responseText } from '../../../finding/finding.ts';
import type { CheckName } from '../../../finding/rules.ts';
import { type Exchange, isSuccess } from '../../../http/call.ts';
import { isKey, isObject, jsonText, parsedJson } from '../../../json.ts';
import { keyOfName } from '../../../run/names.ts';
import { View } from '../../../schema/view.ts';
import { exactly, lacking } from '../../scopes.ts';
import { type BehaviorCheck, type Difference, differ, need, valued } from '../observe.ts';
import { isNothing, isSame, isScalar, isServerOwned, otherThanRead, ownId, resourceIn } from './compare.ts';
import { etagOf, staleTag } from './conditions.ts';
import { listedAfter } from './listed.ts';
import { type Move, machineOf } from './machine.ts';
import type { Created, ResourceHarness } from './resource.ts';
import { conditionOf, declares } from './resource-types.ts';
import { isWritable, keptTimes, Updating } from './update.ts';

/** Limits of one walk through the states of a resource. */
const maxAttempts = 80;
const maxStates = 10;
/** How long a state that changes by itself is waited for, in milliseconds. */
const maxWaitMs = 3000;

export const transitions: BehaviorCheck<ResourceHarness> = {
  name: 'transitions',
  describe:
    'Each action is possible in the declared states only, leads to its state, and its effect is read and listed.',
  applies: (harness) => harness.resourceType.read !== undefined && machineOf(harness).moves.length > 0,
  run: (harness, label) => new Walk(harness, label).differences(),
};

/** How a state is reached: by moves, and by waiting for what changes by itself. */
type Path = readonly (Move | 'wait')[];

/** Visits all states that can be reached, and tries each move in each of them. */
class Walk {
  readonly #harness: ResourceHarness;
  readonly #label: string;
  readonly #name: string | undefined;
  readonly #moves: readonly Move[];
  readonly #paths = new Map<string, Path>();
  readonly #found: Difference[] = [];
  /** Operations of which roles and preconditions were checked. */
  readonly #guarded = new Set<Operation>();
  /** The properties that show what an action was sent, by the action. */
  readonly #kept = new Map<string, Operation>();
  #attempts = 0;
  /** The requests that brought the current resource into its state. */
  #trail: Exchange[] = [];
  #isDone = false;

  constructor(harness: ResourceHarness, label: string) {
    this.#harness = harness;
    this.#label = label;
    ({ name: this.#name, moves: this.#moves } = machineOf(harness));
  }

  #stateOf({ row }: Pick<Created, 'row'>): string {
    return this.#name === undefined ? '' : String(row[this.#name]);
  }

  async differences(): Promise<Difference[] | undefined> {
    const first = await this.#harness.createAndRead(this.#label);
    this.#checkFirst(first);
    this.#paths.set(this.#stateOf(first), []);
    const isJob = first.resource.created.response.status === 202;
    const last = isJob ? await this.#waited(first) : first;
    if (!this.#paths.has(this.#stateOf(last))) this.#paths.set(this.#stateOf(last), ['wait']);
    // A map that grows is iterated to its end.
    for (const [state, path] of this.#paths) if (this.#paths.size <= maxStates) await this.#visit(state, path);
    return this.#isDone || this.#found.length > 0 ? this.#found : undefined;
  }

  /** A new resource is in the only state that no move leads to, if the contract declares all moves. */
  #checkFirst(first: Created): void {
    const isDeclared = this.#moves.every(({ from, operation }) => from !== undefined && operation !== undefined);
    const from = new Set(this.#moves.flatMap((move) => move.from ?? []));
    const [start, ...others] = [...from].filter((state) => !this.#moves.some(({ to }) => to === state));
    const { create } = this.#harness.resourceType;
    if (!isDeclared || start === undefined || others.length > 0 || this.#stateOf(first) === start) return;
    if (first.resource.created.response.status === 202) return;
    this.#differ('create-state', create, this.#name ?? '', [start, this.#stateOf(first)], first.resource.created);
  }

  #differ(
    check: CheckName,
    by: Operation,
    about: string,
    [expected, actual]: [string, string],
    ...exchanges: Exchange[]
  ) {
    this.#found.push(differ(check, by, about, { expected, actual, exchanges }));
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
    return this.#stateOf(current) === state ? current : undefined;
  }

  async #waited(current: Created): Promise<Created> {
    const last = await this.#harness.settled(current.resource, maxWaitMs);
    return last === undefined ? current : { ...current, ...last };
  }

  async #visit(state: string, path: Path): Promise<void> {
    let current: Created | undefined;
    // To set the state that it is in changes nothing.
    for (const move of this.#moves.filter(({ isSetting, to }) => isSetting !== true || to !== state)) {
      if (this.#harness.session.isOver || this.#attempts > maxAttempts) return;
      this.#attempts += 1;
      current ??= await this.#reached(state, path);
      if (current === undefined) return;
      current = await this.#attempt(move, current);
    }
  }

  /** @returns the resource, if it is in the same state after the move. */
  async #attempt(move: Move, before: Created): Promise<Created | undefined> {
    const { operation, from } = move;
    const state = this.#stateOf(before);
    const isPossible = from?.includes(state);
    const isNew = isPossible === true && !this.#guarded.has(operation);
    const own = isNew ? await this.#guard(move, before) : undefined;
    if (own === 'broken') return undefined;
    const response = own ?? (await this.#send(move, before));
    const about = `in ${state || 'any state'}`;
    if (!isSuccess(response)) {
      const now = await this.#harness.shown(before.resource);
      const isSteady = now !== undefined && this.#stateOf(now) === state;
      if (isSteady && isPossible === true && [409, 422].includes(response.response.status))
        this.#differ(
          'transition-rejected',
          operation,
          about,
          ['success', responseText(response)],
          ...this.#trail,
          response,
        );
      return isSteady ? { ...before, ...now } : undefined;
    }
    const isEnd = operation.method === 'DELETE' && operation === this.#harness.resourceType.remove;
    const after = isEnd || response.response.status === 202 ? undefined : await this.#harness.shown(before.resource);
    const isAgain = state === move.to && from === undefined && declares(operation, 409) && changes(before, after);
    if (isPossible === false || isAgain) {
      const expected =
        from === undefined ? '409, because it was done before' : `409; it is possible in ${from.join(', ')}`;
      this.#differ(
        'transition-accepted',
        operation,
        about,
        [expected, responseText(response)],
        ...this.#trail,
        response,
      );
    }
    if (after === undefined) return undefined;
    const next = this.#stateOf(after);
    this.#isDone = true;
    if (move.isSetting === true && isPossible === true && next !== move.to)
      this.#differ('update-lost', operation, about, [`the state ${move.to}`, next], ...this.#trail, response);
    if (isPossible !== false && this.#harness.resourceType.actions.includes(operation))
      this.#found.push(...this.#effects(move, before, { ...before, ...after }, response));
    if (next === state) await this.#takenBack(operation, before);
    if (next === state) return { ...before, ...after };
    const isUnseen = !this.#paths.has(next);
    if (isUnseen && isPossible !== false) this.#paths.set(next, [...(this.#paths.get(state) ?? []), move]);
    if (isUnseen && this.#name !== undefined)
      this.#found.push(...(await listedAfter(this.#harness, operation, before.resource, this.#name, [state, next])));
    return undefined;
  }

  async #send(move: Move, { resource, ...created }: Created, ...more: ChangeArguments): Promise<Exchange> {
    const { operation } = move;
    const isUpdate = this.#harness.resourceType.updates.includes(operation);
    const updating = new Updating(this.#harness, operation);
    const [change] =
      move.isSetting === true
        ? updating.bodiesWith({ resource, ...created }, this.#name ?? '', [move.to])
        : isUpdate
          ? updating.changes({ resource, ...created }, `${this.#label} ${this.#attempts}`)
          : [this.#harness.context.requests.of(operation)?.call.body];
    return this.#harness.change(operation, resource, change, ...more);
  }

  /**
   * Sends a move that must not succeed, with another ETag and without a required scope; `broken` if it did. Otherwise the
   * response to a user with exactly the required scopes, if that user is allowed.
   */
  async #guard(move: Move, before: Created): Promise<Exchange | 'broken' | undefined> {
    const { operation } = move;
    this.#guarded.add(operation);
    const { session } = this.#harness;
    if (conditionOf(operation) !== undefined && declares(operation, 412)) {
      const stale = await this.#send(move, before, { 'if-match': staleTag(etagOf(before)) });
      const texts: [string, string] = ['412', responseText(stale)];
      if (isSuccess(stale)) this.#differ('if-match-ignored', operation, 'stale', texts, ...this.#trail, stale);
      if (isSuccess(stale)) return 'broken';
    }
    for (const { who, identity } of lacking(session, operation)) {
      const response = await this.#send(move, before, {}, identity);
      const after = await this.#harness.shown(before.resource);
      const isDone = isSuccess(response) || (after !== undefined && this.#stateOf(after) !== this.#stateOf(before));
      if (!isDone) continue;
      this.#differ('missing-permission', operation, who, ['403', responseText(response)], ...this.#trail, response);
      return 'broken';
    }
    const identity = exactly(session, operation);
    const own = identity && (await this.#send(move, before, {}, identity));
    if (own === undefined || ![401, 403].includes(own.response.status)) return own;
    this.#differ('permission-rejected', operation, '', ['success', responseText(own)], ...this.#trail, own);
    return undefined;
  }

  /** What an action changes, and what it must leave alone. */
  #effects({ operation, to }: Move, before: Created, after: Created, by: Exchange): Difference[] {
    const { harness } = { harness: this.#harness };
    const { document, resourceType } = harness;
    const exchanges = [before.exchange, by, after.exchange];
    const returned = { row: resourceIn(by), view: View.ofResponse(document, operation, by.response.status) };
    const isOwn =
      harness.isOf(before.resource, returned.row) &&
      String(ownId(returned.row) ?? before.resource.id) === String(before.resource.id);
    const found = isOwn ? otherThanRead('action-lost', operation, returned, after, [by, after.exchange]) : [];
    const about = (name: string, expected: unknown, actual: unknown, check: CheckName = 'action-state') => {
      const { node } = after.view.member(name);
      found.push(differ(check, operation, name, { ...valued(name, expected, actual), node, exchanges }));
    };
    const state = this.#stateOf(after);
    const name = this.#name ?? '';
    if (to !== undefined && state !== to && this.#stateOf(before) !== to) about(name, to, state);
    const time = after.view.names.find((one) => new RegExp(`^${state}[-_]?(?:at|on)$`, 'i').test(one));
    if (time !== undefined && after.row[time] === null) about(time, 'a time', null);
    const created = View.ofRequest(document, resourceType.create);
    const isKept = (one: string) =>
      one !== name && (/^(?:id|created_?at)$/i.test(one) || (one in before.resource.sent && isWritable(created, one)));
    // What an action is sent can change any property.
    for (const one of by.request.body === undefined ? Object.keys(before.row).filter(isKept) : []) {
      const [was, is] = [before.row[one], after.row[one]];
      if (isScalar(was) && (isServerOwned(one) ? was !== is : !isSame(was, is, { name: one })))
        about(one, was, is, 'action-others');
    }
    for (const { name: one, sent } of this.#shownIn(operation, by, after)) {
      if (isSame(sent, after.row[one], { name: one })) this.#kept.set(one, operation);
      else about(one, sent, after.row[one], 'action-lost');
    }
    return [...found, ...keptTimes(harness, operation, before, after, exchanges)];
  }

  /** What an action was sent, and the properties that show it: `cancelReason` for the `reason` of `cancel`. */
  #shownIn({ path }: Operation, { request }: Exchange, { view }: Created): { name: string; sent: unknown }[] {
    const body = parsedJson(request.body)?.value;
    return Object.entries(isObject(body) ? body : {}).flatMap(([key, sent]) => {
      const keys = [key, `${lastSegment(path)} ${key}`].map(keyOfName);
      const name = view.names.find((one) => keys.includes(keyOfName(one)) && !isServerOwned(one));
      return name === undefined || !isScalar(sent) ? [] : [{ name, sent }];
    });
  }

  /** A DELETE at the path of an action takes back what the action set. */
  async #takenBack({ path }: Operation, before: Created): Promise<void> {
    const undo = this.#harness.session.operations.find((one) => one.method === 'DELETE' && one.path === path);
    const set = [...this.#kept].filter(([, by]) => by.path === path).map(([name]) => name);
    if (undo === undefined || set.length === 0) return;
    const response = await this.#harness.change(undo, before.resource, undefined);
    const after = isSuccess(response) ? await this.#harness.shown(before.resource) : undefined;
    for (const name of after === undefined ? [] : set)
      if (!isNothing(after?.row[name]) && isKey(after?.row[name]))
        this.#differ(
          'action-lost',
          undo,
          name,
          [`${name}: null`, `${name}: ${after?.row[name]}`],
          ...this.#trail,
          response,
        );
  }
}

type ChangeArguments =
  Parameters<ResourceHarness['change']> extends [unknown, unknown, unknown, ...infer Rest] ? Rest : never;

/** Whether a move changed what is read. */
function changes({ row }: Created, after: Pick<Created, 'row'> | undefined): boolean {
  if (after === undefined) return false;
  return Object.keys(row).some((name) => isKey(row[name]) && jsonText(row[name]) !== jsonText(after.row[name]));
}
