import { memberSchemas, type Shape, shapeOf } from '../document/shape.ts';
import { at, isObject, type JsonObject, jsonText, pointersIn, put, withMember } from '../json.ts';
import type { Candidate } from './candidate.ts';
import type { Spot } from './spots.ts';
import { stretch } from './texts.ts';
import { isTooLarge, type Values } from './values.ts';

/** Values of formats: what is not valid, what is at the limits, and what is at the limits of calendars. */

type Texts = Readonly<Record<string, readonly string[]>>;

export const wrongFormats: Texts = {
  uuid: ['not-a-uuid', '0190b3a4-7c1e-7f3a-9b2d', '0190b3a4-7c1e-7f3a-9b2d-1f2e3d4c5b6g'],
  email: ['no-at-sign.example.com', 'a@', 'a b@example.com'],
  uri: ['/only/a/path', 'not a uri', 'https://example.com/a b'],
  'uri-reference': ['http://[', 'a b', '\\\\server\\share'],
  ipv4: ['256.0.0.1', '1.2.3', '2001:db8::1'],
  ipv6: ['192.0.2.1', '2001:db8::g', '1:2:3:4:5:6:7'],
  hostname: ['-example.com', 'a_b.example.com', 'exam ple.com'],
  date: ['2024-02-30', '2023-02-29', '24-01-01', '2024-1-1', '01/02/2024', '2024-01-01T00:00:00Z'],
  'date-time': ['2024-02-30T00:00:00Z', '2024-01-01', '2024-01-01T00:00:00', '2024-01-01T25:00:00Z', 'yesterday'],
  time: ['25:00:00Z', '12:60:00Z', '12:00', '12:00:00'],
  duration: ['1 hour', 'P', 'PT', 'P1S'],
  byte: ['not base64!', 'abc'],
};

export const wrongNumbers: Readonly<Record<string, readonly number[]>> = {
  int32: [2 ** 31, -(2 ** 31) - 1],
  int64: [2 ** 63, 1.5],
};

export const extremes: Texts = {
  date: ['2024-02-29', '2000-02-29', '1970-01-01', '2024-12-31', '2038-01-20'],
  'date-time': [
    ...['2024-02-29T23:59:59Z', '2024-06-30T12:00:00+14:00', '2024-06-30T12:00:00-12:00'],
    ...['2024-06-30T12:00:00.123Z', '2024-06-30T12:00:00.1Z', '2038-01-20T00:00:00Z'],
  ],
  time: ['00:00:00Z', '23:59:59Z', '12:00:00+14:00', '12:00:00.123Z'],
  duration: ['PT0S', 'P1Y2M3DT4H5M6S', 'P1W'],
  email: ['a@example.com', 'first.last+tag@example.co.uk', "o'neil@example.com"],
  uuid: ['ffffffff-ffff-4fff-bfff-ffffffffffff'],
  uri: ['https://example.com', 'https://user@example.com:8443/a%20b?x=1&y=2#z'],
  'uri-reference': ['/a/b?x=1#y', '../a', '#a'],
  ipv4: ['0.0.0.0', '255.255.255.255'],
  ipv6: ['::', '::1', '::ffff:192.0.2.1', '2001:db8:0:0:0:0:0:1'],
  hostname: ['localhost', `${'a'.repeat(63)}.example.com`, 'xn--bcher-kva.example'],
};

const oddTimes: Texts = {
  date: ['0001-01-01', '1582-10-10', '1900-02-28', '1969-12-31', '9999-12-31'],
  'date-time': [
    ...['0001-01-01T00:00:00Z', '1900-01-01T00:00:00Z', '1969-12-31T23:59:59Z', '9999-12-31T23:59:59Z'],
    ...['2024-06-30T23:59:59.999999999Z', '2024-01-01T00:00:00+14:00', '2024-01-01T00:00:00-12:00'],
  ],
};

const maxTextLength = 100_000;
const maxListLength = 10_000;
const deepest = 50;

