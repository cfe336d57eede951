/**
 * Breaking changes between two OpenAPI documents: those that Redocly reports, judged again by `judge.ts`, and those of our
 * extensions. `catalogue.ts` has a pair for each kind of change, and says where we judge otherwise than oasdiff. Not
 * detected:
 * - a rule that is only stated in descriptions;
 * - limits of an event subscription and other facts that are only in examples or in the server;
 * - `x-references`, `x-on-create`, `x-scale` and `x-disabled-events`: their changes are visible in formats, roles and webhooks;
 * - exchanged `prefixItems`, and path parameters that exchange their names.
 *
 * Reported although it need not be a break, and must be allowed with that reason:
 * - another pattern or format, even if it accepts more;
 * - a new value of an enum in a response, or a removed failure status;
 * - a parameter whose schema is mostly another one: Redocly reports it as removed.
 */
import { isDeepStrictEqual } from 'node:util';
import { objectOf } from '../../../openapi/rules/contract.ts';
import { flatten } from '../../../openapi/rules/flat.ts';
import { align } from './align.ts';
import { type Break, type Bundle, keysOf, operationsOf, pointerTo } from './document.ts';
import { judgeOf } from './judge.ts';
import { normalizeOperations } from './operations.ts';
import { promiseBreaks } from './promises.ts';
import { type Change, changesBetween } from './redocly.ts';
import { normalizeReferences } from './references.ts';
import { normalizeSchemas, toLatestForm, unwrapReferences } from './schemas.ts';

export interface Comparison {
  readonly breaks: readonly Break[];
  /**
   * Differences that a caller could notice outside of the operations and components that break. Descriptions and
   * examples do not count.
   */
  readonly others: readonly string[];
}

export async function compare(given: Bundle, now: Bundle): Promise<Comparison> {
  const [released, present] = [normalized(given), normalized(now)];
  align(released, present);
  const judge = judgeOf(released, present);
  const judged = (await changesBetween(released, present)).map((change) => ({
    change,
    breaks: judge(change).map((found) => ({ ...found, at: placeOf(change) })),
  }));
  const promises = promiseBreaks(released, present);
  const breaks = [...judged.flatMap((one) => one.breaks), ...promises.breaks];
  const noticed = judged.filter(({ change, breaks }) => breaks.length === 0 && isNoticed(change));
  const harmless = [...noticed.map(({ change }) => placeOf(change)), ...promises.changed];
  const broken = new Set(breaks.map(({ at }) => subject(at)));
  return {
    breaks: [...new Map(breaks.map((found) => [identity(found), found])).values()],
    others: [...new Set(harmless)].filter((at) => !broken.has(subject(at))),
  };
}

/** Writes a document in one form, so that only its meaning is compared. A schema that cannot be flattened is compared as it is. */
export function normalized(bundle: Bundle): Bundle {
  const copy: Bundle = structuredClone(bundle);
  toLatestForm(copy);
  normalizeReferences(copy);
  normalizeOperations(copy);
  unwrapReferences(copy);
  flatten(copy, [], () => {});
  // A constant that narrows an enum is merged with it first.
  normalizeSchemas(copy);
  removeScopes(copy);
  return copy;
}

/** Removes the scopes of each operation's security requirement where these are its roles, which `promises.ts` compares. */
function removeScopes(bundle: Bundle): void {
  for (const { operation } of operationsOf(bundle, ['paths'])) {
    const security = operation.security ?? bundle.security;
    if (operation['x-roles'] === undefined || !Array.isArray(security)) continue;
    const schemes: unknown[] = security.map((one) =>
      Object.fromEntries(Object.keys(objectOf(one)).map((scheme) => [scheme, []])),
    );
    operation.security = schemes.filter(
      (one, index) => schemes.findIndex((other) => isDeepStrictEqual(one, other)) === index,
    );
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

function placeOf({ base, revision, path }: Change): string {
  return base?.pointer ?? revision?.pointer ?? path;
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
