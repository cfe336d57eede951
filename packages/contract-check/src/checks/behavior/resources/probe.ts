import type { Operation } from '../../../document/operation.ts';
import type { CheckName } from '../../../finding/rules.ts';
import type { Exchange } from '../../../http/call.ts';
import { ifSent } from '../../../run/parallel.ts';
import type { Session } from '../../../run/session.ts';

/** A deviation from correct behavior that a probe observed. */
export interface Difference {
  readonly check: CheckName;
  /** The operation that is most likely responsible. */
  readonly operation: Operation;
  /** What it concerns, such as a property, without values of this run. */
  readonly about: string;
  readonly title: string;
  readonly expected: string;
  readonly actual: string;
  /** The relevant part of the contract; defaults to the operation. */
  readonly node?: object | undefined;
  readonly fix: string;
  readonly exchanges: readonly (Exchange | undefined)[];
}

/** One observation with its own resources; undefined if nothing could be observed. */
export type Observation = (label: string) => Promise<readonly Difference[] | undefined>;

/**
 * Makes an observation, and repeats it with other resources if it shows a difference. Only differences that recur are
 * reported.
 *
 * @param others operations that may also be responsible. The probe runs if any of them is in scope.
 */
export async function probe(
  session: Session,
  operation: Operation,
  name: string,
  observe: Observation,
  others: readonly (Operation | undefined)[] = [],
): Promise<void> {
  const mayBeToBlame = [operation, ...others].some((one) => one !== undefined && session.isJudged(one));
  if (session.isOver || !mayBeToBlame) return;
  const found = collapsed(await ifSent(() => observe(`${name} one`)));
  if (found === undefined) return;
  session.observed(operation, 'behavior');
  const unknown = found.filter(
    (difference) => session.isJudged(difference.operation) && !session.registry.has(causeOf(difference)),
  );
  if (unknown.length === 0) return;
  const again = collapsed(await ifSent(() => observe(`${name} two`)));
  for (const difference of unknown) {
    const same = again?.find((one) => causeOf(one) === causeOf(difference));
    await session.report(candidateOf(session, same ?? difference), exchangesOf(difference), async () =>
      same === undefined ? undefined : exchangesOf(same),
    );
  }
}

/** If most properties are affected, reports them as one cause. */
function collapsed(found: readonly Difference[] | undefined): readonly Difference[] | undefined {
  if (found === undefined) return undefined;
  const groups = Map.groupBy(found, ({ check, operation }) => `${check} ${operation.id}`);
  return [...groups.values()].flatMap((group) => {
    const [first] = group;
    if (group.length < 4 || first === undefined) return group;
    const names = group.map(({ about }) => about).join(', ');
    return [{ ...first, about: 'most members', title: `${first.title}. The same is true of: ${names}` }];
  });
}

function exchangesOf({ exchanges }: Difference): Exchange[] {
  return exchanges.filter((exchange) => exchange !== undefined);
}

function candidateOf({ document }: Session, difference: Difference) {
  const { check, operation, title, expected, actual, node, fix } = difference;
  return {
    check,
    category: 'behavior' as const,
    operation: operation.id,
    title,
    expected,
    actual: actual.length > 300 ? `${actual.slice(0, 299)}…` : actual,
    place: (node === undefined ? undefined : document.placeOf(node)) ?? document.placeOf(operation.node),
    fix,
    cause: causeOf(difference),
  };
}

function causeOf({ check, operation, about }: Difference): string {
  return `${check} ${operation.id} ${about}`.trim();
}

/** A value for display. */
export function text(value: unknown): string {
  const whole = value === undefined ? 'nothing' : JSON.stringify(value);
  return whole.length > 120 ? `${whole.slice(0, 119)}…` : whole;
}
