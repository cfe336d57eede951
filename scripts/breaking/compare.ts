/**
 * Breaking changes between two bundles: those that Redocly reports, and the few that it misses. The tests have a table of
 * both. Not detected:
 * - a rule that is only stated in descriptions;
 * - limits of an event subscription and other facts that are only in examples or in the server;
 * - `x-references`, `x-on-create`, `x-scale` and `x-disabled-events`: their changes are visible in formats, roles and
 * webhooks, or do not concern callers.
 *
 * Reported although it need not be a break, and must be allowed with that reason:
 * - another pattern or format, even if it accepts more;
 * - a new value of an enum in a response, or a removed failure status.
 */
import { isDeepStrictEqual } from 'node:util';
import { isObject, objectOf } from '../../openapi/rules/contract.ts';
import { flatten } from '../../openapi/rules/flat.ts';
import { type OperationEntry, operationIndex } from '../operation-index.ts';
import { type Bundle, keysOf, pointerTo } from './document.ts';
import { type Change, changesBetween } from './redocly.ts';

export interface Break {
  /** The kind of break: a rule of `redocly diff`, or one of our own. */
  readonly rule: string;
  /** A JSON pointer, into the released bundle if the element already exists there. */
  readonly at: string;
  readonly says: string;
}

export interface Comparison {
  readonly breaks: readonly Break[];
  /**
   * Other differences that a caller could notice, besides the operations and components that break. Descriptions and
   * examples do not count.
   */
  readonly others: readonly string[];
}

export async function compare(given: Bundle, now: Bundle): Promise<Comparison> {
  const [released, present] = [flat(given), flat(now)];
  const judged = (await changesBetween(released, present)).map((change) => ({ change, breaks: breaksOf(change) }));
  const before = operationIndex(released);
  const after = operationIndex(present);
  const kept = Object.entries(before).flatMap(([id, entry]) => {
    const now = after[id];
    return now === undefined ? [] : [{ before: entry, after: now }];
  });
  const breaks = [
    ...judged.flatMap((one) => one.breaks),
    ...kept.flatMap((both) => withdrawn(both.before, both.after)),
    ...tighterSearchLimits(released, present),
  ];
  const harmless = [
    ...judged.flatMap((one) => (one.breaks.length === 0 && isNoticed(one.change) ? [placeOf(one.change)] : [])),
    ...kept.flatMap((both) =>
      isDeepStrictEqual(promises(both.before), promises(both.after)) ? [] : [placeOfOperation(both.after)],
    ),
  ];
  const broken = new Set(breaks.map(({ at }) => subject(at)));
  return {
    breaks: [...new Map(breaks.map((found) => [identity(found), found])).values()],
    others: [...new Set(harmless)].filter((at) => !broken.has(subject(at))),
  };
}

/** Flattens a bundle, so that only its meaning is compared, whatever it was composed of. */
function flat(bundle: Bundle): Bundle {
  const copy: Bundle & Record<string, unknown> = { ...structuredClone(bundle) };
  flatten(copy, [], (_, message) => {
    throw new Error(message);
  });
  removeScopes(copy);
  return copy;
}

/**
 * Removes the scopes of each operation's security requirement: these are its roles, which the index of operations
 * contains.
 */
function removeScopes(bundle: Bundle & Record<string, unknown>): void {
  for (const item of Object.values(bundle.paths)) {
    for (const operation of Object.values(item)) {
      const security = isObject(operation) ? (operation.security ?? bundle.security) : undefined;
      if (!isObject(operation) || !('responses' in operation) || !Array.isArray(security)) continue;
      const schemes: unknown[] = security.map((one) =>
        Object.fromEntries(Object.keys(objectOf(one)).map((scheme) => [scheme, []])),
      );
      operation.security = schemes.filter(
        (one, index) => schemes.findIndex((other) => isDeepStrictEqual(one, other)) === index,
      );
    }
  }
}

/** Returns the operation or component that a pointer refers to. */
function subject(at: string): string {
  return pointerTo(...keysOf(at).slice(0, 3));
}

/** Two breaks with the same identity are the same. The text is part of it: a limit must not be lowered a second time. */
export function identity({ rule, at, says }: Break): string {
  return JSON.stringify([rule, at, says]);
}

function breaksOf(change: Change): Break[] {
  const at = placeOf(change);
  const judged = change.verdicts.filter(({ impact }) => impact === 'major');
  if (judged.length > 0) return judged.map(({ ruleId, message }) => ({ rule: ruleId, at, says: message }));
  return overlooked.flatMap(({ rule, says }) => {
    const sentence = isUnused(change) ? undefined : says(change);
    return sentence === undefined ? [] : [{ rule, at, says: sentence }];
  });
}

function placeOf({ base, revision, path }: Change): string {
  return base?.pointer ?? revision?.pointer ?? path;
}

