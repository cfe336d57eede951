import type { OpenApiDocument, Place } from '../document/document.ts';
import { escapeSegment, isObject, type JsonObject, unescapeSegment } from '../json.ts';
import { isForeign, memberSchemas, nothing, regularExpression, type Shape, shapeOf, type TypeName } from './shape.ts';
import type { Breach, Direction, Validators } from './validators.ts';
import {
  fits,
  isSame,
  lengthOf,
  objectOf,
  type Spot,
  stepOf,
  stretch,
  typeOf,
  Values,
  withMember,
  withoutMember,
} from './values.ts';

/** A value that violates exactly one constraint, according to the validator. */
export interface Break {
  readonly keyword: string;
  /** JSON Pointer to the invalid or missing part. */
  readonly pointer: string;
  /** The place of the keyword in the source files. */
  readonly place: Place | undefined;
  readonly value: unknown;
  /** One clause: "name is 201 characters long, one more than maxLength". */
  readonly note: string;
}

/** A constraint for which no invalid value was generated. */
export interface Skipped {
  readonly keyword: string;
  readonly pointer: string;
  readonly place: Place | undefined;
  readonly reason: string;
}

export interface BreakOptions {
  /** Maximum number of violations. */
  readonly limit?: number;
}

/** A possible violation, before validation. */
interface Candidate {
  readonly keyword: string;
  readonly source: JsonObject | undefined;
  /** Distinguishes violations of the same keyword, such as a type or a property name. */
  readonly detail: string;
  readonly pointer: string;
  /** Values for the spot, best first. The first that violates nothing else is used. */
  readonly parts: Iterable<unknown>;
  readonly note: (part: unknown) => string;
  /** Whether the validator may report another keyword. */
  readonly isComposite?: boolean;
}

interface Breaking {
  readonly document: OpenApiDocument;
  readonly values: Values;
  readonly direction: Direction;
  readonly spot: Spot;
  /** The spot, for display. */
  readonly subject: string;
  readonly skip: (keyword: string, source: JsonObject | undefined, reason: string) => void;
}

/** Longer texts and lists reveal nothing more and exhaust the server's memory. */
const longest = 1_000_000;
const itemLimit = 20_000;
/** A property name that no contract declares. */
export const unknownName = 'notInTheContract';

/** Values that violate one constraint each, for every constraint that applies or could apply to the value. */
export function breaksOf(
  document: OpenApiDocument,
  validators: Validators,
  schema: JsonObject,
  value: unknown,
  direction: Direction = 'request',
  options: BreakOptions = {},
): Break[] {
  return breaksAndSkipped(document, validators, schema, value, direction, options).breaks;
}

/** Like `breaksOf`, with the constraints that were skipped. */
export function breaksAndSkipped(
  document: OpenApiDocument,
  validators: Validators,
  schema: JsonObject,
  value: unknown,
  direction: Direction = 'request',
  { limit = 2000 }: BreakOptions = {},
): { readonly breaks: Break[]; readonly skipped: Skipped[] } {
  const breaks: Break[] = [];
  const skipped: Skipped[] = [];
  const values = new Values(document, validators);
  const done = new Map<JsonObject | undefined, Set<string>>();
  const isDone = ({ source, keyword, detail, pointer }: Candidate) => {
    const own = done.get(source) ?? new Set<string>();
    done.set(source, own);
    const key = `${keyword} ${detail} ${pointer}`;
    return own.has(key) || own.add(key) === undefined;
  };
  for (const spot of values.spots(schema, value, direction)) {
    if (breaks.length >= limit) break;
    const skip = (keyword: string, source: JsonObject | undefined, reason: string) =>
      skipped.push({ keyword, pointer: spot.pointer, place: placeOf(document, source, keyword), reason });
    const breaking = { document, values, direction, spot, subject: subjectOf(spot.pointer), skip };
    for (const candidate of candidatesOf(breaking)) {
      if (breaks.length >= limit || isDone(candidate)) continue;
      const { keyword, pointer, source } = candidate;
      const found = confirmed(validators, schema, direction, spot, candidate);
      if (found === undefined) continue;
      const place = placeOf(document, source, keyword);
      breaks.push({ keyword, pointer, place, value: spot.write(found.part), note: candidate.note(found.part) });
    }
  }
  return { breaks, skipped };
}

