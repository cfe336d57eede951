import {
  conditionInWords,
  isMet,
  type StateMachine,
  type StateTransition,
} from '@financial-automation/spec/state-machine';
import type { Field } from '../contract/fields.ts';
import { Rejection } from '../contract/rejection.ts';

/** The state machine of an entity, as the contract declares it on a field of its schema. */
export interface Machine extends StateMachine {
  /** The type of the rows, for messages. */
  readonly type: string;
  readonly field: string;
}

/** What changes the state of a row: an operation of a caller, or an event of the service. */
export type Mover =
  | { readonly operation: string; readonly holds: (roles: readonly string[]) => boolean }
  | { readonly event: string };

/** Returns the mover of what a caller writes. */
export function callerMover(plan: {
  readonly origin: { readonly operation: string; readonly movesAs?: string | undefined };
  holds(roles: readonly string[]): boolean;
}): Mover {
  const { operation, movesAs = operation } = plan.origin;
  return { operation: movesAs, holds: (roles) => plan.holds(roles) };
}

/**
 * Returns the state machine of the status of an entity, or undefined. Other fields only record states, such as a history.
 */
export function machineOf(type: string, fields: readonly Field[]): Machine | undefined {
  const machine = fields.find((field) => field.name === 'status')?.schema['x-state-machine'];
  return machine === undefined ? undefined : { ...machine, type, field: 'status' };
}

/** Whether an import writes rows in this state without the transitions that lead there. */
export function isImported(machine: Machine, state: unknown): boolean {
  return machine.imported?.includes(String(state)) === true;
}

/**
 * Checks the initial state of a new row.
 *
 * @throws Rejection `INVALID_STATE`
 */
export function checkInitialState(machine: Machine, state: unknown): void {
  if (machine.initial.includes(String(state))) return;
  throw new Rejection(
    'INVALID_STATE',
    `A new ${machine.type} cannot be ${state}. It can be ${listed(machine.initial)}.`,
    `/${machine.field}`,
  );
}

/**
 * Returns the transition from one state to another that this mover can use.
 *
 * @throws Rejection `INVALID_STATE` that lists the possible transitions, or `FORBIDDEN` if a role is missing.
 */
export function findTransition(machine: Machine, from: string, to: string, mover: Mover): StateTransition {
  const open = machine.transitions.filter(
    (transition) => transition.from.includes(from) && admits(machine, transition, mover),
  );
  const matching = open.filter((transition) => transition.to === to);
  if (matching.length === 0)
    throw impossible(machine, { from, to, open, isOpen: (transition) => admits(machine, transition, mover) });
  const allowed = matching.find(({ roles = [] }) => 'event' in mover || roles.length === 0 || mover.holds(roles));
  if (allowed !== undefined) return allowed;
  const roles = matching.flatMap((transition) => transition.roles ?? []);
  throw new Rejection(
    'FORBIDDEN',
    `Setting ${machine.field} to ${to} requires the ${listed(roles)} role.`,
    `/${machine.field}`,
  );
}

/**
 * Checks a condition that the contract declares on the values of the row before the change. Returns false for one in words.
 *
 * @throws Rejection `INVALID_STATE`
 */
export function checkCondition(
  machine: Machine,
  name: string,
  row: Readonly<Record<string, unknown>>,
  to: string,
): boolean {
  const condition = machine.conditions?.[name];
  if (typeof condition !== 'object') return false;
  if (isMet(condition, row)) return true;
  const clause = conditionInWords(condition).replaceAll('`', '');
  const detail = `Setting ${machine.field} to ${to} requires that ${clause}. ${condition.remedy}`;
  throw new Rejection('INVALID_STATE', detail, `/${machine.field}`);
}

/** Returns the states from one of several to another by transitions of the mover, both included: the fewest; undefined if there are none. */
export function statesTo(
  machine: Machine,
  starts: readonly string[],
  to: string,
  mover: Mover,
): readonly string[] | undefined {
  return pathTo(machine, starts, to, (transition) => admits(machine, transition, mover));
}

