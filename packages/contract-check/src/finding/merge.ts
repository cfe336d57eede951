import type { Exchange } from '../http/call.ts';
import { isObject } from '../json.ts';
import type { Candidate, Finding } from './finding.ts';
import { followsFrom, isShared, ruleOf, severities } from './rules.ts';

/** A confirmed difference, before those with the same cause are merged. */
type Observed = Candidate & Pick<Finding, 'exchanges'>;

/** So many constraints of a body that are not enforced have one cause: the body is not validated. */
const manyConstraints = 6;

/** So many operations that treat the same kind of value alike have one cause: all use the same validator. */
const manyOperations = 4;

/** One finding for each cause, the worst first. Whatever else has the same cause is among its places. */
export function mergedByCause(all: readonly Observed[]): Finding[] {
  const groups = new Map<Observed, Set<Observed>>(all.map((finding) => [finding, new Set([finding])]));
  const join = (one: Observed, other: Observed) => {
    const [group, added] = [groups.get(one), groups.get(other)];
    if (group === undefined || added === undefined || group === added) return;
    for (const finding of added) groups.set(finding, group.add(finding));
  };
  const firsts = new Map<string, Observed>();
  for (const finding of all) {
    for (const key of keysOf(finding, all)) {
      join(firsts.get(key) ?? finding, finding);
      if (!firsts.has(key)) firsts.set(key, finding);
    }
    for (const other of all) if (followsFrom(finding, other)) join(other, finding);
  }
  return [...new Set(groups.values())]
    .flatMap((group) => merged(all.filter((finding) => group.has(finding))))
    .sort(bySeverity);
}

/** What findings of the same cause have in common. */
function keysOf(finding: Observed, all: readonly Observed[]): string[] {
  const { check, place, title, operation } = finding;
  if (isShared(check)) return [check];
  const isOfSchema = check === 'response-body' || check === 'response-unknown-property';
  const keys = place === undefined ? [] : [`${check} ${place.file} ${place.pointer} ${isOfSchema ? '' : title}`];
  keys.push(...keysOfResponse(finding), ...keysOfFault(finding));
  const part = partOf(finding);
  if (part === undefined) return keys;
  const reason = reasonOf(finding);
  const alike = all.filter((other) => other.check === check && reasonOf(other) === reason);
  if (new Set(alike.map((other) => other.operation)).size >= manyOperations) keys.push(`${check} ${reason}`);
  const isBody = part.startsWith('body');
  const ofBody = all.filter((other) => other.operation === operation && partOf(other)?.startsWith('body') === true);
  if (!isBody || check.startsWith('accept-')) keys.push(`${check.slice(0, 6)} ${operation} ${part}`);
  else if (ofBody.length >= manyConstraints) keys.push(`reject ${operation} body`);
  return keys;
}

/** Errors come from one part of a server, headers too; properties of one object differ from its schema together. */
function keysOfResponse({ check, cause, place, title, operation }: Observed): string[] {
  if (ruleOf(check).category !== 'responses') return [];
  const about = cause.slice(`${check} ${operation} `.length);
  if (/^[45]\d\d\b/.test(about)) return [`${check} ${check === 'response-unknown-property' ? 'errors' : about}`];
  if (check.startsWith('response-header')) return [`${check} ${title}`];
  const [schema] =
    /^.*(?=\/(?:required|properties|additionalProperties|unevaluatedProperties)$)/.exec(place?.pointer ?? '') ?? [];
  // Keywords of one property: it is of another type, and so it is not in the enum either.
  const property = check === 'response-body' ? [`${check} ${operation} ${about.replace(/ \S+$/, '')}`] : [];
  return schema === undefined ? property : [`response ${place?.file} ${schema}`, ...property];
}

/** Databases and frameworks put the reason of a fault at the end of their message. */
function keysOfFault({ check, exchanges }: Observed): string[] {
  const body = check === 'server-error' ? exchanges.at(-1)?.response.json?.value : undefined;
  const message = isObject(body) ? (body.detail ?? body.message) : undefined;
  if (typeof message !== 'string' || /internal|unknown|unexpected|wrong|server error/i.test(message)) return [];
  return [`${check} ${message.slice(-40).replaceAll(/\d+/g, '0')}`];
}

/** What is wrong with a value, without its name and itself: `violates type "string", but the request is accepted`. */
function reasonOf({ title }: Observed): string {
  return title.replace(/^[^:]*: \S+ (?:is .*, which (?=violates))?/, '').replaceAll(/ \([^)]*\)/g, '');
}

/** The part of the request that a finding about input is about: `query.limit`, `body/name`. */
function partOf({ check, cause, operation }: Observed): string | undefined {
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
    operation,
    check,
    title,
    cause,
    place,
  }));
  const { category, text: fix } = ruleOf(first.check);
  return [{ ...first, category, fix, also: [...others], places }];
}

function bySeverity(one: Observed, other: Observed): number {
  const rank = ({ check }: Observed) => severities.indexOf(ruleOf(check).severity);
  return rank(one) - rank(other);
}

/** Collects findings, one for each cause. */
export class FindingRegistry {
  readonly #findings = new Map<string, Observed>();
  readonly #unconfirmed = new Map<string, string>();

  /** Whether the cause is already reported and needs no confirmation. */
  has(cause: string): boolean {
    return this.#findings.has(cause);
  }

  get size(): number {
    return this.#findings.size;
  }

  /** Adds a confirmed finding. */
  write(candidate: Candidate, exchanges: readonly Exchange[]): void {
    if (this.#findings.has(candidate.cause)) return;
    this.#unconfirmed.delete(candidate.cause);
    this.#findings.set(candidate.cause, { ...candidate, exchanges });
  }

  /** Notes a candidate whose request cannot be repeated. A second observation confirms it. */
  noteUnconfirmed(candidate: Candidate, exchange: Exchange): void {
    if (this.#unconfirmed.has(candidate.cause)) this.write(candidate, [exchange]);
    else this.noteUnrepeated(candidate);
  }

  /** Notes a candidate that did not recur. */
  noteUnrepeated(candidate: Candidate): void {
    const note = `${candidate.operation}: ${candidate.title}; it was observed once and did not occur again`;
    this.#unconfirmed.set(candidate.cause, note);
  }

  unrepeated(): string[] {
    return [...this.#unconfirmed.values()];
  }

  findings(): Finding[] {
    return mergedByCause([...this.#findings.values()]);
  }
}