export function placeOf(document: OpenApiDocument, source: JsonObject | undefined, keyword: string): Place | undefined {
  if (source === undefined) return undefined;
  return source[keyword] === undefined ? document.placeOf(source) : document.placeOf(source, keyword);
}

/** Formats a pointer for display: `items[0].name`. */
export function subjectOf(pointer: string): string {
  if (pointer === '') return 'the value';
  return pointer
    .slice(1)
    .split('/')
    .map(unescapeSegment)
    .reduce((text, part) => (/^\d+$/.test(part) ? `${text}[${part}]` : text === '' ? part : `${text}.${part}`), '');
}

/** The schema of a shape that has a keyword. */
export function sourceOf(shape: Shape, keyword: string, value?: unknown): JsonObject | undefined {
  const sources = shape.sources.filter((source) => source[keyword] !== undefined);
  return sources.find((source) => value === undefined || isSame(source[keyword], value)) ?? sources[0];
}

const composites = new Set(['oneOf', 'anyOf', 'not', 'if', 'contains', 'unevaluatedProperties', 'unevaluatedItems']);

/** The first part that violates the candidate's keyword, preferably nothing else. */
function confirmed(
  validators: Validators,
  schema: JsonObject,
  direction: Direction,
  spot: Spot,
  candidate: Candidate,
): { readonly part: unknown } | undefined {
  let second: { part: unknown } | undefined;
  let tries = 0;
  for (const part of candidate.parts) {
    tries += 1;
    if (tries > 24) break;
    const breaches = validators.breaches(schema, spot.write(part), direction);
    if (breaches.length === 0 || !breaches.every((breach) => isExplained(breach, candidate.pointer, breaches)))
      continue;
    const names = breaches.filter(({ pointer }) => isAt(pointer, candidate.pointer)).map(({ keyword }) => keyword);
    if (candidate.isComposite !== true && !names.includes(candidate.keyword)) continue;
    if (names.every((name) => name === candidate.keyword || composites.has(name))) return { part };
    second ??= { part };
  }
  return second;
}

/** The validator does not escape property names in pointers. */
function isAt(pointer: string, expected: string): boolean {
  return pointer === expected || pointer === expected.replace(/[^/]*$/, unescapeSegment);
}

function isExplained(breach: Breach, pointer: string, breaches: readonly Breach[]): boolean {
  if (isAt(breach.pointer, pointer) || breach.pointer.startsWith(`${pointer}/`)) return true;
  if (composites.has(breach.keyword) && isAbove(breach.pointer, pointer)) return true;
  // Errors of branches that do not apply.
  return breaches.some(
    (other) =>
      composites.has(other.keyword) &&
      isAbove(other.pointer, pointer) &&
      (breach.pointer === other.pointer || breach.pointer.startsWith(`${other.pointer}/`)),
  );
}

function isAbove(pointer: string, other: string): boolean {
  // The validator reports unevaluated properties at the parent of their branch.
  return pointer === '' || pointer === other || other.startsWith(`${pointer}/`);
}

function* candidatesOf(breaking: Breaking): Generator<Candidate> {
  const { value } = breaking.spot;
  yield* typeBreaks(breaking);
  yield* enumBreaks(breaking);
  if (typeof value === 'string') yield* textBreaks(breaking);
  if (typeof value === 'number') yield* numberBreaks(breaking);
  if (Array.isArray(value)) yield* listBreaks(breaking, value);
  if (isObject(value)) yield* objectBreaks(breaking, value);
  yield* branchBreaks(breaking);
}

const article: Readonly<Record<TypeName, string>> = {
  null: 'null',
  boolean: 'a boolean',
  integer: 'an integer',
  number: 'a number',
  string: 'a string',
  array: 'an array',
  object: 'an object',
};

function typed(part: unknown): string {
  return part === null ? 'null' : `${article[typeOf(part)]} (${shortened(part)})`;
}

