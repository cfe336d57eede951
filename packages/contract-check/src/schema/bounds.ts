import type { OpenApiDocument, Place } from '../document/document.ts';
import { escapeSegment, isObject, type JsonObject } from '../json.ts';
import { type Break, isTooLarge, lists, placeOf, plural, shortened, sourceOf, subjectOf, widened } from './breaks.ts';
import { likelyTypes, type Shape } from './shape.ts';
import type { Direction, Validators } from './validators.ts';
import {
  isSame,
  lengthOf,
  multiple,
  objectOf,
  rangeOf,
  type Spot,
  stretch,
  type Values,
  withMember,
  withoutMember,
} from './values.ts';

export interface Bound extends Break {
  /** The same value with an ordinary value in this place; undefined if there is none. */
  readonly neighbour: unknown;
  /** The chosen `enum` value or branch number; undefined for other keywords. */
  readonly chosen: unknown;
}

interface Candidate {
  readonly keyword: string;
  readonly source: JsonObject | undefined;
  readonly place?: Place | undefined;
  readonly detail: string;
  readonly pointer: string;
  /** Values for the spot, best first. */
  readonly parts: Iterable<unknown>;
  /** The whole value, if it is not the spot that changes. */
  readonly whole?: unknown;
  readonly chosen?: unknown;
  readonly note: (part: unknown) => string;
}

interface Bounding {
  readonly document: OpenApiDocument;
  readonly values: Values;
  readonly direction: Direction;
  readonly spot: Spot;
  readonly subject: string;
}

/** Longer values test the server's limit on bodies instead of the constraint. */
const longest = 200_000;

/** Valid boundary values for every constraint that applies or could apply to the value. */
export function boundsOf(
  document: OpenApiDocument,
  validators: Validators,
  values: Values,
  schema: JsonObject,
  value: unknown,
  direction: Direction = 'request',
  { limit = 2000 }: { readonly limit?: number } = {},
): Bound[] {
  const bounds: Bound[] = [];
  const done = new Map<JsonObject | undefined, Set<string>>();
  const isDone = ({ source, keyword, detail, pointer }: Candidate) => {
    const own = done.get(source) ?? new Set<string>();
    done.set(source, own);
    const key = `${keyword} ${detail} ${pointer}`;
    return own.has(key) || own.add(key) === undefined;
  };
  for (const spot of values.spots(schema, value, direction)) {
    const subject = subjectOf(spot.pointer);
    let known: { readonly other: unknown } | undefined;
    const other = () => {
      known ??= { other: otherThan(validators, values, schema, direction, spot) };
      return known.other;
    };
    for (const candidate of candidatesOf({ document, values, direction, spot, subject })) {
      if (bounds.length >= limit) return bounds;
      if (isDone(candidate)) continue;
      const found = accepted(validators, schema, direction, spot, candidate);
      if (found === undefined) continue;
      const { keyword, source, pointer, chosen } = candidate;
      bounds.push({
        keyword,
        pointer,
        place: candidate.place ?? placeOf(document, source, keyword) ?? nearest(document, spot),
        value: found.whole,
        note: candidate.note(found.part),
        neighbour: isSame(found.part, spot.value) ? other() : spot.whole,
        chosen,
      });
    }
  }
  return bounds;
}

/** The nearest place in the contract for a property without keywords. */
function nearest(document: OpenApiDocument, { shape }: Spot): Bound['place'] {
  return shape.sources.map((source) => document.placeOf(source)).find((place) => place !== undefined);
}

function accepted(
  validators: Validators,
  schema: JsonObject,
  direction: Direction,
  spot: Spot,
  candidate: Candidate,
): { readonly part: unknown; readonly whole: unknown } | undefined {
  let tries = 0;
  for (const part of candidate.parts) {
    tries += 1;
    if (tries > 8) return undefined;
    const whole = 'whole' in candidate ? candidate.whole : spot.write(part);
    if (validators.accepts(schema, whole, direction)) return { part, whole };
  }
  return undefined;
}

