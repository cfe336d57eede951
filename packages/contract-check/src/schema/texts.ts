import fc, { type Arbitrary } from 'fast-check';
import { regularExpression } from '../document/patterns.ts';
import type { Shape } from '../document/shape.ts';
import { shuffled } from './numbers.ts';

/** The length in code points, as `minLength` and `maxLength` count it. */
export function lengthOf(text: string): number {
  let length = 0;
  for (const _ of text) length += 1;
  return length;
}

const maxTextLength = 1_000_000;

/** Texts are drawn from regular expressions, of which these are parts. */
const word = '(?:Amber|Birch|Cedar|Delta|Ember|Fjord|Grove|Harbor|Iris|Juniper|Kestrel|Laurel)';
const [lower, upper] = [word.toLowerCase(), word.toUpperCase()];
const token = (length: number) => `[a-km-z2-9]{${length}}`;
const hexadecimal = (length: number) => `[0-9a-f]{${length}}`;
const day = '202[0-7]-(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])';
const futureDay = day.replace('202', '203');
/** Names of dates that servers often reject if they have passed. */
const mustBeFuture = /expir|until/i;
const time = '(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z';
const number = '[1-9][0-9]{0,2}';
const uuid = `${hexadecimal(8)}-${hexadecimal(4)}-7${hexadecimal(3)}-[89ab]${hexadecimal(3)}-${hexadecimal(12)}`;
const email = `${lower}\\.${token(5)}@example\\.com`;
const url = `https://example\\.com/${token(8)}`;
const host = `${token(6)}\\.example\\.com`;
const path = `/${lower}/${token(6)}`;

const formats: Readonly<Record<string, string>> = {
  uuid,
  date: day,
  time,
  'date-time': `${day}T${time}`,
  'iso-time': time,
  'iso-date-time': `${day}T${time}`,
  email,
  'idn-email': email,
  duration: 'P[1-9]DT[1-9]H',
  uri: url,
  url,
  iri: url,
  'uri-reference': path,
  'iri-reference': path,
  'uri-template': `${path}/\\{id\\}`,
  ipv4: '192\\.0\\.2\\.[1-9][0-9]?',
  ipv6: `2001:db8::[1-9a-f]${hexadecimal(3)}`,
  hostname: host,
  'idn-hostname': host,
  byte: token(16),
  base64: token(16),
  regex: `\\^${token(4)}`,
  'json-pointer': `/${token(4)}/[0-9]`,
  'relative-json-pointer': `[1-4]/${token(4)}`,
  'json-pointer-uri-fragment': `#/${token(4)}`,
  decimal: `${number}\\.[0-9]{2}`,
  phone: '\\+1202555[0-9]{4}',
  int32: number,
  int64: number,
  password: `${word}-${token(8)}-7!`,
};

/** Readable texts that match many patterns, most different first. */
const named: readonly string[] = [
  ...[`${lower}-${token(5)}`, `${lower}_${token(5)}`, lower + token(5), `${upper}_[0-9]{5}`, word + token(5)],
];

const readable: readonly string[] = [
  ...['(?:EUR|USD|GBP|CHF|JPY)', '(?:DE|US|FR|GB|CH|NL)', `${number}\\.[0-9]{2}`, '0\\.[1-9][0-9]', '20[0-9]{2}'],
  ...['[1-9]', '[0-9]{2}', '[0-9]{5}', '\\+1202555[0-9]{4}', url, path, `${word} ${token(5)}`, lower, upper, word],
  ...['(?:text/plain|application/pdf)', day, `${day}T${time}`, uuid, hexadecimal(32), hexadecimal(64)],
];

/** Whether a text satisfies the shape's keywords, except its format. */
export function fits(text: string, shape: Shape): boolean {
  const length = lengthOf(text);
  if (length < shape.minLength || length > shape.maxLength) return false;
  return shape.patterns.every((pattern) => regularExpression(pattern).test(text));
}