function* typeBreaks({ spot, subject }: Breaking): Generator<Candidate> {
  const { shape, value, pointer } = spot;
  const source = shape.sources.find(({ type }) => type !== undefined);
  if (source === undefined) return;
  const wrong: [detail: string, parts: unknown[]][] = [];
  const allows = (type: TypeName) => shape.types.has(type);
  if (allows('integer')) {
    wrong.push(['digits', [typeof value === 'number' ? String(value) : '12']], ['boolean', [true]]);
    const whole = typeof value === 'number' ? value : 1;
    if (!allows('number')) wrong.push(['fraction', [whole + 0.5, whole - 0.5]]);
  }
  if (allows('boolean')) wrong.push(['text', ['true']], ['number', [1]]);
  if (allows('string')) {
    wrong.push(['number', [12]], ['boolean', [true]], ['list', [[value]]]);
  }
  if (allows('array')) {
    const [first = 'text'] = Array.isArray(value) ? value : [];
    wrong.push(['object', [{}]], ['single', [Array.isArray(first) ? 'text' : first]]);
  }
  if (allows('object')) wrong.push(['list', [[value]]], ['text', ['text']]);
  wrong.push(['null', [null]]);
  const expected = [...shape.types]
    .filter((type) => type !== 'integer' || !shape.types.has('number'))
    .map((type) => article[type])
    .join(' or ');
  for (const [detail, parts] of wrong) {
    const others = parts.filter((part) => !allows(typeOf(part)));
    if (others.length === 0) continue;
    const note = (part: unknown) => `${subject} is ${typed(part)}, not ${expected}`;
    yield { keyword: 'type', source, detail, pointer, parts: others, note };
  }
}

function* enumBreaks({ spot, subject }: Breaking): Generator<Candidate> {
  const { shape, pointer } = spot;
  for (const source of shape.sources) {
    const isConst = 'const' in source;
    const members = isConst ? [source.const] : Array.isArray(source.enum) ? source.enum : [];
    if (members.length === 0) continue;
    const keyword = isConst ? 'const' : 'enum';
    const note = (part: unknown) => `${subject} is ${shortened(part)}, which is not in the ${keyword}`;
    const isOther = (part: unknown) => !members.some((member) => isSame(member, part));
    const texts = members.filter((member) => typeof member === 'string');
    const [text] = texts;
    const candidate = { keyword, source, pointer, note };
    if (text !== undefined) {
      const swapped = texts.map(swapCase).filter((part, index) => part !== texts[index] && isOther(part));
      yield { ...candidate, detail: 'case', parts: swapped.slice(0, 3) };
      yield {
        ...candidate,
        detail: 'unknown',
        parts: ['NO_SUCH_VALUE', 'no-such-value', `${text}${text}`].filter(isOther),
      };
      yield { ...candidate, detail: 'empty', parts: [''].filter(isOther) };
    }
    const numbers = members.filter((member) => typeof member === 'number');
    if (numbers.length > 0) {
      yield {
        ...candidate,
        detail: 'next',
        parts: [Math.max(...numbers) + 1, Math.min(...numbers) - 1].filter(isOther),
      };
    }
    if (members.some((member) => typeof member === 'boolean')) {
      yield { ...candidate, detail: 'boolean', parts: [true, false].filter(isOther) };
    }
    if (members.some((member) => typeof member === 'object' && member !== null)) {
      yield { ...candidate, detail: 'composite', parts: [{}, [], { [unknownName]: 1 }].filter(isOther) };
    }
  }
}

function* textBreaks(breaking: Breaking): Generator<Candidate> {
  const { spot, subject, skip } = breaking;
  const { shape, pointer } = spot;
  const text = String(spot.value);
  const long = (part: unknown) => `${lengthOf(String(part))} character${lengthOf(String(part)) === 1 ? '' : 's'} long`;
  for (const source of shape.sources) {
    if (typeof source.minLength === 'number' && source.minLength > 0) {
      const { minLength } = source;
      const note = (part: unknown) => `${subject} is ${long(part)}, one less than minLength`;
      const parts = lengthened(text, minLength - 1, shape);
      yield { keyword: 'minLength', source, detail: '', pointer, parts, note };
    }
    if (typeof source.maxLength === 'number') {
      const { maxLength } = source;
      if (maxLength + 1 > longest) {
        skip('maxLength', source, `A string of more than ${maxLength} characters is too long to send.`);
        continue;
      }
      const note = (part: unknown) => `${subject} is ${long(part)}, one more than maxLength`;
      yield { keyword: 'maxLength', source, detail: '', pointer, parts: lengthened(text, maxLength + 1, shape), note };
    }
  }
  for (const source of shape.sources) {
    const { pattern, format } = source;
    if (typeof pattern === 'string') {
      const note = (part: unknown) => `${subject} is ${shortened(part)}, which does not match ${pattern}`;
      const others = { ...shape, patterns: shape.patterns.filter((one) => one !== pattern) };
      const mismatches = (parts: readonly string[]) =>
        parts
          .filter((part) => regularExpression(pattern)?.test(part) === false)
          .sort((left, right) => Number(fits(right, others)) - Number(fits(left, others)));
      yield { keyword: 'pattern', source, detail: 'near', pointer, parts: mismatches(nearMisses(text)), note };
      yield { keyword: 'pattern', source, detail: 'ends', pointer, parts: mismatches(edgeVariants(text)), note };
      yield { keyword: 'pattern', source, detail: 'inside', pointer, parts: mismatches(spaced(text)), note };
      yield { keyword: 'pattern', source, detail: 'digit', pointer, parts: mismatches(others09(text)), note };
      yield { keyword: 'pattern', source, detail: 'letter', pointer, parts: mismatches(othersAz(text)), note };
      yield {
        keyword: 'pattern',
        source,
        detail: 'far',
        pointer,
        parts: mismatches(distantMismatches(text, shape)),
        note,
      };
    }
    if (typeof format === 'string') {
      const note = (part: unknown) => `${subject} is ${shortened(part)}, which is not a valid ${format}`;
      for (const wrong of wrongFormats[format] ?? []) {
        yield { keyword: 'format', source, detail: String(wrong), pointer, parts: [wrong], note };
      }
    }
  }
}