/** Changes that Redocly reports as harmless. */
const overlooked: readonly { rule: string; says: (change: Change) => string | undefined }[] = [
  {
    // Omitting the parameter has a different result than before.
    rule: 'default-changed',
    says: ({ kind, property, base, revision }) =>
      kind === 'modified' && property === 'default' && base?.value !== undefined
        ? `The default changed from ${JSON.stringify(base.value)} to ${JSON.stringify(revision?.value) ?? 'none'}.`
        : undefined,
  },
  {
    rule: 'response-header-became-optional',
    says: ({ kind, typeName, property, base, path }) =>
      kind === 'modified' && typeName === 'Header' && property === 'required' && base?.value === true
        ? `The header \`${keysOf(path).at(-1)}\` may be missing.`
        : undefined,
  },
  {
    // Redocly treats a parameter as part of a request that we receive.
    rule: 'webhook-header-removed',
    says: ({ kind, typeName, path, base }) =>
      kind === 'removed' && typeName.startsWith('Parameter') && keysOf(path)[0] === 'webhooks'
        ? `No longer sent: ${headerNames(base?.value)}.`
        : undefined,
  },
  {
    rule: 'webhook-renamed',
    says: ({ kind, property, path, base }) =>
      kind === 'modified' && property === 'key' && keysOf(path)[0] === 'webhooks' && keysOf(path).length === 2
        ? `The webhook \`${base?.value}\` became \`${keysOf(path)[1]}\`.`
        : undefined,
  },
  {
    rule: 'record-narrowed',
    says: ({ kind, property = '', path, base, revision }) => {
      if (kind !== 'modified' || !keysOf(path).some((key) => recordForms.has(key))) return undefined;
      const lost = missing(base?.value, revision?.value);
      return lost.length > 0 ? `\`${property}\` lost ${lost.join(', ')}.` : undefined;
    },
  },
  {
    rule: 'became-unique',
    says: ({ property, revision }) =>
      property === 'x-unique' && revision?.value === true ? 'A value may occur only once.' : undefined,
  },
];

const recordForms = new Set(['x-record', 'x-code-type', 'x-entry-type']);

function headerNames(value: unknown): string {
  const names = [value].flat().map((header) => Object(header).name ?? Object(header).$ref?.split('/').at(-1));
  return names.map((name) => `\`${name ?? 'a header'}\``).join(', ');
}

function missing(before: unknown, after: unknown): unknown[] {
  return Array.isArray(before) ? before.filter((value) => !Array.isArray(after) || !after.includes(value)) : [];
}

/** Guarantees of an operation in extensions that were removed. Redocly ignores lists in extensions. */
function withdrawn(before: OperationEntry, after: OperationEntry): Break[] {
  const at = (extension: string) => placeOfOperation(before, extension);
  const found: Break[] = [];
  const excluded = excludedRoles(before.roles, after.roles);
  if (excluded.length > 0) {
    found.push({ rule: 'roles-narrowed', at: at('x-roles'), says: `No longer admitted: ${excluded.join(', ')}.` });
  }
  if (before.idempotent !== after.idempotent && after.idempotent !== true && before.idempotent !== false) {
    const says = `A call could be repeated (${before.idempotent}), and now not so (${after.idempotent}).`;
    found.push({ rule: 'repetition-withdrawn', at: at('x-idempotent'), says });
  }
  if (perSecond(after) < perSecond(before)) {
    const says = `Calls went from ${rate(before)} to ${rate(after)}.`;
    found.push({ rule: 'rate-limit-lowered', at: at('x-rate-limit'), says });
  }
  if (before.bodyLimit && after.bodyLimit && after.bodyLimit < before.bodyLimit) {
    const says = `A body may have ${after.bodyLimit} bytes instead of ${before.bodyLimit}.`;
    found.push({ rule: 'body-limit-lowered', at: at('x-body-limit'), says });
  }
  return found;
}

function placeOfOperation({ path, method }: OperationEntry, ...inside: string[]): string {
  return pointerTo('paths', path, method.toLowerCase(), ...inside);
}

function promises({ roles, idempotent, rateLimit, bodyLimit }: OperationEntry): object {
  return { roles, idempotent, rateLimit, bodyLimit };
}

function excludedRoles(before: readonly string[], after: readonly string[]): string[] {
  if (after.includes('PUBLIC') || (after.includes('ANY') && !before.includes('PUBLIC'))) return [];
  return before.filter((role) => !after.includes(role));
}

function perSecond({ rateLimit }: OperationEntry): number {
  const { limit = 0, window = 1 } = rateLimit;
  return limit / window;
}

function rate({ rateLimit }: OperationEntry): string {
  return `${rateLimit.limit} in ${rateLimit.window} s`;
}

function tighterSearchLimits(released: Bundle, present: Bundle): Break[] {
  const { weights: weightsBefore, ...before } = released['x-search-limits'] ?? {};
  const { weights: weightsAfter, ...after } = present['x-search-limits'] ?? {};
  return [
    ...numbers(before, after).flatMap(([name, was, is]) => {
      const says = `The limit went from ${was} to ${is}.`;
      return is < was ? [{ rule: 'search-limit-lowered', at: pointerTo('x-search-limits', name), says }] : [];
    }),
    ...numbers(weightsBefore, weightsAfter).flatMap(([name, was, is]) => {
      const says = `The weight went from ${was} to ${is}, so searches that were accepted cost too much.`;
      const at = pointerTo('x-search-limits', 'weights', name);
      return is > was ? [{ rule: 'search-weight-raised', at, says }] : [];
    }),
  ];
}

/** The numbers of a name before and after, if both exist. */
function numbers(before: unknown, after: unknown): [name: string, was: number, is: number][] {
  const later = new Map<string, unknown>(Object.entries(after ?? {}));
  return Object.entries(before ?? {}).flatMap(([name, was]): [string, number, number][] => {
    const is = later.get(name);
    return typeof was === 'number' && typeof is === 'number' ? [[name, was, is]] : [];
  });
}

const words = new Set(['description', 'summary', 'title', 'example', 'externalDocs', 'tags']);

function isNoticed(change: Change): boolean {
  const keys = keysOf(change.path);
  const isText =
    words.has(change.property ?? '') || keys[0] === 'info' || keys[0] === 'tags' || keys.includes('examples');
  return !isText && !isUnused(change);
}

/** Components that operations use are reported there; the others are unused. */
function isUnused({ path }: Change): boolean {
  const [root, kind] = keysOf(path);
  return root === 'components' && kind !== 'securitySchemes';
}