/** The value with another value at the spot. */
function otherThan(
  validators: Validators,
  values: Values,
  schema: JsonObject,
  direction: Direction,
  spot: Spot,
): unknown {
  for (let seed = 0; seed < 3; seed += 1) {
    const part = values.generate(spot.schemas, direction, 'some', seed, spot.name);
    if (isSame(part, spot.value)) continue;
    const other = spot.write(part);
    if (validators.accepts(schema, other, direction)) return other;
  }
  return undefined;
}

function* candidatesOf(bounding: Bounding): Generator<Candidate> {
  const { spot } = bounding;
  const { value, shape } = spot;
  yield* presenceBounds(bounding);
  yield* branchBounds(bounding);
  yield* enumBounds(bounding);
  if (shape.enum !== undefined) return;
  if (typeof value === 'string') yield* textBounds(bounding, value);
  if (typeof value === 'number') yield* numberBounds(bounding, value);
  if (typeof value === 'boolean') yield* booleanBounds(bounding);
  if (Array.isArray(value)) yield* listBounds(bounding, value);
  if (isObject(value)) yield* objectBounds(bounding, value);
}

/** Present, absent, null, and the default sent explicitly. */
function* presenceBounds({ spot, subject, document }: Bounding): Generator<Candidate> {
  const { shape, pointer, value, omit } = spot;
  const defaulted = shape.sources.find((one) => 'default' in one);
  if (defaulted !== undefined) {
    const note = (part: unknown) => `${subject} is ${shortened(part)}, its default`;
    yield { keyword: 'default', source: defaulted, detail: '', pointer, parts: [defaulted.default], note };
  }
  const source = shape.sources.find(({ type }) => type !== undefined);
  if (pointer !== '' && value !== null) {
    const note = () => `${subject} is present`;
    yield { keyword: 'type', source, detail: 'present', pointer, parts: [value], note };
  }
  if (omit !== undefined) {
    const [first] = shape.sources;
    const place = first === undefined ? undefined : document.placeOf(first);
    const note = () => `${subject} is omitted, and is not required`;
    yield {
      keyword: 'required',
      source: first,
      place,
      detail: 'absent',
      pointer,
      parts: [undefined],
      whole: omit(),
      note,
    };
  }
  const types = likelyTypes(shape);
  if (shape.enum === undefined && types.includes('null')) {
    const note = () => `${subject} is null`;
    yield { keyword: 'type', source, detail: 'null', pointer, parts: [null], note };
  }
  // A value of each allowed type.
  for (const type of types.length < 5 ? types : []) {
    const ordinary = { string: 'text', boolean: true, integer: 1, number: 1.5, array: [], object: {}, null: null }[
      type
    ];
    const note = (part: unknown) => `${subject} is ${shortened(part)}`;
    if (types.length > 2 || (types.length === 2 && !types.includes('null'))) {
      yield { keyword: 'type', source, detail: type, pointer, parts: [ordinary], note };
    }
  }
}

function* branchBounds({ spot, subject, document }: Bounding): Generator<Candidate> {
  for (const { choice, branch } of spot.matched) {
    const { keyword, source } = choice;
    if (keyword === 'if') continue;
    const list = source[keyword];
    const place = Array.isArray(list) ? document.placeOf(list, String(branch)) : undefined;
    const note = () => `${subject} matches branch ${branch + 1} of ${keyword}`;
    const { pointer, value } = spot;
    yield { keyword, source, place, detail: String(branch), pointer, parts: [value], chosen: branch, note };
  }
}

function* enumBounds({ spot, subject }: Bounding): Generator<Candidate> {
  const { shape, pointer } = spot;
  const source = sourceOf(shape, 'enum') ?? shape.sources.find((one) => 'const' in one);
  const keyword = source !== undefined && 'enum' in source ? 'enum' : 'const';
  for (const member of shape.enum ?? []) {
    const note = () => `${subject} is ${shortened(member)}, one of the ${keyword}`;
    yield { keyword, source, detail: JSON.stringify(member), pointer, parts: [member], chosen: member, note };
  }
}

