import type { JsonObject } from '../../../json.ts';
import { clausesOf, ignoresCase } from '../../../run/wording.ts';
import { keyOfName, singularKey, wordsOf } from '../../../run/words.ts';
import { isSurelyShown } from './bounds.ts';
import { isDay, isInstant } from './compare.ts';
import type { FullList, Listing } from './listing.ts';
import { breachOf } from './order-judge.ts';
import type { OrderKey } from './order-keys.ts';
import type { Difference, Probe } from './probe.ts';
import { distinct, matchOf, type Property } from './properties.ts';
import type { Page } from './reader.ts';
import type { Slot } from './slot.ts';

/**
 * The documented order: `Sorted by lastName, then firstName`, `ties are broken by id`, `nulls come last in both
 * directions`.
 */
export interface DocumentedOrder {
  /** The default order of the list. */
  readonly keys: readonly OrderKey[];
  readonly ties: OrderKey | undefined;
  /** Adds to a key what descriptions say about nulls and case. */
  withWords(key: OrderKey): OrderKey;
}

export function documentedOrder({ operation, controls }: Listing, list: FullList): DocumentedOrder {
  const own = clausesOf(operation.node.description);
  const all = [...own, ...clausesOf(controls.order?.description), ...clausesOf(controls.direction?.description)];
  const isTie = (clause: string) => /\b(?:ties|equal)\b/i.test(clause);
  const [main] = own
    .filter((clause) => !isTie(clause))
    .flatMap((clause) => (beginning(operation.path).exec(clause)?.[1] === undefined ? [] : [mainKeys(list, clause)]));
  const [ties] = all.filter(isTie).flatMap((clause) => tieKeys(list, clause));
  const withWords = (key: OrderKey) => ({
    ...key,
    nulls: key.nulls ?? documentedNulls(all, key.property),
    ignoresCase: all.some((clause) => documentsCaseInsensitivity(clause, key.property)),
  });
  const keys = main ?? newestFirst(list, [...own, String(operation.node.summary ?? '')]);
  return { keys: keys.map(withWords), ties, withWords };
}

/**
 * Matches `Sorted by`, `Rows are sorted by` and `Venues are ordered by`; a clause about anything but the rows is
 * ignored.
 */
function beginning(path: string): RegExp {
  const kind = path.split('/').findLast((segment) => segment !== '' && !segment.startsWith('{')) ?? 'rows';
  const plain = kind.replaceAll(/\W/g, '.');
  return new RegExp(
    `^(?:(?:the |all )?(?:rows|results|items|entries|list|it|they|${plain}) (?:is|are|come) (?:always )?)?(?:sorted|ordered) by (.+)$`,
    'i',
  );
}

const up = /^(?:(?:both|all) )?(?:in )?(?:the )?(?:ascending|asc|oldest|earliest|lowest|smallest|alphabetical)/i;
const down =
  /^(?:(?:both|all) )?(?:in )?(?:the )?(?:descending|desc|newest|latest|most recent|highest|largest|greatest)/i;

function mainKeys(list: FullList, clause: string): OrderKey[] {
  const items = clause
    .replace(/^.*?\b(?:sorted|ordered) by /i, '')
    .split(/,?\s+(?:and )?then (?:by )?|,\s*(?:and )?|\s+and\s+/i);
  const keys: OrderKey[] = [];
  for (const item of items) {
    const isAscending = up.test(item);
    if (keys.length > 0 && (isAscending || down.test(item))) {
      const from = /^(?:both|all)\b/i.test(item) ? 0 : keys.length - 1;
      for (let index = from; index < keys.length; index += 1) {
        const key = keys[index];
        if (key !== undefined) keys[index] = { ...key, isDescending: !isAscending };
      }
      continue;
    }
    const key = keyOf(list, item);
    if (key === undefined) break;
    keys.push(key);
  }
  return keys;
}

/** Parses `name` or `the name, descending` if it names a property of the rows. */
function keyOf(list: FullList, item: string): OrderKey | undefined {
  const parts =
    /^(?:the |their |its )?[`'"]?([\w.]+(?: [a-z]+)?)[`'"]?(?: \(?(?:in )?(ascending|descending|asc|desc)(?: order)?\)?)?$/i.exec(
      item.trim(),
    );
  const way = /^(.+?) (?:in )?(ascending|descending|asc|desc)$/i.exec(parts?.[1] ?? '');
  const name = way?.[1] ?? parts?.[1];
  const match = name === undefined ? undefined : matchOf(list.properties, wordsOf(name));
  if (match?.isExact !== true) return undefined;
  const direction = way?.[2] ?? parts?.[2];
  return {
    property: match.property,
    isDescending: direction === undefined ? usually(list, match.property) : /^desc/i.test(direction),
    nulls: undefined,
    unit: undefined,
    extraSettings: [],
    label: match.property.name,
  };
}