/** @param like a text whose form is kept if it is a URL, or a word such as `some-name` or `someName`. */
export function textOf(shape: Shape, name: string, roll: () => number, like = ''): string {
  const format = formats[shape.format ?? ''];
  const known = mustBeFuture.test(name) ? format?.replace(day, futureDay) : format;
  const usual = known ?? (/^https?:\/\//.test(like) ? url : freeText(shape, name, like));
  // Codes in capitals are often unique.
  const more = like === '' ? [] : [`${upper}-[0-9]{5}`];
  const patterns =
    shape.patterns.length === 0
      ? [usual, usual]
      : [
          ...(known === undefined ? [] : [known, known]),
          ...shuffled(named, roll),
          ...more,
          ...shuffled(readable, roll),
        ];
  for (const pattern of patterns) {
    const text = drawn(`^${pattern}$`, roll);
    if (text !== undefined && fits(text, shape)) return text;
  }
  // Visible characters are the least likely to be changed.
  const isVisible = (text: string) => /^[\x21-\x7e]+$/.test(text);
  const own = shape.patterns.flatMap((pattern) => Array.from({ length: 20 }, () => drawn(pattern, roll) ?? []).flat());
  const matches = own.filter((text) => fits(text, shape));
  const [best = matches[0]] = matches.filter(isVisible);
  if (best !== undefined) return best;
  const all = shape.patterns.length === 0 ? [drawn(`^${usual}$`, roll) ?? ''] : own;
  const lengths = [shape.minLength, Math.min(shape.maxLength, shape.minLength + 2)];
  const stretched = all.flatMap((text) =>
    lengths.map((length) => stretch(text, Math.min(length, maxTextLength), shape)),
  );
  return stretched.find((text) => text !== undefined) ?? all[0] ?? '';
}

/** Identifiers are one word; other texts read like names. In a short text, only the distinguishing part remains. */
function freeText({ maxLength }: Shape, name: string, like: string): string {
  if (maxLength < 24) return token(Math.min(maxLength, 12));
  const isWord = /(id|key|code|ref|slug|token|number)$/i.test(name) || /^[\w.-]*[a-z\d][A-Z\d._-][\w.-]*$/.test(like);
  return isWord ? `${lower}-${token(6)}` : `${word} ${word} ${token(5)}`;
}

const arbitraries = new Map<string, Arbitrary<string> | undefined>();

/** A text that matches a regular expression; undefined if it has features that fast-check does not support. */
function drawn(pattern: string, roll: () => number): string | undefined {
  if (!arbitraries.has(pattern)) arbitraries.set(pattern, arbitraryOf(pattern));
  const arbitrary = arbitraries.get(pattern);
  return arbitrary && fc.sample(arbitrary, { numRuns: 1, seed: roll() })[0];
}

function arbitraryOf(pattern: string): Arbitrary<string> | undefined {
  try {
    // With a bias, texts would often be equal.
    return fc.noBias(fc.stringMatching(regularExpression(pattern)));
  } catch {
    return undefined;
  }
}

/**
 * Lengthens or shortens a text to a number of code points by repeating or removing a part, so that every pattern still
 * matches; undefined if that is impossible.
 */
export function stretch(text: string, length: number, shape: Shape): string | undefined {
  const expressions = shape.patterns.map(regularExpression);
  const points = [...text];
  const isFine = (candidate: string) => expressions.every((one) => one.test(candidate));
  const missing = length - points.length;
  if (missing === 0) return isFine(text) ? text : undefined;
  if (missing > 0) {
    if (points.length === 0) return isFine('a'.repeat(length)) ? 'a'.repeat(length) : undefined;
    // Starts at the end, because most patterns have a fixed prefix.
    for (let index = Math.min(points.length, 200) - 1; index >= 0; index -= 1) {
      const point = points[index] ?? 'a';
      const longer = `${points.slice(0, index).join('')}${point.repeat(missing)}${points.slice(index).join('')}`;
      if (isFine(longer)) return longer;
    }
    return undefined;
  }
  for (let end = points.length; end + missing >= 0; end -= 1) {
    const shorter = [...points.slice(0, end + missing), ...points.slice(end)].join('');
    if (isFine(shorter)) return shorter;
  }
  return undefined;
}

const millisecondsPerDay = 86_400_000;

export function anotherText(text: string, shape: Shape, name: string, days: number, roll: () => number): string {
  if (/^-?\d+(\.\d+)?$/.test(text) && (shape.format === 'decimal' || text.includes('.'))) return text;
  const instant = /^(\d{4}-\d{2}-\d{2})(T.*)?$/i.exec(text);
  if (instant !== null) {
    const moved = new Date(Date.parse(`${instant[1]}T00:00:00Z`) + days * millisecondsPerDay);
    return Number.isNaN(moved.getTime()) ? text : `${moved.toISOString().slice(0, 10)}${instant[2] ?? ''}`;
  }
  if (text === '') return text;
  for (let attempt = 0; attempt < 5; attempt += 1) {
    const next = textOf(shape, name, roll, text);
    if (next !== text) return next;
  }
  return text;
}