function* booleanBounds({ spot, subject }: Bounding): Generator<Candidate> {
  const source = sourceOf(spot.shape, 'type');
  for (const member of [true, false]) {
    const note = () => `${subject} is ${member}`;
    yield { keyword: 'type', source, detail: String(member), pointer: spot.pointer, parts: [member], note };
  }
}

function* textBounds({ spot, subject }: Bounding, text: string): Generator<Candidate> {
  const { shape, pointer } = spot;
  const long = (part: unknown) => plural(lengthOf(String(part)), 'character');
  const isFree = shape.patterns.length === 0 && shape.format === undefined;
  if (shape.minLength > 0 && shape.minLength <= longest) {
    const source = sourceOf(shape, 'minLength', shape.minLength);
    const note = (part: unknown) => `${subject} has ${long(part)}, exactly minLength`;
    const parts = resized(text, shape.minLength, shape);
    yield { keyword: 'minLength', source, detail: '', pointer, parts, note };
  } else {
    const note = () => `${subject} is empty`;
    yield { keyword: 'type', source: sourceOf(shape, 'type'), detail: 'empty', pointer, parts: [''], note };
  }
  if (shape.maxLength <= longest && shape.maxLength > 0) {
    const source = sourceOf(shape, 'maxLength', shape.maxLength);
    const note = (part: unknown) => `${subject} has ${long(part)}, exactly maxLength`;
    const parts = resized(text, shape.maxLength, shape);
    yield { keyword: 'maxLength', source, detail: '', pointer, parts, note };
    if (isFree) {
      const astral = ['😀'.repeat(shape.maxLength)];
      const twoUnits = (part: unknown) => `${note(part)}, each of two UTF-16 units`;
      yield { keyword: 'maxLength', source, detail: 'astral', pointer, parts: astral, note: twoUnits };
    }
  }
  for (const extreme of shape.format === undefined ? [] : (extremes[shape.format] ?? [])) {
    const note = () => `${subject} is ${shortened(extreme)}, a ${shape.format}`;
    yield { keyword: 'format', source: sourceOf(shape, 'format'), detail: extreme, pointer, parts: [extreme], note };
  }
  // RFC 3339 allows lower case, but not every server must accept it. A pattern can require it.
  if (shape.format === 'date-time' && shape.patterns.length > 0) {
    const lower = text.toLowerCase();
    const note = () => `${subject} is ${shortened(lower)}, in lower case as its pattern allows`;
    yield { keyword: 'pattern', source: sourceOf(shape, 'pattern'), detail: 'lower', pointer, parts: [lower], note };
  }
}

/** The text with another length, in several variants. */
function* resized(text: string, length: number, shape: Shape): Generator<string> {
  if (shape.format === 'email' && length > 10) yield longEmail(length);
  const extended = stretch(text, length, shape);
  if (extended !== undefined) yield extended;
  const points = [...text];
  const missing = length - points.length;
  if (missing > 0) {
    yield `${'a'.repeat(missing)}${text}`;
    yield [points[0] ?? '', 'a'.repeat(missing), ...points.slice(1)].join('');
    if (shape.format === 'uri') yield `https://example.com/${'a'.repeat(Math.max(0, length - 20))}`;
  } else {
    yield points.slice(0, length).join('');
    if (shape.format === 'email') yield 'a@b.co'.slice(0, length);
    if (shape.format?.startsWith('uri')) yield* ['a:b', 'urn:a:b', '/a', 'a'].filter((one) => one.length === length);
  }
  yield* ['a', 'A', '1'].map((point) => point.repeat(length));
}

/** An email address whose local part and labels have at most 64 and 63 characters, as SMTP and DNS require. */
function longEmail(length: number): string {
  const local = 'a'.repeat(Math.min(64, Math.max(1, length - 6)));
  const host = length - local.length - '@.com'.length;
  const labels = Array.from({ length: Math.max(0, host) }, (_, index) =>
    index % 60 === 59 && index < host - 1 ? '.' : 'b',
  );
  return `${local}@${labels.join('')}.com`;
}

