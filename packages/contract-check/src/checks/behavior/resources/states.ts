import { isDeepStrictEqual } from 'node:util';
import { extensionOf, lastSegment, type Operation } from '../../../document/operation.ts';
import type { CheckName } from '../../../finding/rules.ts';
import type { Exchange } from '../../../http/call.ts';
import { isObject } from '../../../json.ts';
import { keyOfName, withoutContainer, wordsOf } from '../../../run/names.ts';
import { View } from '../../../schema/view.ts';
import { type Differences, differ, text } from '../../observe.ts';
import type { FullList } from '../lists/listing.ts';
import type { Slot } from '../lists/slots.ts';
import type { Resource, ResourceHarness } from './resource.ts';

/** An operation on a resource that depends on its state, or changes it. */
export interface Move {
  readonly operation: Operation;
  /** The states in which it is possible, if the contract declares or describes them. */
  readonly from: readonly string[] | undefined;
  /** The state that it leads to, as declared, or as its name says. */
  readonly to: string | undefined;
  /** Whether it is an update that sets the state. */
  readonly isSetting?: boolean;
}

const textsIn = (value: unknown) => (Array.isArray(value) ? value.filter((one) => typeof one === 'string') : undefined);

const irregular: Readonly<Record<string, string>> = {
  pay: 'paid',
  send: 'sent',
  hold: 'held',
  withdraw: 'withdrawn',
  activate: 'active',
};

/** The state that a verb names: `cancelled` for `cancel`, `checked-in` for `check-in`, if only one does. */
export function stateNamed(verb: string, states: readonly string[]): string | undefined {
  const named = states.find((one) => one.toLowerCase() === irregular[verb.toLowerCase()]);
  const stems = wordsOf(verb).map((word) => word.replace(/[ey]$/, ''));
  const isNamed = (state: string) => {
    const words = wordsOf(state);
    return stems.every((stem, index) => words[index]?.startsWith(stem));
  };
  const [state, ...others] = states.filter(isNamed);
  return named ?? (verb.length > 3 && others.length === 0 ? state : undefined);
}

/** Sentences that name the states in which an operation is possible, whatever else they say of it. */
const loose: readonly RegExp[] = [
  /\bonly\b(.+?)\b(?:can|may|could)\b/i,
  /\bonly\b.+?\b(?:if|when|while|in|from|for)\b(.+)/i,
  /\b(?:allowed|possible|permitted)\b.*?\b(?:if|when|while|in|from|for)\b(.+)/i,
  /\bfrom\b(.+?)\bto\b/i,
];
/** Those that say no more. */
const strict =
  /(?:\bmust (?:still |already )?be\b|\b(?:is|are|was) not\b|^not\b)(.+?)(?:\b(?:before|to be|first)\b|$)/i;
const fillers = /\b(?:a|an|and|either|in|or|state|status|the)\b|[^a-z\d]/gi;

/** The states in which descriptions of an operation and of its conflicts say that it is possible, if they agree. */
export function statesDescribed(descriptions: readonly unknown[], states: readonly string[]): string[] | undefined {
  const sentences = descriptions.flatMap((one) => String(one ?? '').split(/[.;\n]+/));
  const nameOf = (state: string) => new RegExp(`(?<![\\w-])${wordsOf(state).join('[-_ ]?')}(?![\\w-])`, 'gi');
  const found = sentences.flatMap((sentence) => {
    const own = strict.exec(sentence.trim())?.[1];
    const rest = own && states.reduce((left, state) => left.replaceAll(nameOf(state), ''), own).replaceAll(fillers, '');
    const wide = loose.map((one) => one.exec(sentence)?.[1]).find((one) => one !== undefined);
    const clause =
      rest === '' ? own : wide !== undefined && !/\b(?:not|no|unless|except|before)\b/i.test(wide) ? wide : '';
    const named = states.filter((state) => wordsOf(state).length > 0 && nameOf(state).test(clause ?? ''));
    return named.length > 0 ? [named] : [];
  });
  return found.every((one) => isDeepStrictEqual(one, found[0])) ? found[0] : undefined;
}