/** Number of the first unusual texts that each place of a body gets by itself. */
const maxHarmful = 3;
/** What is handled badly by C, SQL, LIKE, patterns, templates, HTML, shells, headers, encodings and numbers. */
const oddTexts: readonly string[] = [
  ...['\u0000', 'a\u0000b', "' OR '1'='1'; --", '\u202eabc\u202c', '\ud800', '%', '50% off', '../../../../etc/passwd'],
  // biome-ignore lint/suspicious/noTemplateCurlyInString: what a template would replace
  ...[`e${'\u0301'.repeat(50)}`, '\ufeffabc', '👩‍👩‍👧‍👦😀', '${7*7}{{7*7}}<%= 7*7 %>', '<script>alert(1)</script>'],
  ...['__proto__', '_\\%\\', '(a+)+$[', '$(id)`id`', 'a\r\nX-Injected: 1', '\u200d\u200b\u2028\u2029', 'ﷺİßŉ'],
  ...['\uffff\ufdd0', '   ', 'null', '1e309'],
];

const oddNumbers: readonly number[] = [
  ...[2 ** 53, -(2 ** 53), 2 ** 31, 2 ** 63, 1e308, -1e308, 1e-300, -0, 0.1 + 0.2],
];

const oddNames: readonly string[] = [
  ...['__proto__', 'constructor', 'toString', 'hasOwnProperty', '', '\u0000', 'a.b', '$where', 'a[b]'],
  'x'.repeat(5000),
];

/** The value with the same unusual text in every allowed place, once for each text: one request finds a failure. */
export function* hostileEverywhere(values: Values, schema: JsonObject, value: unknown): Iterable<unknown> {
  for (const text of oddTexts) {
    let whole = value;
    for (const pointer of pointersIn(value)) {
      const candidate = typeof at(value, pointer) === 'string' ? put(whole, pointer, text) : whole;
      if (values.accepts(schema, candidate)) whole = candidate;
    }
    if (whole !== value) yield whole;
  }
}

/** Valid values of a place that reveal insufficient input handling. */
export function* hostileAt(values: Values, spot: Spot): Generator<Candidate> {
  const { shape, value } = spot;
  if (shape.enum !== undefined) return;
  if (typeof value === 'string') yield* texts(spot, value);
  if (typeof value === 'number') yield* numbers(shape);
  if (Array.isArray(value)) yield* lists(values, spot, value);
  if (isObject(value)) yield* objects(values, spot, value);
}

function hostile(keyword: string, part: unknown): Candidate {
  const detail = `${typeof part} ${jsonText(part)?.slice(0, 200)} ${Object.is(part, -0)}`;
  return { kind: 'hostile', keyword, detail, parts: [part] };
}

function* texts({ shape, pointer }: Spot, value: string): Generator<Candidate> {
  for (const part of oddTimes[shape.format ?? ''] ?? []) yield hostile('format', part);
  // All places of a body get the others at once, where one place that is rejected can hide what another does.
  for (const part of oddTexts.slice(0, pointer === '' ? oddTexts.length : maxHarmful)) yield hostile('type', part);
  const length = Math.min(shape.maxLength, maxTextLength);
  const part = length > 1000 ? stretch(value === '' ? 'a' : value, length, shape) : undefined;
  if (part !== undefined) yield hostile('maxLength', part);
}

function* numbers(shape: Shape): Generator<Candidate> {
  const isWhole = !shape.types.has('number');
  for (const part of oddNumbers) if (!isWhole || Number.isInteger(part)) yield hostile('type', part);
}

function* lists(values: Values, { shape, name }: Spot, list: readonly unknown[]): Generator<Candidate> {
  const most = Math.min(shape.maxItems, maxListLength);
  const length = [most, 1000, 100].find((one) => one <= most && !isTooLarge(list, one)) ?? 0;
  const [long] = length > 10 ? values.lists(shape, list, length, name) : [];
  if (long !== undefined) yield hostile('maxItems', long);
  if (!shape.uniqueItems && list.length > 0 && shape.maxItems > 1) yield hostile('items', [list[0], list[0]]);
  // Nested lists, if items may have any type.
  if (shape.items === undefined && shape.prefixItems.length === 0) yield nested('items', list, (inner) => [inner]);
}