const extremes: Readonly<Record<string, readonly string[]>> = {
  date: ['2024-02-29', '2000-02-29', '1970-01-01', '2024-12-31', '2038-01-20'],
  'date-time': [
    '2024-02-29T23:59:59Z',
    '2024-06-30T12:00:00+14:00',
    '2024-06-30T12:00:00-12:00',
    '2024-06-30T12:00:00.123Z',
    '2024-06-30T12:00:00.1Z',
    '2038-01-20T00:00:00Z',
  ],
  time: ['00:00:00Z', '23:59:59Z', '12:00:00+14:00', '12:00:00.123Z'],
  duration: ['PT0S', 'P1Y2M3DT4H5M6S', 'P1W'],
  email: ['a@example.com', 'first.last+tag@example.co.uk', "o'neil@example.com"],
  uuid: ['ffffffff-ffff-4fff-bfff-ffffffffffff'],
  uri: ['https://example.com', 'https://user@example.com:8443/a%20b?x=1&y=2#z', 'urn:isbn:0451450523'],
  'uri-reference': ['/a/b?x=1#y', '../a', '#a'],
  ipv4: ['0.0.0.0', '255.255.255.255'],
  ipv6: ['::', '::1', '::ffff:192.0.2.1', '2001:db8:0:0:0:0:0:1'],
  hostname: ['localhost', `${'a'.repeat(63)}.example.com`, 'xn--bcher-kva.example'],
  byte: ['AA==', 'AAA=', 'AAAA', '+/+/'],
  'json-pointer': ['', '/a~1b/~0'],
  regex: ['.*', '^\\d{2,3}$'],
};

function* numberBounds({ spot, subject }: Bounding, value: number): Generator<Candidate> {
  const { shape, pointer } = spot;
  const isWhole = !shape.types.has('number');
  const { low, high, step } = rangeOf(shape, isWhole);
  const ends = [
    [low, shape.exclusiveMinimum, shape.minimum, 'exclusiveMinimum', 'minimum', 'least'],
    [high, shape.exclusiveMaximum, shape.maximum, 'exclusiveMaximum', 'maximum', 'greatest'],
  ] as const;
  for (const [end, exclusive, inclusive, exclusiveKeyword, inclusiveKeyword, word] of ends) {
    if (end === undefined) continue;
    const isExclusive =
      exclusive !== undefined &&
      (inclusive === undefined || (word === 'least' ? exclusive >= inclusive : exclusive <= inclusive));
    const keyword = isExclusive ? exclusiveKeyword : inclusive === undefined ? 'format' : inclusiveKeyword;
    const source = sourceOf(shape, keyword, isExclusive ? exclusive : inclusive);
    const note = (part: unknown) => `${subject} is ${shortened(part)}, the ${word} that ${keyword} allows`;
    yield { keyword, source, detail: word, pointer, parts: [end], note };
  }
  for (const size of shape.multiplesOf) {
    const source = sourceOf(shape, 'multipleOf', size);
    const times = Math.round(value / size);
    const note = (part: unknown) => `${subject} is ${shortened(part)}, a multiple of ${size}`;
    const parts = [
      multiple(size, times + 1),
      multiple(size, times - 1),
      multiple(size, 1),
      ...(low === undefined ? [] : [low + (step ?? size)]),
    ];
    yield { keyword: 'multipleOf', source, detail: '', pointer, parts, note };
  }
  const source = sourceOf(shape, 'type');
  const note = (part: unknown) => `${subject} is ${shortened(part)}`;
  yield { keyword: 'type', source, detail: 'zero', pointer, parts: [0], note };
  if (isWhole) return;
  const fractions = [0.5, Number((value + 0.25).toPrecision(15)), ((low ?? 0) + (high ?? 1)) / 2].filter(
    (one) => !Number.isInteger(one),
  );
  yield { keyword: 'type', source, detail: 'fraction', pointer, parts: fractions, note };
}

