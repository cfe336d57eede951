import { extensionOf, lastSegment, type Operation } from '../../../document/operation.ts';
import { isObject } from '../../../json.ts';
import { View } from '../../../schema/view.ts';
import type { ResourceHarness } from './resource.ts';

/** An operation on a resource that depends on its state, or changes it. */
export interface Move {
  readonly operation: Operation;
  /** The states in which it is possible, if the contract declares them. */
  readonly from: readonly string[] | undefined;
  /** The state that it leads to, as declared, or as its name says. */
  readonly to: string | undefined;
  /** Whether it is an update that sets the state. */
  readonly isSetting?: boolean;
}

const textsIn = (value: unknown) => (Array.isArray(value) ? value.filter((one) => typeof one === 'string') : undefined);

const irregular: Readonly<Record<string, string>> = { pay: 'paid', send: 'sent', hold: 'held', withdraw: 'withdrawn' };

/** The state that a verb names: `cancelled` for `cancel`, if only one does. */
function stateNamed(verb: string, states: readonly string[]): string | undefined {
  const named = states.find((one) => one.toLowerCase() === irregular[verb.toLowerCase()]);
  if (named !== undefined) return named;
  const stem = verb
    .toLowerCase()
    .replaceAll(/[^a-z]/g, '')
    .replace(/e$/, '');
  const [state, ...others] = states.filter((one) =>
    one
      .toLowerCase()
      .replaceAll(/[^a-z]/g, '')
      .startsWith(stem),
  );
  return stem.length > 3 && others.length === 0 ? state : undefined;
}

/** The property that has the state of a resource, its states, and what moves a resource between them. */
export function machineOf({ session, document, resourceType }: ResourceHarness): {
  readonly name: string | undefined;
  readonly moves: readonly Move[];
} {
  const { read, actions, updates, remove, create } = resourceType;
  const view = View.ofResponse(document, read);
  const below = session.operations.filter(
    (one) => one !== create && read !== undefined && one.path.startsWith(`${read.path}/`) && !actions.includes(one),
  );
  const declared = ({ node }: Operation) => textsIn(extensionOf(node).from);
  const others = [...updates, remove, ...below].filter((one) => one !== undefined && declared(one) !== undefined);
  const operations = [...actions, ...others].filter((one) => one !== undefined);
  const named = operations.flatMap((one) => [...(declared(one) ?? []), extensionOf(one.node).to ?? []].flat());
  /** The states to which an update may change each state. */
  const changesOf = (one: string) =>
    view
      .member(one)
      .parts.map((part) => extensionOf(part).transitions)
      .find(isObject);
  const statesOf = (name: string) => view.member(name).words.filter((word) => typeof word === 'string');
  const inferred = view.names.find(
    (one) =>
      statesOf(one).length > 1 &&
      named.every((word) => statesOf(one).includes(String(word))) &&
      (named.length > 0 || /status|state|phase|stage/i.test(one)),
  );
  const name = view.names.find((one) => changesOf(one) !== undefined) ?? inferred;
  const states = name === undefined ? [] : statesOf(name);
  const moves = operations.map((operation): Move => {
    const { to } = extensionOf(operation.node);
    const named = actions.includes(operation) ? stateNamed(lastSegment(operation.path), states) : undefined;
    return { operation, from: declared(operation), to: typeof to === 'string' ? to : named };
  });
  const changes = name === undefined ? undefined : changesOf(name);
  const setters = updates.filter((one) => !View.ofRequest(document, one).member(name ?? '').isEmpty);
  const settings = (changes === undefined ? [] : setters).flatMap((operation) =>
    states.map((to): Move => {
      const from = states.filter((state) => textsIn(changes?.[state])?.includes(to));
      return { operation, from, to, isSetting: true };
    }),
  );
  return { name, moves: [...moves, ...settings] };
}