function* objects(values: Values, { shape }: Spot, object: JsonObject): Generator<Candidate> {
  // Only maps are intended to have arbitrary properties.
  const isOpen = shape.sources.some((one) => one.additionalProperties === true);
  for (const name of shape.additional.length > 0 || isOpen ? oddNames : []) {
    const schemas = Object.hasOwn(object, name) ? undefined : memberSchemas(shape, name);
    if (schemas !== undefined)
      yield hostile('additionalProperties', withMember(object, name, values.generate(schemas, 'least', 1, name)));
  }
  const shapeIn = (schema: JsonObject) => shapeOf(values.document, schema);
  const isOwn = (schema: JsonObject) =>
    shapeIn(schema).sources.some((one) => one.properties !== undefined && shape.sources.includes(one));
  for (const [name, schemas] of shape.properties) {
    if (schemas.some(isOwn)) yield nested('properties', object, (inner) => ({ ...object, [name]: inner }));
    if (schemas.flatMap((schema) => shapeIn(schema).items ?? []).some(isOwn))
      yield nested('properties', object, (inner) => ({ ...object, [name]: [inner] }));
  }
  if (shape.additional.length === 0 && isOpen)
    yield nested('additionalProperties', object, (inner) => ({ ...object, deep: inner }));
}

function nested(keyword: string, value: unknown, wrap: (inner: unknown) => unknown): Candidate {
  let inner = value;
  for (let depth = 0; depth < deepest; depth += 1) inner = wrap(inner);
  return hostile(keyword, inner);
}

/** Bodies of a media type that are malformed, so that they must be rejected, and unusual ones. */
export function oddBodies(mediaType: string): {
  readonly malformed: readonly string[];
  readonly odd: readonly string[];
} {
  const type = mediaType.split(';')[0]?.trim().toLowerCase() ?? '';
  if (type === 'application/json' || type.endsWith('+json') || type === '*/*') return oddJson;
  const isForm = type === 'application/x-www-form-urlencoded';
  return { malformed: [], odd: isForm ? ['%', 'a=%ff%fe', '__proto__[a]=1&constructor[prototype][a]=1'] : [] };
}

/** A valid JSON body with one syntax error. A lenient parser finds nothing else to reject. */
export function malformedAround(json: string): string[] {
  const whole = json.slice(0, -1);
  return /^[[{].+[\]}]$/s.test(json) && whole.length > 1
    ? [
        ...[`${whole},${json.at(-1)}`, `${json} x`, `${json}${json}`, `/* comment */ ${json}`],
        ...[json.replaceAll('"', "'"), whole],
      ]
    : [];
}

const oddJson = {
  malformed: [
    ...['{', '{"a":1', '{"a":"b', '[1,2', '{"a":1,}', '[1,]', '{"a":NaN}', '{"a":Infinity}', '{"a":undefined}'],
    ...['{"a":01}', '{"a":.5}', "{'a':1}", '{a:1}', '{"a":1}{"b":2}', '{"a":1} x', '{"a":1 /* comment */}'],
    ...['{"a":"\u0000"}', '{"a":"b\nc"}', '{"a":"\\x41"}', '{"a":"\\u12"}', '{"a" 1}', 'not json', '<a/>', 'a=1&b=2'],
    ...['   ', '['.repeat(10_000)],
  ],
  odd: [
    ...['{"a":1,"a":2}', '\ufeff{}', `${'['.repeat(10_000)}${']'.repeat(10_000)}`],
    ...[`${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}`, '{"a":"\\ud800"}', '{"__proto__":{"a":1}}'],
    ...[`{"a":${'9'.repeat(10_000)}}`, '{"a":1e999}', 'null', 'true', '""', '0'],
  ],
};