/** The text with another length, in several variants. */
function* lengthened(text: string, length: number, shape: Shape): Generator<string> {
  const extended = stretch(text, length, shape);
  if (extended !== undefined) yield extended;
  const points = [...text];
  if (length <= points.length) {
    yield points.slice(0, length).join('');
    yield points.slice(points.length - length).join('');
    yield 'a'.repeat(length);
    yield '1'.repeat(length);
    return;
  }
  const missing = length - points.length;
  // Addresses and host names can be extended in the middle, but not at the end.
  for (const at of [0, 1, Math.floor(points.length / 2), points.length]) {
    yield [...points.slice(0, at), 'a'.repeat(missing), ...points.slice(at)].join('');
  }
  yield `${text}${'/a'.repeat(Math.ceil(missing / 2))}`.slice(0, length);
  yield 'a'.repeat(length);
}

/** The text with a space inside. Surrounding spaces are lost in headers. */
function spaced(text: string): string[] {
  const points = [...text];
  const middle = Math.floor(points.length / 2);
  return [
    [...points.slice(0, middle), ' ', ...points.slice(middle + 1)].join(''),
    [...points.slice(0, middle), ' ', ...points.slice(middle)].join(''),
  ].filter((one) => one.trim() === one && one !== text);
}

function nearMisses(text: string): string[] {
  const points = [...text];
  const swapped = swapCase(text);
  return [
    ...(swapped === text ? [] : [swapped]),
    `${points.slice(0, -1).join('')}!`,
    `!${points.slice(1).join('')}`,
    `${points.slice(0, -1).join('')} `,
    points.slice(0, -1).join(''),
    points.slice(1).join(''),
    `${text}a`,
    `${text}1`,
    text.replace(/\d/, 'x'),
    text.replace(/[a-z]/i, '1'),
  ];
}

/** These match a pattern without anchors. */
function edgeVariants(text: string): string[] {
  return [`${text}\n`, ` ${text}`, `${text} `, `!${text}`, `${text}!`, `${text}é`];
}

/** The text with one digit replaced: a month of 13 also has two digits. */
function others09(text: string): string[] {
  return replacedOnce(text, /\d/, [...'9305']);
}

/** The text with one letter replaced by another of the same case. */
function othersAz(text: string): string[] {
  return [...replacedOnce(text, /[a-z]/, [...'zqg']), ...replacedOnce(text, /[A-Z]/, [...'ZQG'])];
}

function replacedOnce(text: string, which: RegExp, by: readonly string[]): string[] {
  const points = [...text];
  return points.flatMap((point, index) =>
    which.test(point) && index < 40
      ? by.filter((other) => other !== point).map((other) => points.with(index, other).join(''))
      : [],
  );
}

function distantMismatches(text: string, shape: Shape): string[] {
  const length = Math.max(1, Math.min(shape.maxLength, lengthOf(text), 200), Math.min(shape.minLength, 10_000));
  return ['!', '?', 'é', 'x', 'X', '0', ' ', '-'].map((point) => point.repeat(length));
}