/** States that nothing leaves, unless its name says so, such as `reopen`. */
export const isEnd = (state: string) =>
  /^(?:cancel+ed|completed?|finished|delivered|refunded|void(?:ed)?|terminated)$/i.test(state);
export const isReturning = (verb: string) =>
  /open|activate|instate|^(?:un|duplicate|copy|clone|re-?(?:store|sume|submit|start|try|set|new|vert|queue|process|schedule|cover))/i.test(
    verb,
  );

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
    const inName = actions.includes(operation) ? stateNamed(lastSegment(operation.path), states) : undefined;
    const { node, responses } = operation;
    const conflicts = responses.filter(({ status }) => status === '409').map((one) => one.node.description);
    const from = declared(operation) ?? statesDescribed([node.summary, node.description, ...conflicts], states);
    return { operation, from, to: typeof to === 'string' ? to : inName };
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

/** States in which lists often leave out a resource, although no parameter says so. */
const oftenHidden = /archiv|delet|remov|cancel|inactiv|disabl|clos|expir|void|trash|draft|hidden/i;

/** How lists show a resource whose state changed: in its new state, and not in the one before. @param trail what led to the new state */
export async function* listedAfter(
  harness: ResourceHarness,
  by: Operation,
  resource: Resource,
  name: string,
  [before, now]: readonly [string, string],
  trail: readonly Exchange[],
): Differences {
  const { list } = harness.resourceType;
  const finder = harness.finder(list, resource);
  if (list === undefined || finder === undefined) return;
  const { listing, look } = finder;
  const differs = (check: CheckName, about: string, texts: readonly [string, string], { exchanges }: FullList) => {
    const [expected, actual] = texts;
    return differ(check, list, `${about} after ${by.id}`, { expected, actual, exchanges: [...trail, ...exchanges] });
  };
  const present = [`a row that is ${now}`, 'none'] as const;
  const absent = [`no row that is ${now}`, 'one'] as const;
  const wordsIn = ({ shape }: Slot) => shape.enum ?? View.of(harness.document, shape.items?.[0]).words;
  const filter = listing.slots.find((slot) => {
    const isNamed = keyOfName(withoutContainer(slot.words)) === keyOfName(name);
    return slot.place === 'query' && isNamed && wordsIn(slot).includes(now);
  });
  if (filter !== undefined) {
    const looked = (word: unknown) => look([filter, filter.shape.types.has('array') ? [word] : word]);
    const [own, other] = [await looked(now), await looked(before)];
    if (own?.row === undefined && own?.isComplete) yield differs('list-hides', filter.name, present, own);
    if (other?.row !== undefined) yield differs('list-leaks', filter.name, absent, other);
    const every = wordsIn(filter).find((word) => word === 'all' || word === 'any');
    const whole = every === undefined ? undefined : await looked(every);
    if (whole?.isComplete && whole.row === undefined)
      yield differs('list-hides', `${filter.name} ${every}`, present, whole);
  }
  const fallback = filter?.default;
  const hiding = listing.slots.find(({ words: [verb = '', ...rest], shape }) => {
    const isNamed = /^(?:include|with|show|and)$/.test(verb) && rest.join('') === now.toLowerCase();
    return isNamed && shape.types.has('boolean');
  });
  const [plain, whole] = [await look(), hiding && (await look([hiding, true]))];
  if (plain?.row !== undefined && plain.row[name] !== undefined && plain.row[name] !== now)
    yield differs('read-disagrees', name, [now, text(plain.row[name])], plain);
  const isHidden = hiding !== undefined || fallback === before;
  if (isHidden && plain?.row !== undefined) yield differs('list-leaks', hiding?.name ?? '', absent, plain);
  const expected = isHidden || fallback !== undefined || oftenHidden.test(now) ? whole : plain;
  if (expected !== undefined && expected.row === undefined && expected.isComplete)
    yield differs('list-hides', hiding?.name ?? '', present, expected);
}
