import type { Candidate, Finding } from './finding.ts';
import { followsFrom, isShared, ruleOf, severities } from './rules.ts';

/** A confirmed difference, before those with the same cause are merged. */
export type Observed = Candidate & Pick<Finding, 'exchanges'>;

/** So many constraints of a body that are not enforced have one cause: the body is not validated. */
const manyConstraints = 6;

/** One finding for each cause, the worst first. Whatever else has the same cause is among its places. */
export function mergedByCause(all: readonly Observed[]): Finding[] {
  const groups = new Map<Observed, Set<Observed>>(all.map((finding) => [finding, new Set([finding])]));
  const join = (one: Observed, other: Observed) => {
    const [group, added] = [groups.get(one), groups.get(other)];
    if (group === undefined || added === undefined || group === added) return;
    for (const finding of added) groups.set(finding, group.add(finding));
  };
  for (const findings of Map.groupBy(
    all.flatMap((finding) => keysOf(finding, all).map((key) => ({ key, finding }))),
    ({ key }) => key,
  ).values())
    for (const { finding } of findings) join(findings[0]?.finding ?? finding, finding);
  for (const finding of all) for (const other of all) if (followsFrom(finding, other)) join(other, finding);
  return [...new Set(groups.values())]
    .flatMap((group) => merged(all.filter((finding) => group.has(finding))))
    .sort(bySeverity);
}

/** What findings of the same cause have in common. */
function keysOf({ check, cause, place, title, operation }: Observed, all: readonly Observed[]): string[] {
  if (isShared(check)) return [check];
  const keys = place === undefined ? [] : [`${check} ${place.file} ${place.pointer} ${title}`];
  const part = partOf({ check, cause, operation });
  if (part === undefined) return keys;
  const isBody = part.startsWith('body');
  const ofBody = all.filter((other) => other.operation === operation && partOf(other)?.startsWith('body') === true);
  if (!isBody || check.startsWith('accept-')) keys.push(`${check.slice(0, 6)} ${operation} ${part}`);
  else if (ofBody.length >= manyConstraints) keys.push(`reject ${operation} body`);
  return keys;
}

/** The part of the request that a finding about input is about: `query.limit`, `body/name`. */
function partOf({ check, cause, operation }: Pick<Observed, 'check' | 'cause' | 'operation'>): string | undefined {
  const start = `${check} ${operation} `;
  return /^(?:reject|accept)-/.test(check) && !isShared(check) && cause.startsWith(start)
    ? cause.slice(start.length)
    : undefined;
}

function merged(group: readonly Observed[]): Finding[] {
  // A consequence can have been found before its cause.
  const [first] = group.filter((finding) => !group.some((other) => followsFrom(finding, other))).sort(bySeverity);
  if (first === undefined) return [];
  const others = new Set(group.map(({ operation }) => operation));
  others.delete(first.operation);
  const places = [first, ...group.filter((one) => one !== first)].map(({ operation, check, title, cause, place }) => ({
    ...{ operation, check, title, cause, place },
  }));
  const { category, text: fix } = ruleOf(first.check);
  return [{ ...first, category, fix, also: [...others], places }];
}

function bySeverity(one: Observed, other: Observed): number {
  const rank = ({ check }: Observed) => severities.indexOf(ruleOf(check).severity);
  return rank(one) - rank(other);
}