const wrongFormats: Readonly<Record<string, readonly (string | number)[]>> = {
  uuid: ['not-a-uuid', '0190b3a4-7c1e-7f3a-9b2d', '0190b3a4-7c1e-7f3a-9b2d-1f2e3d4c5b6g'],
  email: ['no-at-sign.example.com', 'a@', 'a b@example.com'],
  'idn-email': ['no-at-sign.example.com'],
  uri: ['/only/a/path', 'not a uri', 'https://example.com/a b'],
  url: ['not a url'],
  'uri-reference': ['http://[', 'a b', '\\\\server\\share'],
  'uri-template': ['/{unclosed'],
  iri: ['not an iri'],
  ipv4: ['256.0.0.1', '1.2.3', '2001:db8::1'],
  ipv6: ['192.0.2.1', '2001:db8::g', '1:2:3:4:5:6:7'],
  hostname: ['-example.com', 'a_b.example.com', 'exam ple.com'],
  date: ['2024-02-30', '2023-02-29', '24-01-01', '2024-1-1', '01/02/2024', '2024-01-01T00:00:00Z'],
  'date-time': ['2024-02-30T00:00:00Z', '2024-01-01', '2024-01-01T00:00:00', '2024-01-01T25:00:00Z', 'yesterday'],
  time: ['25:00:00Z', '12:60:00Z', '12:00', '12:00:00'],
  duration: ['1 hour', 'P', 'PT', 'P1S'],
  byte: ['not base64!', 'abc'],
  regex: ['[unclosed', '(', '*'],
  'json-pointer': ['no-slash', '/a~2'],
  'relative-json-pointer': ['/a'],
};

const wrongNumbers: Readonly<Record<string, readonly number[]>> = {
  int32: [2 ** 31, -(2 ** 31) - 1],
  int64: [2 ** 63, 1.5],
};

function* numberBreaks(breaking: Breaking): Generator<Candidate> {
  const { spot, subject } = breaking;
  const { shape, pointer } = spot;
  const value = Number(spot.value);
  const step = stepOf(shape, !shape.types.has('number'));
  const away = (bound: number, direction: 1 | -1) => {
    const size = step ?? (Number.isInteger(bound) ? 1 : 0.01);
    const found = Number((bound + direction * size).toPrecision(15));
    return found === bound ? bound + direction * Math.max(Math.abs(bound) * 1e-9, Number.MIN_VALUE) : found;
  };
  const bounds = [
    ['minimum', -1, 'less than'],
    ['maximum', 1, 'more than'],
    ['exclusiveMinimum', -1, 'not more than'],
    ['exclusiveMaximum', 1, 'not less than'],
  ] as const;
  for (const source of shape.sources) {
    for (const [keyword, direction, word] of bounds) {
      const bound = source[keyword];
      if (typeof bound !== 'number') continue;
      const note = (part: unknown) => `${subject} is ${shortened(part)}, ${word} ${keyword} ${bound}`;
      const isExclusive = keyword.startsWith('exclusive');
      const parts = isExclusive ? [bound, away(bound, direction)] : [away(bound, direction), bound + direction * 1000];
      yield { keyword, source, detail: '', pointer, parts, note };
      // A value far outside also reveals a missing check with tolerance.
      yield { keyword, source, detail: 'far', pointer, parts: [farFrom(bound, direction, step)], note };
    }
    if (typeof source.multipleOf === 'number') {
      const size = source.multipleOf;
      const note = (part: unknown) => `${subject} is ${shortened(part)}, which is not a multiple of ${size}`;
      const fractions = [size / 2, -size / 2, size / 10, -size / 10].map((part) =>
        Number((value + part).toPrecision(15)),
      );
      const whole = shape.types.has('number') ? [] : [value + 1, value - 1];
      yield { keyword: 'multipleOf', source, detail: '', pointer, parts: [...whole, ...fractions], note };
    }
    if (typeof source.format === 'string') {
      const { format } = source;
      const note = (part: unknown) => `${subject} is ${shortened(part)}, which is not a valid ${format}`;
      for (const wrong of wrongNumbers[format] ?? []) {
        yield { keyword: 'format', source, detail: String(wrong), pointer, parts: [wrong], note };
      }
    }
  }
}

function farFrom(bound: number, direction: 1 | -1, step: number | undefined): number {
  const size = step ?? 1;
  const far = bound + direction * Math.round(Math.max(1000, Math.abs(bound)) / size) * size;
  return Number(far.toPrecision(15));
}

