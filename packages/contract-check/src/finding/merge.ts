import type { Exchange } from '../http/call.ts';
import { isObject } from '../json.ts';
import type { Candidate, Finding, Observed } from './finding.ts';
import { type CheckName, ruleOf, severities } from './rules.ts';

/** So many constraints of a body or of an object in a parameter that are not enforced have one cause: it is not validated. */
const manyConstraints = 6;

/** So many operations that treat the same kind of value alike have one cause: all use the same validator. */
const manyOperations = 4;

/** Checks of what servers usually do in one place for all operations: findings of several operations have one cause. */
const shared: readonly CheckName[] = [
  ...(['allow-header', 'method-fault', 'method-not-405', 'trailing-slash'] as const),
  ...(['reject-accept', 'reject-malformed', 'reject-media-type', 'reject-unknown-parameter'] as const),
  ...(['expired-credentials', 'forged-credentials', 'missing-credentials', 'missing-permission'] as const),
  ...(['if-match-ignored', 'if-match-status', 'if-none-match'] as const),
  ...(['problem-status', 'change-unknown', 'read-unknown'] as const),
];

const isShared = (check: CheckName) => shared.includes(check) || check.startsWith('page-');

const ofPages = [
  'page-beyond',
  'page-lost',
  'page-more',
  'page-next',
  'page-order',
  'page-overlap',
  'page-rows',
] as const;

/** What follows from a finding of the same operation: if an update is not stored, its ETag stays, too. */
const consequences: Readonly<Partial<Record<CheckName, readonly CheckName[]>>> = {
  'create-lost': ['create-not-listed', 'location'],
  'delete-lost': ['delete-listed'],
  'page-position': ofPages,
  'page-size': [...ofPages, 'page-position'],
  'update-lost': ['etag-stays', 'update-echo', 'update-timestamp'],
};

/** The same, but only for the same part, such as a parameter. */
const consequencesForPart: Readonly<Partial<Record<CheckName, readonly CheckName[]>>> = {
  'create-lost': ['create-echo'],
  'filter-ignored': ['filter-lost', 'filter-page', 'filter-total'],
  'order-ignored': ['order-nulls', 'order-ties'],
};

function followsFrom(one: Observed, other: Observed): boolean {
  if (one.operation !== other.operation) return false;
  return (
    consequences[other.check]?.includes(one.check) === true ||
    (consequencesForPart[other.check]?.includes(one.check) === true && one.about === other.about)
  );
}

/** One finding for each cause, the worst first. Whatever else has the same cause is among its places. */
export function mergedByCause(all: readonly Observed[]): Finding[] {
  const keys = new Map(all.map((finding) => [finding, keysOf(finding, all)]));
  const hasSameCause = (one: Observed, other: Observed) =>
    keys.get(one)?.some((key) => keys.get(other)?.includes(key)) === true ||
    followsFrom(one, other) ||
    followsFrom(other, one);
  const rest = new Set(all);
  const groups = all.map((first) => {
    const group = rest.delete(first) ? new Set([first]) : new Set<Observed>();
    // A set that grows is iterated to its end.
    for (const one of group) {
      const added = [...rest].filter((other) => hasSameCause(one, other));
      for (const other of added) if (rest.delete(other)) group.add(other);
    }
    return all.filter((finding) => group.has(finding));
  });
  return groups.flatMap(merged).sort(bySeverity);
}

/** What findings of the same cause have in common: one of these is enough. */
function keysOf(finding: Observed, all: readonly Observed[]): string[] {
  const { actual, check, operation, about, title, place } = finding;
  if (isShared(check)) return [check];
  const at = `${place?.file} ${place?.pointer}`;
  const isUnknown = check === 'response-unknown-property';
  const isError = ruleOf(check).category === 'responses' && /^[45]\d\d\b/.test(about);
  const [object] = /^.*(?=\/(?:required|properties|additionalProperties|unevaluatedProperties)$)/.exec(at) ?? [];
  const [holder] = /^.*(?=\/properties\/[^/]+\/type$)/.exec(at) ?? [];
  const reason = reasonOf(finding);
  // Keys of a map have other names in each request.
  const said = isInput(finding) ? reason : title;
  const alike = all.filter((other) => other.check === check && reasonOf(other) === reason);
  const isAlike = countOperations(alike) >= manyOperations;
  const sameFault = all.filter((other) => other.check === check && other.about === about);
  const isCommonFault = ruleOf(check).category === 'behavior' && countOperations(sameFault) >= manyOperations;
  const [whole = ''] = about.split('/');
  const ofWhole = all.filter(
    (other) => other.operation === operation && isUnchecked(other) && other.about.startsWith(whole),
  );
  const isPart = !isOfBody(finding) || check.startsWith('accept-');
  const fault = faultOf(finding);
  const hostile = hostileIn(finding);
  const keys: readonly (readonly [isApplied: boolean, key: string])[] = [
    [place !== undefined, `${check} ${at} ${check === 'response-body' || isUnknown ? '' : said}`],
    // Errors come from one part of a server, headers too.
    [isError, `${check} ${isUnknown ? 'errors' : about}`],
    [check.startsWith('response-header'), `${check} ${title}`],
    // Properties of one object differ from its schema together.
    [ruleOf(check).category === 'responses' && object !== undefined, `response ${object}`],
    // A server that returns {} for what does not exist does so for all types.
    [check === 'response-body' && about.endsWith(' empty'), `${check} ${about}`],
    [check === 'response-body' && !isError && holder !== undefined && actual === 'null', `${check} null ${holder}`],
    // Keywords of one property: it is of another type, and so it is not in the enum either.
    [check === 'response-body' && !isError, `${check} ${operation} ${about.replace(/ \S+$/, '')}`],
    [fault !== undefined, `${check} ${fault}`],
    [check === 'server-error' && hostile !== undefined, `${check} ${hostile}`],
    // Where a default is filled in, nothing is missing.
    [check === 'reject-required' && title.includes('which has a default'), `${check} default`],
    // Generated from a language without integers.
    [check === 'accept-type' && fraction.test(title), `${check} fraction`],
    // Omitted one by one and all together.
    [check === 'accept-required' && isOfBody(finding), `${check} ${operation} ${whole}`],
    // A wildcard route responds to each path below a resource.
    [isWild(finding) && all.filter(isWild).length >= manyPaths, `${check} below`],
    [isInput(finding) && isAlike, `${check} ${reason}`],
    // A helper that all operations use, such as the one that writes `Location`.
    [isCommonFault, `${check} ${about}`],
    [isInput(finding) && isPart, `${check.slice(0, 6)} ${operation} ${about}`],
    [isUnchecked(finding) && ofWhole.length >= manyConstraints, `reject ${operation} ${whole}`],
  ];
  return keys.flatMap(([isApplied, key]) => (isApplied ? [key] : []));
}

