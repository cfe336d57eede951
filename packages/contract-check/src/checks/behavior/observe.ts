import type { Operation } from '../../document/operation.ts';
import { candidateOf } from '../../finding/finding.ts';
import { type CheckName, requirementOf } from '../../finding/rules.ts';
import type { Exchange } from '../../http/call.ts';
import { jsonText } from '../../json.ts';
import { ifSent } from '../../run/parallel.ts';
import type { Session } from '../../run/session.ts';

/** A deviation from correct behavior that a check observed. */
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
  readonly actual: string;
  /** The relevant part of the contract; defaults to the operation. */
  readonly node?: object | undefined;
  readonly exchanges: readonly (Exchange | undefined)[];
}

export type Facts = Omit<Difference, 'check' | 'operation' | 'about'>;

export function differ(check: CheckName, operation: Operation, about: string, facts: Facts): Difference {
  return { check, operation, about, ...facts };
}

/** The expected and the actual value of a property, for display. */
export function valued(name: string, expected: unknown, actual: unknown): Pick<Difference, 'expected' | 'actual'> {
  return { expected: `${name}: ${text(expected)}`, actual: `${name}: ${text(actual)}` };
}

/** A value for display. */
export function text(value: unknown): string {
  const whole = value === undefined ? 'nothing' : jsonText(value);
  return whole.length > 120 ? `${whole.slice(0, 119)}…` : whole;
}

/** One observation with its own data; undefined, or an end by `need`, if nothing could be observed. */
export type Observation = (label: string) => Promise<readonly Difference[] | undefined>;

/** An observation cannot be made, because the server or the contract lacks something. */
class NothingSeen extends Error {}

/** A value without which an observation cannot be made. It ends here if there is none. */
export function need<Value>(value: Value | undefined): Value {
  if (value === undefined) throw new NothingSeen();
  return value;
}

/** Ends an observation that cannot be made. */
export function needs(condition: boolean): void {
  if (!condition) throw new NothingSeen();
}

/** The result of work; undefined if it needed something that is not there. */
export async function ifSeen<Value>(work: () => Promise<Value>): Promise<Value | undefined> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof NothingSeen) return undefined;
    throw error;
  }
}

/** A check of behavior. The runner repeats what it finds with other data, and reports only what recurs. */
export interface BehaviorCheck<Subject> {
  readonly name: string;
  /** What it checks, in one sentence. */
  readonly describe: string;
  /** Whether the contract has what the check needs. Default: always. */
  applies?(subject: Subject): boolean;
  /** Makes the observation, and judges it. */
  run(subject: Subject, label: string): Promise<readonly Difference[] | undefined>;
}

/** Runs checks one after another. @param operationOf the operation that a check is about, and others that may be to blame. */
export async function runChecks<Subject>(
  session: Session,
  checks: readonly BehaviorCheck<Subject>[],
  subject: Subject,
  [operation, ...others]: readonly [Operation, ...(Operation | undefined)[]],
): Promise<void> {
  for (const { name, applies, run } of checks)
    if (applies?.(subject) !== false)
      await observe(session, operation, (label) => run(subject, `${name} ${label}`), others);
}

/**
 * Makes an observation, and repeats it if it shows a difference. Only differences that recur are reported.
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
  const seen = async (label: string) => {
    const found = await ifSent(() => ifSeen(() => observation(label)));
    return found && collapsed(found).map((one) => foundIn(session, one));
  };
  const found = await seen('one');
  if (found === undefined) return;
  const unknown = found.filter((one) => session.isJudged(one.operation) && !session.registry.has(one.candidate.cause));
  if (unknown.length === 0) return;
  const again = await seen('two');
  for (const { candidate, exchanges } of unknown) {
    const same = again?.find((one) => one.candidate.cause === candidate.cause);
    await session.report(same?.candidate ?? candidate, exchanges, async () => same?.exchanges);
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
  const { check, operation, about, node, exchanges, actual: whole, ...facts } = difference;
  const place = (node === undefined ? undefined : document.placeOf(node)) ?? document.placeOf(operation.node);
  const actual = whole.length > 300 ? `${whole.slice(0, 299)}…` : whole;
  const candidate = candidateOf(check, operation, about, { ...facts, actual, place });
  return { operation, candidate, exchanges: exchanges.filter((exchange) => exchange !== undefined) };
}