function* listBreaks(breaking: Breaking, list: readonly unknown[]): Generator<Candidate> {
  const { spot, subject, skip } = breaking;
  const { shape, pointer } = spot;
  const count = (part: unknown) => `${subject} has ${plural(Array.isArray(part) ? part.length : 0, 'item')}`;
  for (const source of shape.sources) {
    const { minItems, maxItems } = source;
    if (typeof minItems === 'number' && minItems > 0) {
      const note = (part: unknown) => `${count(part)}, one less than minItems`;
      const parts = [list.slice(0, minItems - 1), list.slice(list.length - minItems + 1)];
      yield { keyword: 'minItems', source, detail: '', pointer, parts, note };
    }
    if (typeof maxItems === 'number') {
      const note = (part: unknown) => `${count(part)}, one more than maxItems`;
      if (isTooLarge(list, maxItems + 1)) {
        skip('maxItems', source, `A list of more than ${maxItems} items is too long to send.`);
      } else {
        const parts = lists(breaking, list, maxItems + 1);
        yield { keyword: 'maxItems', source, detail: '', pointer, parts, note };
      }
    }
    if (source.uniqueItems === true) {
      const note = () => `two items of ${subject} are the same`;
      yield { keyword: 'uniqueItems', source, detail: '', pointer, parts: twins(breaking, list), note };
    }
    for (const keyword of ['items', 'unevaluatedItems', 'additionalItems']) {
      if (source[keyword] !== false) continue;
      const note = () => `${subject} has more items than prefixItems`;
      const parts = ['more', 1].map((item) => [...list, item]);
      yield { keyword, source, detail: '', pointer, parts, note, isComposite: true };
    }
  }
  for (const { schema, source, least, most } of shape.contains) {
    const isContained = (item: unknown) => breaking.values.accepts(schema, item, breaking.direction);
    if (least > 0) {
      const note = () => `too few items of ${subject} match contains`;
      const none = list.filter((item) => !isContained(item));
      const other = lists(breaking, none, Math.max(1, shape.minItems), (item) => !isContained(item));
      yield { keyword: 'contains', source, detail: '', pointer, parts: [none, ...other], note, isComposite: true };
    }
    const sample = list.find(isContained);
    if (Number.isFinite(most) && sample !== undefined) {
      const note = () => `more items of ${subject} match contains than maxContains allows`;
      const parts = [[...list, ...Array<unknown>(most).fill(sample)]];
      yield { keyword: 'maxContains', source, detail: '', pointer, parts, note, isComposite: true };
    }
  }
}

/** Whether a list of this length is too large to send. */
export function isTooLarge(list: readonly unknown[], length: number): boolean {
  const size = list.length === 0 ? 20 : JSON.stringify(list[0]).length + 1;
  return length > itemLimit || length * size > 2 * longest;
}

/** The list with another length. */
export function* lists(
  { values, direction, spot }: Pick<Breaking, 'values' | 'direction' | 'spot'>,
  list: readonly unknown[],
  length: number,
  isExpected: (item: unknown) => boolean = () => true,
): Generator<unknown[]> {
  const { shape } = spot;
  for (const extent of ['least', 'some'] as const) {
    const longer: unknown[] = list.slice(0, length);
    const known = new Set(shape.uniqueItems ? longer.map((item) => JSON.stringify(item)) : []);
    for (let attempt = 0; longer.length < length && attempt < length + 200; attempt += 1) {
      const schemas = shape.prefixItems[longer.length] ?? shape.items ?? [];
      const isCopied = !shape.uniqueItems && longer.length > 0 && shape.prefixItems.length === 0;
      const item = isCopied ? longer.at(-1) : values.generate(schemas, direction, extent, attempt, spot.name);
      const text = shape.uniqueItems ? JSON.stringify(item) : '';
      if ((shape.uniqueItems && known.has(text)) || !isExpected(item)) continue;
      known.add(text);
      longer.push(item);
    }
    if (longer.length === length) yield longer;
  }
}

function* twins(breaking: Breaking, list: readonly unknown[]): Generator<unknown[]> {
  const { shape } = breaking.spot;
  const [first] = list;
  if (list.length > 0) {
    if (list.length < shape.maxItems) yield [...list, first];
    yield [first, first, ...list.slice(2)];
  }
  for (const [item] of lists(breaking, [], 1)) {
    const twin = isObject(item) ? objectOf(Object.entries(item).reverse()) : item;
    yield [item, twin];
  }
}