/** The reason that a number is rejected whose type is not `integer`. */
const fraction = /is -?\d*\.\d+, as type "number" allows/;

const countOperations = (findings: readonly Observed[]) => new Set(findings.map(({ operation }) => operation)).size;

/** The reason of a fault, which databases and frameworks put at the end of their message. */
function faultOf({ check, exchanges }: Observed): string | undefined {
  const body = check === 'server-error' ? exchanges.at(-1)?.response.json?.value : undefined;
  const message = isObject(body) ? (body.detail ?? body.message) : undefined;
  const isVague = typeof message !== 'string' || /internal|unknown|unexpected|wrong|server error/i.test(message);
  return isVague
    ? undefined
    : message
        .replace(/(?<=: )"[^"]*"$/, '')
        .replaceAll(/-?\d+/g, '0')
        .slice(-40);
}

/** So many undeclared paths that respond have one cause: a route with a wildcard. */
const manyPaths = 4;

const isWild = ({ check, about }: Observed) => check === 'undeclared-operation' && about.startsWith('path ');

/** What a request has that many servers cannot store or compute, whatever the operation: a null character, a large number. */
function hostileIn(finding: Observed): string | undefined {
  const { request, response } = finding.exchanges.at(-1) ?? {};
  // A message that says what is wrong gives the cause.
  if (faultOf(finding) !== undefined && !/UTF-?8|unicode|0x00/i.test(response?.text ?? '')) return undefined;
  const text = `${request?.url}${request?.body}`;
  if (/%00|\\u0000/.test(text)) return 'null character';
  if (/^(?:\[|\{"[^"]*":){40}/.test(request?.body ?? '')) return 'deep nesting';
  if (/"[^"]*":-?(?:NaN|Infinity)/.test(text)) return 'no number';
  return /\d{19}|\de\+?30\d/.test(text) ? 'large number' : undefined;
}

/** What is wrong with a value, without its name and itself: `violates type "string", but the request is accepted`. */
function reasonOf({ title }: Observed): string {
  return title.replace(/^[^:]*: \S+ (?:is .*, which (?=violates))?/, '').replaceAll(/ \([^)]*\)|[[\]]|,"null"/g, '');
}

const isInput = ({ check }: Observed) => /^(?:reject|accept)-/.test(check) && !isShared(check);

/** Whether a constraint of a body, or of a part of a parameter, is not enforced. */
const isUnchecked = (finding: Observed) =>
  isInput(finding) && finding.check.startsWith('reject-') && (isOfBody(finding) || finding.about.includes('/'));

const isOfBody = ({ about }: Observed) => about.startsWith('body');

function merged(group: readonly Observed[]): Finding[] {
  // A consequence can have been found before its cause.
  const [first] = group.filter((finding) => !group.some((other) => followsFrom(finding, other))).sort(bySeverity);
  if (first === undefined) return [];
  const others = new Set(group.map(({ operation }) => operation));
  others.delete(first.operation);
  const places = [first, ...group.filter((one) => one !== first)].map(({ operation, check, title, cause, place }) => {
    return { operation, check, title, cause, place };
  });
  return [{ ...first, ...ruleOf(first.check), also: [...others], places }];
}

function bySeverity(one: Observed, other: Observed): number {
  const rank = ({ check }: Observed) => severities.indexOf(ruleOf(check).severity);
  return rank(one) - rank(other);
}

export class FindingRegistry {
  readonly #findings = new Map<string, Observed>();
  readonly #unconfirmed = new Map<string, Candidate>();

  has(cause: string): boolean {
    return this.#findings.has(cause);
  }

  /** Whether it was observed, and did not recur. */
  isUnconfirmed(cause: string): boolean {
    return this.#unconfirmed.has(cause);
  }

  get size(): number {
    return this.#findings.size;
  }

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

  noteUnrepeated(candidate: Candidate): void {
    if (!this.has(candidate.cause)) this.#unconfirmed.set(candidate.cause, candidate);
  }

  unrepeated(): string[] {
    return [...this.#unconfirmed.values()].map(
      ({ operation, title }) => `${operation}: ${title}; it was observed once and did not occur again`,
    );
  }

  findings(): Finding[] {
    return mergedByCause([...this.#findings.values()]);
  }
}
