import fc, { type Arbitrary } from 'fast-check';
import { picked, shuffled } from './dice.ts';
import { regularExpression, type Shape } from './shape.ts';

/** The length in code points, as `minLength` and `maxLength` count it. */
export function lengthOf(text: string): number {
  let length = 0;
  for (const _ of text) length += 1;
  return length;
}

const words =
  'Amber Birch Cedar Delta Ember Fjord Grove Harbor Iris Juniper Kestrel Laurel Maple Nimbus Orchard Pine Quarry River Sable Tulip'.split(
    ' ',
  );
const letters = 'abcdefghijkmnpqrstuvwxyz23456789';
const longestText = 100_000;

function token(roll: () => number, length: number): string {
  return Array.from({ length }, () => picked([...letters], roll)).join('');
}

function digits(roll: () => number, length: number): string {
  return Array.from({ length }, () => String(roll() % 10)).join('');
}

function hexadecimal(roll: () => number, length: number): string {
  return Array.from({ length }, () => (roll() % 16).toString(16)).join('');
}

function dayOf(roll: () => number): string {
  const [year, month, day] = [2020 + (roll() % 8), 1 + (roll() % 12), 1 + (roll() % 28)];
  return `${year}-${String(month).padStart(2, '0')}-${String(day).padStart(2, '0')}`;
}

function timeOf(roll: () => number): string {
  const two = (below: number) => String(roll() % below).padStart(2, '0');
  return `${two(24)}:${two(60)}:${two(60)}Z`;
}

function uuidOf(roll: () => number): string {
  const variant = picked([...'89ab'], roll);
  return [8, 4]
    .map((length) => hexadecimal(roll, length))
    .join('-')
    .concat(`-7${hexadecimal(roll, 3)}-${variant}${hexadecimal(roll, 3)}-${hexadecimal(roll, 12)}`);
}

function base64(roll: () => number): string {
  return Buffer.from(`${picked(words, roll)} ${token(roll, 6)}`).toString('base64');
}

const formats: Readonly<Record<string, (roll: () => number) => string>> = {
  uuid: uuidOf,
  email: (roll) => `${picked(words, roll)?.toLowerCase()}.${token(roll, 5)}@example.com`,
  'idn-email': (roll) => `${picked(words, roll)?.toLowerCase()}.${token(roll, 5)}@example.com`,
  uri: (roll) => `https://example.com/${token(roll, 8)}`,
  url: (roll) => `https://example.com/${token(roll, 8)}`,
  iri: (roll) => `https://example.com/${token(roll, 8)}`,
  'uri-reference': (roll) => `/${picked(words, roll)?.toLowerCase()}/${token(roll, 6)}`,
  'iri-reference': (roll) => `/${picked(words, roll)?.toLowerCase()}/${token(roll, 6)}`,
  'uri-template': (roll) => `/${token(roll, 6)}/{id}`,
  ipv4: (roll) => `192.0.2.${1 + (roll() % 254)}`,
  ipv6: (roll) => `2001:db8::${(1 + (roll() % 65_535)).toString(16)}`,
  hostname: (roll) => `${token(roll, 6)}.example.com`,
  'idn-hostname': (roll) => `${token(roll, 6)}.example.com`,
  date: dayOf,
  'date-time': (roll) => `${dayOf(roll)}T${timeOf(roll)}`,
  time: timeOf,
  'iso-time': timeOf,
  'iso-date-time': (roll) => `${dayOf(roll)}T${timeOf(roll)}`,
  duration: (roll) => `P${1 + (roll() % 28)}DT${1 + (roll() % 23)}H`,
  byte: base64,
  base64,
  regex: (roll) => `^${token(roll, 4)}[0-9]+$`,
  'json-pointer': (roll) => `/${token(roll, 4)}/${roll() % 10}`,
  'relative-json-pointer': (roll) => `${roll() % 4}/${token(roll, 4)}`,
  'json-pointer-uri-fragment': (roll) => `#/${token(roll, 4)}`,
  decimal: (roll) => `${1 + (roll() % 900)}.${digits(roll, 2)}`,
  phone: (roll) => `+1202555${digits(roll, 4)}`,
  int32: (roll) => `${1 + (roll() % 1000)}`,
  int64: (roll) => `${1 + (roll() % 1000)}`,
  password: (roll) => `${picked(words, roll)}-${token(roll, 8)}-7!`,
};

/** Readable texts that match many patterns, most different first. */
const named: readonly ((roll: () => number) => string)[] = [
  (roll) => `${picked(words, roll)?.toLowerCase()}-${token(roll, 5)}`,
  (roll) => `${picked(words, roll)?.toLowerCase()}_${token(roll, 5)}`,
  (roll) => `${picked(words, roll)?.toLowerCase()}${token(roll, 5)}`,
  (roll) => `${picked(words, roll)?.toUpperCase()}_${token(roll, 5).toUpperCase()}`,
  (roll) => `${picked(words, roll)}${token(roll, 5)}`,
];