function* objectBreaks(breaking: Breaking, object: JsonObject): Generator<Candidate> {
  const { spot, subject, document, direction } = breaking;
  const { shape, pointer } = spot;
  const at = (name: string) => `${pointer}/${escapeSegment(name)}`;
  const named = (name: string) => (pointer === '' ? name : `${subject}.${name}`);
  const isOurs = (name: string) => !isForeign(shapeOf(document, ...(memberSchemas(shape, name) ?? [])), direction);
  for (const source of shape.sources) {
    for (const name of Array.isArray(source.required) ? source.required : []) {
      if (typeof name !== 'string' || !Object.hasOwn(object, name) || !isOurs(name)) continue;
      const note = () => `${named(name)} is missing`;
      const parts = [withoutMember(object, name)];
      yield { keyword: 'required', source, detail: name, pointer: at(name), parts, note };
    }
    for (const keyword of ['additionalProperties', 'unevaluatedProperties']) {
      if (source[keyword] !== false) continue;
      const note = () => `${named(unknownName)} is not in the contract`;
      const [first] = Object.keys(object);
      const instead = first === undefined ? [] : [withMember(withoutMember(object, first), unknownName, 'unknown')];
      const parts = [withMember(object, unknownName, 'unknown'), ...instead];
      yield { keyword, source, detail: '', pointer: at(unknownName), parts, note };
    }
    yield* countBreaks(breaking, object, source);
    if (isObject(source.dependentRequired)) {
      for (const [name, list] of Object.entries(source.dependentRequired)) {
        const all = Array.isArray(list) ? list.filter((one) => typeof one === 'string') : [];
        for (const needed of all) {
          const note = () => `${named(needed)} is missing, but ${name} requires it`;
          const parts = [withoutMember(withWhole(breaking, object, [name, ...all]), needed)];
          yield { keyword: 'dependentRequired', source, detail: `${name} ${needed}`, pointer: at(needed), parts, note };
        }
      }
    }
    if (source.propertyNames !== undefined) {
      const [sample = 'text'] = Object.values(object);
      const note = () => `a property name in ${subject} does not match propertyNames`;
      const names = ['', ' ', '!', 'not a name', 'NOT', 'not', '0', 'x'.repeat(300)];
      const parts = names.map((name) => withMember(object, name, sample));
      yield { keyword: 'propertyNames', source, detail: '', pointer, parts, note, isComposite: true };
    }
  }
  for (const { propertyName, source } of shape.discriminators) {
    if (!Object.hasOwn(object, propertyName)) continue;
    const note = () => `${named(propertyName)} has an unknown value`;
    const parts = [withMember(object, propertyName, 'NoSuchKind')];
    yield { keyword: 'discriminator', source, detail: '', pointer: at(propertyName), parts, note, isComposite: true };
  }
}

function* countBreaks(breaking: Breaking, object: JsonObject, source: JsonObject): Generator<Candidate> {
  const { spot, subject } = breaking;
  const { shape, pointer } = spot;
  const { minProperties, maxProperties } = source;
  const has = (part: unknown) => `${subject} has ${plural(Object.keys(Object(part)).length, 'property', 'properties')}`;
  if (typeof minProperties === 'number' && minProperties > 0) {
    const needed = Object.keys(object).filter((name) => shape.required.has(name));
    const others = Object.keys(object).filter((name) => !shape.required.has(name));
    const kept = [...needed, ...others].slice(0, minProperties - 1);
    const parts = [objectOf(kept.map((name) => [name, object[name]]))];
    const note = (part: unknown) => `${has(part)}, one less than minProperties`;
    yield { keyword: 'minProperties', source, detail: '', pointer, parts, note };
  }
  if (typeof maxProperties === 'number' && maxProperties < itemLimit) {
    const note = (part: unknown) => `${has(part)}, one more than maxProperties`;
    const parts = [widened(breaking, object, maxProperties + 1)].filter((part) => part !== undefined);
    yield { keyword: 'maxProperties', source, detail: '', pointer, parts, note };
  }
}

/** The object with at least these properties. */
function withWhole({ values, direction, spot }: Breaking, object: JsonObject, names: readonly unknown[]): JsonObject {
  const missing = names.filter((name) => typeof name === 'string').filter((name) => !Object.hasOwn(object, name));
  return missing.reduce((whole, name) => {
    const schemas = memberSchemas(spot.shape, name);
    return schemas === undefined
      ? whole
      : withMember(whole, name, values.generate(schemas, direction, 'least', 1, name));
  }, object);
}