/** Texts and IDs are ascending by default; numbers and timestamps may be either. */
function usually({ rows }: FullList, property: Property): false | undefined {
  const values = distinct(rows, property);
  const isText = values.every((value) => typeof value === 'string' && !isDay(value) && !isInstant(value));
  return isText || keyOfName(property.name) === 'id' ? false : undefined;
}

function tieKeys(list: FullList, clause: string): OrderKey[] {
  const tie = /\b(?:sorted|ordered|broken|come) by ([^,]+)(?:, (ascending|descending))?/i.exec(clause);
  const key = tie?.[1] === undefined ? undefined : keyOf(list, tie[1]);
  if (key === undefined) return [];
  return [
    tie?.[2] === undefined
      ? { ...key, isDescending: key.isDescending === true ? true : undefined }
      : { ...key, isDescending: /^desc/i.test(tie[2]) },
  ];
}

/** `Newest first` refers to the creation time, if rows have one. */
function newestFirst(list: FullList, clauses: readonly string[]): OrderKey[] {
  const match = matchOf(list.properties, ['created', 'at']) ?? matchOf(list.properties, ['created']);
  const isDocumented = clauses.some((clause) =>
    /(?:^|, )(?:the )?(?:newest|latest|most recent)(?: \w+)? first$/i.test(clause),
  );
  return isDocumented && match?.isExact === true
    ? [
        {
          property: match.property,
          isDescending: true,
          nulls: undefined,
          unit: undefined,
          extraSettings: [],
          label: match.property.name,
        },
      ]
    : [];
}

function documentedNulls(clauses: readonly string[], { path }: Property): OrderKey['nulls'] {
  const place = '\\b.*?\\b(?:come|comes|are|is) (last|first)\\b.*\\b(?:(?:both|either) directions?|always|whatever)';
  const names = [
    'nulls?',
    'without (?:a )?value',
    `without (?:an? )?[\`'"]?${path.join('.').replaceAll(/\W/g, '.')}[\`'"]?`,
  ];
  const patterns = names.map((name) => new RegExp(`\\b${name}${place}`, 'i'));
  const positions = clauses.flatMap((clause) => patterns.map((pattern) => pattern.exec(clause)?.[1]?.toLowerCase()));
  return positions.includes('first')
    ? positions.includes('last')
      ? undefined
      : 'first'
    : positions.includes('last')
      ? 'last'
      : undefined;
}

/** Matches `Text is compared without regard to case` and `names are sorted case-insensitively`. */
function documentsCaseInsensitivity(clause: string, { words }: Property): boolean {
  const subject = /^(\w+) (?:is|are) (?:compared|sorted|ordered)\b/i.exec(clause)?.[1]?.toLowerCase();
  if (subject === undefined || !ignoresCase(clause)) return false;
  return /^(?:texts?|strings?)$/.test(subject) || singularKey([subject]) === words.at(-1);
}

/** The first deviation from the documented order. Stops at a key whose hidden digits may decide before the next one. */
export function documentedOrderBreach(
  listing: Listing,
  rows: readonly JsonObject[],
  keys: readonly OrderKey[],
): { key: OrderKey; index: number; breach: string } | undefined {
  for (const [index, key] of keys.entries()) {
    const breach = breachOf(rows, key, keys.slice(0, index));
    if (breach !== undefined) return { key, index, breach };
    const values = distinct(rows, key.property);
    if (!values.every(isSurelyShown(listing, key.property, values))) return undefined;
  }
  return undefined;
}

/** Checks the list against its documented order. */
export function documentedOrderProbes({ controls, vocabulary }: Listing, documented: DocumentedOrder): Probe[] {
  const isRequested = controls.order !== undefined || controls.direction !== undefined;
  if (vocabulary.order === false || isRequested || documented.keys.length === 0) return [];
  return [async (listing, list) => judgedAsDocumented(listing, list.rows, documented.keys, list.pages, undefined)];
}

export function judgedAsDocumented(
  listing: Listing,
  rows: readonly JsonObject[],
  keys: readonly OrderKey[],
  pages: readonly Page[],
  slot: Slot | undefined,
): Difference[] {
  const found = documentedOrderBreach(listing, rows, keys);
  if (found === undefined) return [];
  return [
    {
      check: found.index > 0 ? 'order-ties' : 'order-ignored',
      title:
        found.index > 0
          ? `Rows with the same \`${keys[found.index - 1]?.property.name}\` are not sorted by \`${found.key.property.name}\`, as documented`
          : `Rows are not sorted by \`${found.key.property.name}\`, as documented`,
      expected: `order by ${keys.map(({ label, isDescending }) => `${label}${isDescending === true ? ' descending' : ''}`).join(', ')}`,
      actual: found.breach,
      slot,
      fix: 'Sort as documented, or correct the description.',
      exchanges: pages.map(({ exchange }) => exchange),
    },
  ];
}
