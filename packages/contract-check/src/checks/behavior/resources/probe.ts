import type { Operation } from '../../../document/operation.ts';
import type { Exchange } from '../../../http/call.ts';
import type { Session } from '../../../run/session.ts';

/** What a probe saw that a correct server would not have shown. */
export interface Difference {
  readonly check: string;
  /** The operation that is to blame, as far as one can tell. */
  readonly operation: Operation;
  /** What it is about, without the values of this run: a property, another operation. */
  readonly about: string;
  readonly title: string;
  readonly expected: string;
  readonly actual: string;
  /** What the contract says of it; the operation where nothing is given. */
  readonly node?: object | undefined;
  readonly fix: string;
  readonly exchanges: readonly (Exchange | undefined)[];
}

/** Looks once, with resources of its own; undefined where nothing could be seen. */
export type Look = (label: string) => Promise<readonly Difference[] | undefined>;

/**
 * Looks, and looks again with other resources where something differs: only what shows both times is reported.
 *
 * @param others operations that may be to blame, too: it is enough that one of all is judged.
 */
export async function probe(
  session: Session,
  operation: Operation,
  name: string,
  look: Look,
  others: readonly (Operation | undefined)[] = [],
): Promise<void> {
  const mayBeToBlame = [operation, ...others].some((one) => one !== undefined && session.isJudged(one));
  if (session.isOver || !mayBeToBlame) return;
  const found = collapsed(await look(`${name} one`));
  if (found === undefined) return;
  session.observed(operation, 'behavior');
  const unknown = found.filter(
    (difference) => session.isJudged(difference.operation) && !session.registry.has(causeOf(difference)),
  );
  if (unknown.length === 0) return;
  const again = collapsed(await look(`${name} two`));
  for (const difference of unknown) {
    const same = again?.find((one) => causeOf(one) === causeOf(difference));
    await session.report(candidateOf(session, same ?? difference), seen(difference), async () =>
      same === undefined ? undefined : seen(same),
    );
  }
}

/** Where most of what is sent is lost, all of it is: one cause. */
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

function seen({ exchanges }: Difference): Exchange[] {
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

/** A value as a person can read it. */
export function text(value: unknown): string {
  const whole = value === undefined ? 'nothing' : JSON.stringify(value);
  return whole.length > 120 ? `${whole.slice(0, 119)}…` : whole;
}