function* listBounds(bounding: Bounding, list: readonly unknown[]): Generator<Candidate> {
  const { spot, subject } = bounding;
  const { shape, pointer } = spot;
  const count = (part: unknown) => `${subject} has ${plural(Array.isArray(part) ? part.length : 0, 'item')}`;
  if (shape.minItems > 0 && !isTooLarge(list, shape.minItems)) {
    const source = sourceOf(shape, 'minItems', shape.minItems);
    const parts = lists(bounding, list, shape.minItems);
    yield {
      keyword: 'minItems',
      source,
      detail: '',
      pointer,
      parts,
      note: (part) => `${count(part)}, exactly minItems`,
    };
  } else {
    yield {
      keyword: 'type',
      source: sourceOf(shape, 'type'),
      detail: 'empty',
      pointer,
      parts: [[]],
      note: () => `${subject} is empty`,
    };
  }
  if (Number.isFinite(shape.maxItems) && shape.maxItems > 0 && !isTooLarge(list, shape.maxItems)) {
    const source = sourceOf(shape, 'maxItems', shape.maxItems);
    const parts = lists(bounding, list, shape.maxItems);
    yield {
      keyword: 'maxItems',
      source,
      detail: '',
      pointer,
      parts,
      note: (part) => `${count(part)}, exactly maxItems`,
    };
  }
}

function* objectBounds(bounding: Bounding, object: JsonObject): Generator<Candidate> {
  const { spot, subject, document } = bounding;
  const { shape, pointer } = spot;
  const count = (part: unknown) =>
    `${subject} has ${plural(Object.keys(Object(part)).length, 'property', 'properties')}`;
  const names = Object.keys(object);
  for (const name of names) {
    if (shape.required.has(name)) continue;
    const [member] = shape.properties.get(name) ?? [];
    const note = () => `${pointer === '' ? name : `${subject}.${name}`} is omitted, and is not required`;
    const place = member === undefined ? undefined : document.placeOf(member);
    const at = `${pointer}/${escapeSegment(name)}`;
    // If a minimum number of properties is required, another property replaces the omitted one.
    const wider = names.length > shape.minProperties ? undefined : widened(bounding, object, names.length + 1);
    yield {
      keyword: 'required',
      source: member,
      place,
      detail: 'absent',
      pointer: at,
      parts: [object, ...(isObject(wider) ? [wider] : [])].map((one) => withoutMember(one, name)),
      note,
    };
  }
  const needed = names.filter((name) => shape.required.has(name));
  const others = names.filter((name) => !shape.required.has(name));
  const least = objectOf(
    [...needed, ...others].slice(0, Math.max(needed.length, shape.minProperties)).map((name) => [name, object[name]]),
  );
  if (shape.minProperties > 0) {
    const source = sourceOf(shape, 'minProperties', shape.minProperties);
    yield {
      keyword: 'minProperties',
      source,
      detail: '',
      pointer,
      parts: [least],
      note: (part) => `${count(part)}, exactly minProperties`,
    };
  } else {
    const note = () => `${subject} has only required properties`;
    yield {
      keyword: 'required',
      source: sourceOf(shape, 'required') ?? sourceOf(shape, 'properties'),
      detail: 'least',
      pointer,
      parts: [least],
      note,
    };
  }
  if (shape.maxProperties <= 10_000) {
    const source = sourceOf(shape, 'maxProperties', shape.maxProperties);
    const parts = [widened(bounding, object, shape.maxProperties)].filter((part) => part !== undefined);
    yield {
      keyword: 'maxProperties',
      source,
      detail: '',
      pointer,
      parts,
      note: (part) => `${count(part)}, exactly maxProperties`,
    };
  }
  const open = shape.sources.find(({ additionalProperties }) => additionalProperties === true);
  if (open !== undefined) {
    const note = () => `${subject} has an unknown property, which additionalProperties allows`;
    yield {
      keyword: 'additionalProperties',
      source: open,
      detail: '',
      pointer,
      parts: [withMember(object, 'anotherProperty', 'text')],
      note,
    };
  }
}