/**
 * Checks that an import may bring a row from one state to another: any steps lead there.
 *
 * @throws Rejection `INVALID_STATE`
 */
export function checkImported(machine: Machine, from: string, to: string): void {
  if (pathTo(machine, [from], to, () => true) === undefined)
    throw impossible(machine, { from, to, open: [], isOpen: () => false });
}

function pathTo(
  machine: Machine,
  starts: readonly string[],
  to: string,
  isOpen: (transition: StateTransition) => boolean,
): readonly string[] | undefined {
  const paths = starts.map((state) => [state]);
  const seen = new Set(starts);
  for (const path of paths) {
    const last = path.at(-1) ?? '';
    if (last === to) return path;
    for (const transition of machine.transitions) {
      if (seen.has(transition.to) || !transition.from.includes(last) || !isOpen(transition)) continue;
      seen.add(transition.to);
      paths.push([...path, transition.to]);
    }
  }
  return undefined;
}

function admits(machine: Machine, transition: StateTransition, mover: Mover): boolean {
  if ('event' in mover) return transition.events?.includes(mover.event) ?? false;
  // A transition that only names events is not available to callers.
  const operations = transition.operations ?? (transition.events === undefined ? machine.operations : []);
  return operations.includes(mover.operation);
}

interface Impossible {
  readonly from: string;
  readonly to: string;
  /** What the mover can do from here. */
  readonly open: readonly StateTransition[];
  /** Whether the mover can use a transition from another state. */
  readonly isOpen: (transition: StateTransition) => boolean;
}

function impossible(machine: Machine, { from, to, open, isOpen }: Impossible): Rejection {
  const isFinal = !machine.transitions.some((transition) => transition.from.includes(from));
  const leading = isFinal ? [] : machine.transitions.filter((one) => one.to === to && isOpen(one));
  const possible = namedOf(open, ({ to }) => [to]);
  const starts = namedOf(leading, ({ from }) => from);
  const hasConditions = [...open, ...leading].some(isConditional);
  // A state from which the caller could go on, and to which something else leads.
  const following = machine.transitions.filter(
    (one) =>
      one.events !== undefined &&
      one.from.includes(from) &&
      leading.some(({ from: starts }) => starts.includes(one.to)),
  );
  const next = [
    ...(isFinal ? [`${from} is final.`] : []),
    ...(possible.length > 0 ? [`From ${from} it can become ${listed(possible)}.`] : []),
    ...(starts.length > 0 ? [`It can become ${to} from ${listed(starts)}.`] : []),
    ...[...Map.groupBy(following, ({ events = [] }) => listed(events.map(eventInWords)))].map(
      ([events, ways]) => `It becomes ${listed(ways.map((one) => one.to))} after: ${events}.`,
    ),
    ...(hasConditions ? [`The description of ${machine.field} lists the conditions.`] : []),
  ];
  return new Rejection(
    'INVALID_STATE',
    `The ${machine.type} is ${from} and cannot become ${to}. ${next.join(' ') || 'This operation cannot change that.'}`,
    `/${machine.field}`,
  );
}

/** The states of transitions, and which of them not every row can take. */
function namedOf(transitions: readonly StateTransition[], statesOf: (one: StateTransition) => readonly string[]) {
  return [...new Set(transitions.flatMap(statesOf))].map((state) =>
    transitions.every((one) => !statesOf(one).includes(state) || isConditional(one))
      ? `${state} (with conditions)`
      : state,
  );
}

/** `paymentUnapplied` is `payment unapplied`. */
function eventInWords(event: string): string {
  return event.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}

function isConditional({ conditions = [], requires = [] }: StateTransition): boolean {
  return conditions.length + requires.length > 0;
}

function listed(values: readonly string[]): string {
  return new Intl.ListFormat('en', { type: 'disjunction' }).format(values);
}
