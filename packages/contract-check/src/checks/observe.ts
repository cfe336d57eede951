import type { Place } from '../document/document.ts';
import type { Operation } from '../document/operation.ts';
import { type Category, candidateOf, responseText } from '../finding/finding.ts';
import { type CheckName, requirementOf, ruleOf } from '../finding/rules.ts';
import type { Exchange } from '../http/call.ts';
import { NotSent } from '../http/gate.ts';
import { cut, jsonText } from '../json.ts';
import type { KnownRequests } from '../run/known-requests.ts';
import { ifSent } from '../run/parallel.ts';
import type { Session } from '../run/session.ts';
import type { View } from '../schema/view.ts';

export interface CheckContext {
  readonly session: Session;
  readonly requests: KnownRequests;
  readonly onProgress: (done: number, all: number) => void;
}

/** A check of the server: it sends requests, and reports findings to the session. */
export interface Check {
  /** Shown to the user while the check runs. */
  readonly phase: string;
  /** The categories that it reports. The check is skipped if none of them is requested. */
  readonly finds: readonly Category[];
  run(context: CheckContext): Promise<void>;
}

/** A deviation from the contract that a check observed. */
export interface Difference {
  readonly check: CheckName;
  /** The operation that is most likely responsible. */
  readonly operation: Operation;
  /** What it concerns, such as a property, without values of this run. */
  readonly about: string;
  /** One sentence. Default: the requirement of the check, and what it concerns. */
  readonly title?: string;
  /** Default: the requirement of the check. */
  readonly expected?: string;
  /** Default: the last response. */
  readonly actual?: string;
  /** The relevant part of the contract; defaults to the operation. */
  readonly node?: object | undefined;
  /** Its place, where that is known instead. */
  readonly place?: Place | undefined;
  /** Requests and responses that show it, in order; the last one has the difference. */
  readonly exchanges: readonly (Exchange | undefined)[];
}

export type Facts = Omit<Difference, 'check' | 'operation' | 'about'>;

export function differ(check: CheckName, operation: Operation, about: string, facts: Facts): Difference {
  return { check, operation, about, ...facts };
}

export function valued(name: string, expected: unknown, actual: unknown): Pick<Difference, 'expected' | 'actual'> {
  return { expected: `${name}: ${text(expected)}`, actual: `${name}: ${text(actual)}` };
}

/** A property that has another value than expected. @param view that of the object with the property */
export function differIn(
  check: CheckName,
  operation: Operation,
  name: string,
  [expected, actual]: readonly [expected: unknown, actual: unknown],
  exchanges: Difference['exchanges'],
  view?: View,
): Difference {
  return differ(check, operation, name, {
    ...valued(name, expected, actual),
    node: view?.member(name).node,
    exchanges,
  });
}

export function text(value: unknown): string {
  return cut(value === undefined ? 'nothing' : jsonText(value), 120);
}

/** Differences that are found one by one. */
export type Differences = AsyncGenerator<Difference, void, undefined>;

export async function collected(differences: Differences): Promise<Difference[]> {
  const found: Difference[] = [];
  for await (const one of differences) found.push(one);
  return found;
}

/** One observation, with data of its own for each label. It ends by `need` if nothing can be observed. */
export type Observation = (label: string) => Differences;

/** A check of behavior: an observation of a subject. One that the contract gives no reason for yields nothing. */
export type BehaviorCheck<Subject> = (subject: Subject, label: string) => Differences;

/** An observation cannot be made, because the server or the contract lacks something. */
class NothingSeen extends NotSent {}

/** A value without which an observation cannot be made. It ends here if there is none. */
export function need<Value>(value: Value | undefined): Value {
  if (value === undefined) throw new NothingSeen();
  return value;
}

export function needs(condition: boolean): void {
  if (!condition) throw new NothingSeen();
}

/** Runs checks one after another. @param operationOf the operation that a check is about, and others that may be to blame. */
export async function runChecks<Subject>(
  session: Session,
  checks: readonly BehaviorCheck<Subject>[],
  subject: Subject,
  [operation, ...others]: readonly [Operation, ...(Operation | undefined)[]],
): Promise<void> {
  for (const check of checks)
    await observe(session, operation, (label) => check(subject, `${check.name} ${label}`), others);
}

/**
 * Makes an observation, and repeats it if it shows a difference. Only differences that recur are reported, as they are
 * seen the second time.
 *
 * @param others operations that may also be responsible. The observation is made if any of them is in scope.
 */
export async function observe(
  session: Session,
  operation: Operation,
  observation: Observation,
  others: readonly (Operation | undefined)[] = [],
): Promise<void> {
  const mayBeToBlame = [operation, ...others].some((one) => one !== undefined && session.isJudged(one));
  if (session.isOver || !mayBeToBlame) return;
  const { registry, includesCategory } = session;
  const seen = async (label: string) => {
    const found: Difference[] = [];
    await ifSent(async () => {
      for await (const one of observation(label)) found.push(one);
    });
    return collapsed(found).map((one) => foundIn(session, one));
  };
  const open = (await seen('one')).filter(
    ({ by, candidate: { cause, check } }) =>
      session.isJudged(by) && !registry.has(cause) && includesCategory(ruleOf(check).category),
  );
  const again = open.length === 0 ? [] : await seen('two');
  for (const { candidate } of open) {
    const same = again.find((one) => one.candidate.cause === candidate.cause);
    if (same === undefined) registry.noteUnrepeated(candidate);
    else registry.write(same.candidate, same.exchanges);
  }
}

/** Each part once. If most properties are affected, they are one cause. */
function collapsed(found: readonly Difference[]): Difference[] {
  const groups = Map.groupBy(found, ({ check, operation }) => `${check} ${operation.id}`);
  return [...groups.values()].flatMap((all) => {
    const group = [...new Map(all.map((one) => [one.about, one])).values()];
    const [first] = group;
    if (group.length < 4 || first === undefined) return group;
    const names = group.map(({ about }) => about).join(', ');
    return [{ ...first, about: 'most members', title: `${requirementOf(first.check)}: ${names}` }];
  });
}

function foundIn({ document }: Session, difference: Difference) {
  const { check, operation: by, about, node, exchanges: all, ...facts } = difference;
  const exchanges = all.filter((exchange) => exchange !== undefined);
  const last = exchanges.at(-1);
  const actual = facts.actual ?? (last === undefined ? '' : responseText(last));
  const place = facts.place ?? (node && document.placeOf(node)) ?? document.placeOf(by.node);
  const candidate = candidateOf(check, by, about, { ...facts, actual: cut(actual, 300), place });
  return { by, candidate, exchanges };
}
