import fc, { type Arbitrary } from 'fast-check';
import { picked, shuffled } from './numbers.ts';
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

/**
 * A text for a template: `<word>`, `<lower>` and `<UPPER>` are a word, `<t5>` a token of five characters, `<d2>` digits,
 * `<x8>` hexadecimal digits, `<n28>` a number from 1 to 28, `<day>` and `<time>` those, and `<a|b>` one of several.
 */
function filled(template: string, roll: () => number): string {
  const several = (count: string, one: () => string) => Array.from({ length: Number(count) }, one).join('');
  return template.replaceAll(/<([^>]+)>/g, (_whole, kind: string): string => {
    const [, unit, count = ''] = /^([tdxn])(\d+)$/.exec(kind) ?? [];
    if (unit === 't') return several(count, () => picked([...letters], roll) ?? '');
    if (unit === 'd') return several(count, () => String(roll() % 10));
    if (unit === 'x') return several(count, () => (roll() % 16).toString(16));
    if (unit === 'n') return String(1 + (roll() % Number(count)));
    const two = (from: number, below: number) => String(from + (roll() % below)).padStart(2, '0');
    if (kind === 'day') return `${2020 + (roll() % 8)}-${two(1, 12)}-${two(1, 28)}`;
    if (kind === 'time') return `${two(0, 24)}:${two(0, 60)}:${two(0, 60)}Z`;
    const word = picked(kind.includes('|') ? kind.split('|') : words, roll) ?? '';
    return kind === 'lower' ? word.toLowerCase() : kind === 'UPPER' ? word.toUpperCase() : word;
  });
}

const uuid = '<x8>-<x4>-7<x3>-<8|9|a|b><x3>-<x12>';
const instant = '<day>T<time>';
const formats: Readonly<Record<string, string>> = {
  uuid,
  date: '<day>',
  time: '<time>',
  'date-time': instant,
  'iso-time': '<time>',
  'iso-date-time': instant,
  email: '<lower>.<t5>@example.com',
  'idn-email': '<lower>.<t5>@example.com',
  duration: 'P<n28>DT<n23>H',
  uri: 'https://example.com/<t8>',
  url: 'https://example.com/<t8>',
  iri: 'https://example.com/<t8>',
  'uri-reference': '/<lower>/<t6>',
  'iri-reference': '/<lower>/<t6>',
  'uri-template': '/<t6>/{id}',
  ipv4: '192.0.2.<n254>',
  ipv6: '2001:db8::<x4>',
  hostname: '<t6>.example.com',
  'idn-hostname': '<t6>.example.com',
  byte: '<t16>',
  base64: '<t16>',
  regex: '^<t4>[0-9]+$',
  'json-pointer': '/<t4>/<n9>',
  'relative-json-pointer': '<n4>/<t4>',
  'json-pointer-uri-fragment': '#/<t4>',
  decimal: '<n900>.<d2>',
  phone: '+1202555<d4>',
  int32: '<n1000>',
  int64: '<n1000>',
  password: '<word>-<t8>-7!',
};

/** Readable texts that match many patterns, most different first. */
const named: readonly string[] = [...['<lower>-<t5>', '<lower>_<t5>', '<lower><t5>', '<UPPER>_<d5>', '<word><t5>']];

const readable: readonly string[] = [
  ...['<EUR|USD|GBP|CHF|JPY>', '<DE|US|FR|GB|CH|NL>', '<n900>.<d2>', '0.<n9><d1>', '20<d2>', '<n9>', '<d2>', '<d5>'],
  ...['+1202555<d4>', 'https://example.com/<t8>', '/<t6>', '<word> <t5>', '<lower>', '<UPPER>', '<word>'],
  ...['<text/plain|application/pdf>', '<day>', instant, uuid, '<x32>', '<x64>'],
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
    const text = filled(known, roll);
    if (fits(text, shape)) return text;
  }
  if (shape.patterns.length > 0) return patterned(shape, roll);
  if (known !== undefined) return padded(filled(known, roll), shape);
  const form = likeUri.test(like) ? filled(formats.uri ?? '', roll) : '';
  return form !== '' && fits(form, shape) ? form : freeText(shape, name, roll, like);
}

const likeUri = /^https?:\/\//;

/** Identifiers are one word; other texts read like names. */
function freeText(shape: Shape, name: string, roll: () => number, like: string): string {
  const isWord = /(id|key|code|ref|slug|token|number)$/i.test(name) || /^[\w.-]*[a-z\d][A-Z\d._-][\w.-]*$/.test(like);
  const text = filled(isWord ? '<lower>-<t6>' : '<word> <word> <t5>', roll);
  if (lengthOf(text) <= shape.maxLength) return padded(text, shape);
  // The distinguishing part is at the end.
  return shape.maxLength <= 0 ? '' : filled(`<t${Math.min(shape.maxLength, 12)}>`, roll);
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
  const texts = [...shuffled(named, roll), ...shuffled(readable, roll)].map((one) => filled(one, roll));
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