/** The object with a number of properties; undefined if that is impossible. */
export function widened(
  { values, direction, spot, document }: Pick<Breaking, 'values' | 'direction' | 'spot' | 'document'>,
  object: JsonObject,
  size: number,
): JsonObject | undefined {
  const { shape } = spot;
  const members = new Map(Object.entries(object));
  const add = (name: string) => {
    const schemas = memberSchemas(shape, name);
    if (members.size >= size || members.has(name) || schemas === undefined || schemas.includes(nothing)) return;
    if (isForeign(shapeOf(document, ...schemas), direction)) return;
    members.set(name, values.generate(schemas, direction, 'least', members.size, name));
  };
  for (const name of shape.properties.keys()) add(name);
  for (let attempt = 0; members.size < size && attempt < 2 * size + 20; attempt += 1) {
    const name = values.key(shape, attempt);
    if (name === undefined) break;
    add(name);
  }
  return members.size === size ? objectOf(members) : undefined;
}

function* branchBreaks(breaking: Breaking): Generator<Candidate> {
  const { spot, subject, values, direction } = breaking;
  const { shape, pointer } = spot;
  for (const choice of shape.choices) {
    if (choice.keyword === 'if') continue;
    const { keyword, source, branches } = choice;
    const none = () => `${subject} matches no branch of ${keyword}`;
    const outside = (function* () {
      for (const part of outsiders(breaking, branches)) {
        if (!branches.some((schemas) => schemas.every((schema) => values.accepts(schema, part, direction)))) yield part;
      }
    })();
    yield { keyword, source, detail: 'none', pointer, parts: outside, note: none, isComposite: true };
    if (keyword === 'anyOf') continue;
    const base = shape.sources.filter((one) => !branches.some((schemas) => schemas.includes(one)));
    const both = (function* () {
      for (const [index, left] of branches.entries()) {
        for (const right of branches.slice(index + 1, index + 4)) {
          const created = values.generate([...base, ...left, ...right], direction, 'least', index, spot.name);
          const isBoth = [...left, ...right].every((schema) => values.accepts(schema, created, direction));
          if (isBoth) yield isObject(created) && isObject(spot.value) ? { ...spot.value, ...created } : created;
        }
      }
    })();
    const two = () => `${subject} matches more than one branch of oneOf`;
    yield { keyword, source, detail: 'two', pointer, parts: both, note: two, isComposite: true };
  }
  for (const source of shape.sources) {
    if (!isObject(source.not) || source === nothing) continue;
    const excluded = source.not;
    const parts = (function* () {
      for (let seed = 0; seed < 4; seed += 1) {
        for (const extent of ['least', 'some', 'most'] as const) {
          const created = values.generate([...shape.sources, excluded], direction, extent, seed, spot.name);
          yield isObject(created) && isObject(spot.value) ? { ...spot.value, ...created } : created;
          yield created;
        }
      }
    })();
    const note = () => `${subject} matches \`not\``;
    yield { keyword: 'not', source, detail: '', pointer, parts, note, isComposite: true };
  }
}

/** Values that may match no branch. Values of the wrong type come last, because they violate more. */
function* outsiders({ spot, document }: Breaking, branches: readonly (readonly JsonObject[])[]): Generator<unknown> {
  const { value } = spot;
  if (isObject(value)) {
    const named = new Set(branches.flatMap((schemas) => [...shapeOf(document, ...schemas).required]));
    yield objectOf(Object.entries(value).filter(([name]) => !named.has(name)));
    for (const name of named) yield withoutMember(value, name);
    yield {};
  }
  if (typeof value === 'string') {
    yield swapCase(value);
    yield 'NO_SUCH_VALUE';
    yield '';
  }
  if (typeof value === 'number') yield value + 0.5;
  yield* ['NO_SUCH_VALUE', 12, true, null, [], {}, { [unknownName]: 1 }];
}

function swapCase(text: string): string {
  const lower = text.toLowerCase();
  return lower === text ? text.toUpperCase() : lower;
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}

export function shortened(part: unknown): string {
  const text = JSON.stringify(part) ?? 'nothing';
  return text.length > 60 ? `${text.slice(0, 57)}…` : text;
}
