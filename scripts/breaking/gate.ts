/** The check of breaking changes before a release. Returns one text for each required action. */

import { stringify } from 'yaml';
import { type Break, type Comparison, identity, type User } from '../../packages/openapi-breaking/src/index.ts';
import type { Addition } from './additions.ts';
import { breakingChanges, entriesOf, errorsIn, groupNames, names, type Release, versionOf } from './changelog.ts';

/** An intended break, as listed in the file of allowed breaks. In `at` and `says`, `*` stands for any text: one decision can change many places. */
export interface Allowed extends Break {
  readonly reason: string;
  /** The word that the entry under "Breaking changes" contains. */
  readonly changelog: string;
}

export interface Gate {
  readonly comparison: Comparison;
  readonly additions: readonly Addition[];
  readonly allowed: readonly Allowed[];
  readonly releases: readonly Release[];
  /** The version that the current contract is compared with. */
  readonly releasedVersion: string;
  readonly usersOf: (at: string) => readonly User[];
  /** The words by which a changelog entry can refer to an element. */
  readonly wordsFor: (at: string) => readonly string[];
}

export const allowedFile = 'openapi/released/allowed-breaks.yaml';

export function complaints(gate: Gate): string[] {
  const form = errorsIn(gate.releases).map((error) => `CHANGELOG.md: ${error}`);
  return [
    ...undeclared(gate),
    ...stale(gate),
    ...unfounded(gate),
    ...form,
    ...unannounced(gate),
    ...unnamed(gate),
    ...unversioned(gate),
  ];
}

function undeclared({ comparison, allowed, releasedVersion, usersOf, wordsFor }: Gate): string[] {
  const breaks = comparison.breaks.filter((found) => !allowed.some((entry) => isMeant(entry, found)));
  if (breaks.length === 0) return [];
  const list = breaks.map(
    (found) => `  ${found.rule}: ${found.says}\n    at ${found.at}\n    ${concerns(usersOf(found.at))}`,
  );
  const entries = breaks.map((found) => ({ ...found, reason: '', changelog: wordsFor(found.at)[0] ?? '' }));
  return [
    `${breaks.length} undeclared ${breaks.length === 1 ? 'break' : 'breaks'} of the contract released as ${releasedVersion}:\n\n${list.join('\n\n')}\n
Revert breaks that are not intended. Add the intended ones to ${allowedFile}, each with its reason, and describe them in
CHANGELOG.md under "Unreleased", "Breaking changes", with the word in \`changelog\`:\n\n${stringify(entries, { lineWidth: 0 })}`,
  ];
}

const shown = 5;

function concerns(users: readonly User[]): string {
  const lines = users.slice(0, shown).map(({ id, method, path }) => `${method} ${path} (${id})`);
  const more = users.length > shown ? `, and ${users.length - shown} more` : '';
  return `for ${lines.join(', ') || 'no operation'}${more}`;
}

function stale({ comparison, allowed }: Gate): string[] {
  return allowed
    .filter((entry) => !comparison.breaks.some((found) => isMeant(entry, found)))
    .map((entry) => `${allowedFile}: remove ${placeOf(entry)}, which no longer occurs.`);
}

function unfounded({ allowed }: Gate): string[] {
  const without = allowed
    .filter(({ reason }) => reason.trim() === '')
    .map((entry) => `${allowedFile}: add a reason for ${placeOf(entry)}.`);
  const twice = allowed
    .filter((entry, index) => allowed.findIndex((other) => identity(other) === identity(entry)) < index)
    .map((entry) => `${allowedFile}: ${placeOf(entry)} is listed twice.`);
  return [...without, ...twice];
}

function unannounced({ comparison, allowed, releases, wordsFor }: Gate): string[] {
  const declared = entriesOf(releases, breakingChanges);
  const missing = allowed.flatMap((entry) => {
    const happening = comparison.breaks.filter((found) => isMeant(entry, found));
    if (happening.length === 0) return [];
    const words = happening.flatMap(({ at }) => wordsFor(at));
    if (!words.includes(entry.changelog)) {
      const some = words.slice(0, shown).join(', ');
      return [`${allowedFile}: \`changelog\` of ${placeOf(entry)} must refer to what breaks, such as ${some}.`];
    }
    return declared.some((text) => names(text, entry.changelog))
      ? []
      : [
          `CHANGELOG.md: no entry under "Unreleased", "Breaking changes" mentions \`${entry.changelog}\` (${placeOf(entry)}).`,
        ];
  });
  const isAnnounced = groupNames.some((group) => group !== breakingChanges && entriesOf(releases, group).length > 0);
  const [some] = comparison.others;
  return some === undefined || isAnnounced
    ? missing
    : [
        ...missing,
        `CHANGELOG.md: describe under "Unreleased", in a group other than "Breaking changes", what changed in the contract, such as at ${some}.`,
      ];
}

/** With more schemas, a property was added to a kind of schema, such as to all pages. */
const several = 4;

/**
 * What was added is named in an entry of any group: a property in one that also has a word of its schema's name, such as “client” or
 * `Client`, unless many schemas have it.
 */
function unnamed({ additions, releases }: Gate): string[] {
  const entries = groupNames.flatMap((group) => entriesOf(releases, group));
  const byName = Map.groupBy(additions, ({ name }) => name);
  const missing = additions.filter(({ name, of = '' }) => {
    const isOfKind = new Set(byName.get(name)?.map((one) => one.of)).size > several;
    const words = isOfKind ? [] : (of.match(/[A-Z][a-z]{2,}/g) ?? []);
    const isOf = (entry: string) =>
      words.length === 0 || words.some((word) => entry.toLowerCase().includes(stem(word)));
    return !entries.some((entry) => names(entry, name) && isOf(entry));
  });
  return [...Map.groupBy(missing, ({ name, of = '' }) => `\`${name}\`${of === '' ? '' : ` of \`${of}\``}`)].map(
    ([what, [first]]) =>
      `CHANGELOG.md: add an entry under "Unreleased" that names ${what}, which is new at ${first?.at}.`,
  );
}

/** The plural of “entry” has another end. */
function stem(word: string): string {
  return word.toLowerCase().replace(/y$/, '');
}

function unversioned({ releases, releasedVersion }: Gate): string[] {
  const newest = releases.map(({ heading }) => versionOf(heading)?.name).find((name) => name !== undefined);
  return newest === releasedVersion
    ? []
    : [`CHANGELOG.md: the newest version is ${newest ?? 'missing'}, but the released contract is ${releasedVersion}.`];
}

function isMeant(entry: Allowed, found: Break): boolean {
  return entry.rule === found.rule && matches(entry.at, found.at) && matches(entry.says, found.says);
}

function matches(pattern: string, text: string): boolean {
  const parts = pattern.split('*').map((part) => part.replaceAll(/[.+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('.*')}$`, 's').test(text);
}

function placeOf({ rule, at }: Break): string {
  return `${rule} at ${at}`;
}
