/** CHANGELOG.md: its format, the changes that it declares, and moving unreleased changes under a version. */
import { fromMarkdown } from 'mdast-util-from-markdown';
import { toString as textOf } from 'mdast-util-to-string';

export const breakingChanges = 'Breaking changes';
export const groupNames: readonly string[] = [breakingChanges, 'Added', 'Changed', 'Deprecated', 'Removed', 'Fixed'];
export const unreleased = 'Unreleased';

interface Group {
  readonly name: string;
  readonly entries: readonly string[];
  /** Whether it has content other than a list. */
  readonly isMixed: boolean;
}

export interface Release {
  readonly heading: string;
  readonly groups: readonly Group[];
  /** The offset in the text at which its heading ends. */
  readonly end: number;
}

type Block = ReturnType<typeof fromMarkdown>['children'][number];

/** The releases in the order of the file, well-formed or not. */
export function releasesOf(text: string): Release[] {
  return sections(fromMarkdown(text).children, 2).map(({ heading, blocks }) => ({
    heading: textOf(heading),
    end: heading.position?.end.offset ?? 0,
    groups: sections(blocks, 3).map((group) => ({
      name: textOf(group.heading),
      entries: group.blocks.flatMap((block) =>
        block.type === 'list' ? block.children.map((item) => textOf(item)) : [],
      ),
      isMixed: group.blocks.some((block) => block.type !== 'list'),
    })),
  }));
}

/** The blocks under each heading of a depth. */
function sections(blocks: readonly Block[], depth: number): { heading: Block; blocks: Block[] }[] {
  const found: { heading: Block; blocks: Block[] }[] = [];
  for (const block of blocks) {
    if (block.type === 'heading' && block.depth === depth) found.push({ heading: block, blocks: [] });
    else found.at(-1)?.blocks.push(block);
  }
  return found;
}

/** Returns the errors in the format, one sentence each. */
export function errorsIn(releases: readonly Release[]): string[] {
  const [first, ...rest] = releases;
  const errors = first?.heading === unreleased ? [] : [`The first section must be "## ${unreleased}".`];
  let newer: Version | undefined;
  for (const { heading } of rest) {
    const version = versionOf(heading);
    if (version === undefined) {
      errors.push(malformed(heading));
      continue;
    }
    if (newer !== undefined && compareVersions(newer, version) <= 0) {
      errors.push(`"## ${heading}" must be older than "## ${newer.name}", which is above it.`);
    }
    if (newer !== undefined && newer.date < version.date) {
      errors.push(`"## ${heading}" has a later day than "## ${newer.name}", which is above it.`);
    }
    newer = version;
  }
  return [...errors, ...releases.flatMap(errorsInGroups)];
}

function malformed(heading: string): string {
  return `"## ${heading}" must have the form "## v1.2.3 – 2026-01-31", with a day that exists.`;
}

function errorsInGroups({ heading, groups }: Release): string[] {
  const errors: string[] = [];
  let last = -1;
  for (const { name, entries, isMixed } of groups) {
    const where = `"### ${name}" under "## ${heading}"`;
    const place = groupNames.indexOf(name);
    if (place < 0) errors.push(`${where} is not a known group: ${groupNames.join(', ')}.`);
    else if (place === last) errors.push(`${where} occurs twice.`);
    else if (place < last) errors.push(`${where} is too low: the order is ${groupNames.join(', ')}.`);
    if (entries.length === 0) errors.push(`${where} has no entry.`);
    else if (isMixed) errors.push(`${where} has content other than a list of entries.`);
    last = Math.max(last, place);
  }
  return errors;
}

interface Version {
  readonly name: string;
  readonly numbers: readonly number[];
  readonly date: string;
}

export function versionOf(heading: string): Version | undefined {
  const match = /^(?<name>v(?<numbers>\d+\.\d+\.\d+)) – (?<date>\d{4}-\d{2}-\d{2})$/.exec(heading)?.groups;
  const { name = '', numbers = '', date = '' } = match ?? {};
  return match && isDay(date) ? { name, numbers: numbers.split('.').map(Number), date } : undefined;
}

/** The newest release, with `+unreleased` if something has changed since. */
export function releaseNow(releases: readonly Release[]): string {
  const [first, newest] = releases;
  const { name } = versionOf(newest?.heading ?? '') ?? {};
  if (name === undefined) throw new Error('CHANGELOG.md has no release.');
  return first?.groups.length === 0 ? name : `${name}+unreleased`;
}

function isDay(date: string): boolean {
  const day = new Date(`${date}T00:00:00Z`);
  return !Number.isNaN(day.valueOf()) && day.toISOString().startsWith(date);
}

function compareVersions(one: Version, other: Version): number {
  const difference = one.numbers.map((number, index) => number - (other.numbers[index] ?? 0));
  return difference.find((number) => number !== 0) ?? 0;
}

/** The entries of a group of the unreleased changes. */
export function entriesOf(releases: readonly Release[], name: string): readonly string[] {
  const groups = releases.find(({ heading }) => heading === unreleased)?.groups ?? [];
  return groups.filter((group) => group.name === name).flatMap(({ entries }) => entries);
}

/** Whether an entry mentions a word: `/a/b` does not mention `/a`. */
export function names(entry: string, word: string): boolean {
  return entry
    .split(/[\s,;()"“”]+/)
    .map((part) => part.replace(/[.:!?]+$/, ''))
    .includes(word);
}

/** Returns the text after a release: the unreleased changes are under the version. Throws if that is not possible. */
export function released(text: string, version: string, date: string): string {
  const [first, newest] = releasesOf(text);
  const heading = `${version} – ${date}`;
  const next = versionOf(heading);
  const last = versionOf(newest?.heading ?? '');
  if (next === undefined) throw new Error(malformed(heading));
  if (first?.heading !== unreleased || first.groups.length === 0)
    throw new Error('CHANGELOG.md has no unreleased changes.');
  if (last !== undefined && compareVersions(next, last) <= 0) throw new Error(`${version} must follow ${last.name}.`);
  const isPatch = last !== undefined && [0, 1].every((part) => next.numbers[part] === last.numbers[part]);
  if (isPatch && first.groups.some(({ name }) => name === breakingChanges))
    throw new Error(
      `${version} is a patch of ${last.name}, and has breaking changes. Release a minor or a major version.`,
    );
  return `${text.slice(0, first.end)}\n\n## ${heading}${text.slice(first.end)}`;
}