const readable: readonly ((roll: () => number) => string)[] = [
  (roll) => picked(['EUR', 'USD', 'GBP', 'CHF', 'JPY'], roll) ?? '',
  (roll) => picked(['DE', 'US', 'FR', 'GB', 'CH', 'NL'], roll) ?? '',
  (roll) => `${1 + (roll() % 900)}.${digits(roll, 2)}`,
  (roll) => `0.${1 + (roll() % 9)}${digits(roll, 1)}`,
  (roll) => `${2000 + (roll() % 30)}`,
  (roll) => `${1 + (roll() % 9)}`,
  (roll) => digits(roll, 2),
  (roll) => digits(roll, 5),
  (roll) => `+1202555${digits(roll, 4)}`,
  (roll) => `https://example.com/${token(roll, 8)}`,
  (roll) => `/${token(roll, 6)}`,
  (roll) => `${picked(words, roll)} ${token(roll, 5)}`,
  (roll) => picked(words, roll)?.toLowerCase() ?? '',
  (roll) => picked(words, roll)?.toUpperCase() ?? '',
  (roll) => picked(words, roll) ?? '',
  (roll) => picked(['text/plain', 'application/pdf'], roll) ?? '',
  dayOf,
  (roll) => `${dayOf(roll)}T${timeOf(roll)}`,
  uuidOf,
  (roll) => hexadecimal(roll, 32),
  (roll) => hexadecimal(roll, 64),
];

/** Whether a text satisfies the shape's keywords, except its format. */
export function fits(text: string, shape: Shape): boolean {
  const length = lengthOf(text);
  if (length < shape.minLength || length > shape.maxLength) return false;
  return shape.patterns.every((pattern) => regularExpression(pattern)?.test(text) ?? true);
}

/** @param like a text whose form is kept if it is a URL, or a word such as `some-name` or `someName`. */
export function textOf(shape: Shape, name: string, roll: () => number, like = ''): string {
  const known = shape.format === undefined ? undefined : formats[shape.format];
  for (let attempt = 0; known !== undefined && attempt < 3; attempt += 1) {
    const text = known(roll);
    if (fits(text, shape)) return text;
  }
  if (shape.patterns.length > 0) return patterned(shape, roll);
  if (shape.format !== undefined && known !== undefined) return padded(known(roll), shape);
  const form = likeUri.test(like) ? formats.uri?.(roll) : undefined;
  return form !== undefined && fits(form, shape) ? form : freeText(shape, name, roll, like);
}

const likeUri = /^https?:\/\//;

/** Identifiers are one word; other texts read like names. */
function freeText(shape: Shape, name: string, roll: () => number, like: string): string {
  const isWord = /(id|key|code|ref|slug|token|number)$/i.test(name) || /^[\w.-]*[a-z\d][A-Z\d._-][\w.-]*$/.test(like);
  const word = picked(words, roll) ?? '';
  const text = isWord ? `${word.toLowerCase()}-${token(roll, 6)}` : `${word} ${picked(words, roll)} ${token(roll, 5)}`;
  if (lengthOf(text) <= shape.maxLength) return padded(text, shape);
  // The distinguishing part is at the end.
  return shape.maxLength <= 0 ? '' : token(roll, Math.min(shape.maxLength, 12));
}

function padded(text: string, shape: Shape): string {
  const least = Math.min(shape.minLength, longestText * 10);
  if (text.length >= least) return text;
  return `${text} `
    .repeat(Math.ceil(least / (text.length + 1)) + 1)
    .slice(0, least - 1)
    .concat('.');
}

const matching = new Map<string, Arbitrary<string> | undefined>();

function patterned(shape: Shape, roll: () => number): string {
  const texts = [...shuffled(named, roll), ...shuffled(readable, roll)].map((one) => one(roll));
  const found = texts.find((text) => fits(text, shape));
  if (found !== undefined) return found;
  const least = Math.max(1, shape.minLength);
  for (const pattern of shape.patterns) {
    const arbitrary = matcher(pattern);
    if (arbitrary === undefined) continue;
    const drawn = fc.sample(arbitrary, { numRuns: 20, seed: roll() });
    const matches = drawn.filter((text) => fits(text, shape));
    const plain = matches.filter((text) => /^[\x21-\x7e]+$/.test(text));
    const best = plain[0] ?? matches[0];
    if (best !== undefined) return best;
    for (const text of drawn) {
      const extended = stretch(text, least, shape) ?? stretch(text, Math.min(shape.maxLength, least + 2), shape);
      if (extended !== undefined) return extended;
    }
  }
  return texts[0] ?? '';
}

function matcher(pattern: string): Arbitrary<string> | undefined {
  if (!matching.has(pattern)) {
    const expression = regularExpression(pattern);
    try {
      matching.set(pattern, expression === undefined ? undefined : fc.stringMatching(expression));
    } catch {
      // fast-check does not support every feature of regular expressions.
      matching.set(pattern, undefined);
    }
  }
  return matching.get(pattern);
}

/**
 * Lengthens or shortens a text to a number of code points by repeating or removing a part, so that every pattern still
 * matches; undefined if that is impossible.
 */
export function stretch(text: string, length: number, shape: Shape): string | undefined {
  const expressions = shape.patterns.map(regularExpression).filter((one) => one !== undefined);
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

const day = 86_400_000;

export function anotherText(text: string, shape: Shape, name: string, days: number, roll: () => number): string {
  if (/^-?\d+(\.\d+)?$/.test(text) && (shape.format === 'decimal' || text.includes('.'))) return text;
  const instant = /^(\d{4}-\d{2}-\d{2})(T.*)?$/i.exec(text);
  if (instant !== null) {
    const moved = new Date(Date.parse(`${instant[1]}T00:00:00Z`) + days * day);
    return Number.isNaN(moved.getTime()) ? text : `${moved.toISOString().slice(0, 10)}${instant[2] ?? ''}`;
  }
  if (text === '') return text;
  for (let attempt = 0; attempt < 5; attempt += 1) {
    const next = textOf(shape, name, roll, text);
    if (next !== text) return next;
  }
  return text;
}
