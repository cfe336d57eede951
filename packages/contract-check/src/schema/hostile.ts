import type { OpenApiDocument } from '../document/document.ts';
import { isObject, type JsonObject, pointersTo, put, withMember } from '../json.ts';
import { oddTimes } from './formats.ts';
import { stepOf } from './numbers.ts';
import { memberSchemas, type Shape } from './shape.ts';
import { type Break, type Candidate, foundAt, isTooLarge, placeOf, plural, type Site, shortened } from './site.ts';
import { stretch } from './texts.ts';
import type { Direction, Validators } from './validators.ts';

/** A raw body that no value can express. */
export interface OddBody {
  readonly text: string;
  readonly note: string;
  /** Whether the body is malformed and must be rejected. Otherwise, the server may accept or reject it. */
  readonly isMalformed: boolean;
}

/** JSON text that JavaScript values cannot represent. */
export interface OddText {
  readonly text: string;
  readonly note: string;
  readonly type: 'string' | 'number' | 'object';
}

const longestText = 100_000;
const longestList = 10_000;
/** Number of unusual texts per place. Different places use different texts. */
const textsAtOnce = 3;
const deepest = 50;

const oddTexts: readonly (readonly [text: string, what: string])[] = [
  ['\u0000', 'NUL'],
  ['a\u0000b', 'text with NUL'],
  ["' OR '1'='1'; --", 'a fragment of SQL'],
  ['\u202eabc\u202c', 'text from right to left'],
  ['\ud800', 'half a surrogate pair'],
  ['%', 'a wildcard of LIKE'],
  ['50% off', 'a percent sign that is not an escape'],
  ['../../../../etc/passwd', 'a path with ..'],
  [`e${'\u0301'.repeat(50)}`, 'many combining marks'],
  ['\ufeffabc', 'a byte order mark'],
  ['👩‍👩‍👧‍👦😀', 'joined emoji'],
  // biome-ignore lint/suspicious/noTemplateCurlyInString: what a template would replace
  ['${7*7}{{7*7}}<%= 7*7 %>', 'a fragment of a template'],
  ['<script>alert(1)</script>', 'a fragment of HTML'],
  ['__proto__', 'the name of a prototype'],
  ['_\\%\\', 'escapes of LIKE'],
  ['(a+)+$[', 'a broken pattern'],
  ['$(id)`id`', 'a fragment of a shell'],
  ['a\r\nX-Injected: 1', 'line breaks'],
  ['\u200d\u200b\u2028\u2029', 'invisible characters'],
  ['ﷺİßŉ', 'letters whose upper case is longer'],
  ['\uffff\ufdd0', 'code points that are not characters'],
  ['   ', 'only spaces'],
  ['null', 'the word null'],
  ['1e309', 'a number too large, as text'],
];

const brokenPattern = oddTexts.find(([, what]) => what === 'a broken pattern');

const oddNumbers: readonly (readonly [number: number, what: string])[] = [
  [2 ** 53, 'the first integer above the safe ones'],
  [-(2 ** 53), 'the first integer below the safe ones'],
  [2 ** 31, 'one more than the 32-bit maximum'],
  [2 ** 63, 'one more than the 64-bit maximum'],
  [1e308, 'close to the largest number'],
  [-1e308, 'close to the smallest number'],
  [1e-300, 'close to zero'],
  [-0, 'negative zero'],
  [0.1 + 0.2, 'a fraction with many digits'],
];

const oddNames: readonly string[] = [
  ...['__proto__', 'constructor', 'toString', 'hasOwnProperty', '', '\u0000', 'a.b', '$where', 'a[b]'],
  'x'.repeat(5000),
];

/** Valid values that reveal insufficient input handling. */
export function hostileOf(
  document: OpenApiDocument,
  validators: Validators,
  schema: JsonObject,
  value: unknown,
  direction: Direction = 'request',
  { limit = 500 }: { readonly limit?: number } = {},
): Break[] {
  let turn = 0;
  function* candidatesOf(site: Site): Generator<Candidate> {
    yield* hostileParts(site, turn);
    if (typeof site.spot.value === 'string') turn += textsAtOnce;
  }
  const accepted = ({ parts: [part], keyword, source, pointer, note }: Candidate, { spot }: Site) => {
    const whole = spot.write(part);
    const place = placeOf(document, source, keyword);
    return validators.accepts(schema, whole, direction)
      ? { keyword, pointer, place, value: whole, note: note(part) }
      : undefined;
  };
  return foundAt(document, validators, [schema, value, direction], 'hostile', candidatesOf, accepted, limit);
}

/**
 * The value with the same unusual text in every allowed place, once for each text. A failure is found in one request
 * and narrowed down afterwards.
 */
export function* hostileEverywhere(validators: Validators, schema: JsonObject, value: unknown): Iterable<unknown> {
  for (const [text] of oddTexts) {
    let whole = value;
    for (const pointer of pointersTo(value, (part) => typeof part === 'string')) {
      const candidate = put(whole, pointer, text);
      if (validators.accepts(schema, candidate, 'request')) whole = candidate;
    }
    if (whole !== value) yield whole;
  }
}

function* hostileParts(site: Site, turn: number): Generator<Candidate> {
  const { shape, value } = site.spot;
  if (shape.enum !== undefined) return;
  if (typeof value === 'string') yield* hostileTextsFor(site, value, turn);
  if (typeof value === 'number') yield* hostileNumbers(site);
  if (Array.isArray(value)) yield* hostileLists(site, value);
  if (isObject(value)) yield* hostileObjects(site, value);
}

function* hostileTextsFor(site: Site, value: string, turn: number): Generator<Candidate> {
  const { shape, name, pointer } = site.spot;
  for (const part of oddTimes[shape.format ?? ''] ?? [])
    yield* site.hostile('format', part, `is ${part}, at the end of a calendar`);
  const isFree = shape.patterns.length === 0 && shape.format === undefined;
  // If a pattern or format allows any of the texts, they are used. A parameter is tested separately, so it gets all.
  const count = isFree && pointer !== '' ? textsAtOnce : oddTexts.length;
  for (let index = 0; index < count; index += 1) {
    // A malformed pattern matters most where a pattern is expected.
    const isPattern = isFree && index === 0 && /pattern|regex|expression|mask/i.test(name);
    const [text, what] = (isPattern ? brokenPattern : oddTexts[(turn + index) % oddTexts.length]) ?? ['', ''];
    yield* site.hostile(isFree ? 'type' : 'pattern', sized(text, shape), `is ${what}`);
  }
  const length = Math.min(shape.maxLength, longestText);
  const part = length > 1000 ? stretch(value === '' ? 'a' : value, length, shape) : undefined;
  if (part !== undefined) yield* site.hostile('maxLength', part, `is ${plural(length, 'character')} long`);
}

/** The text with a length within the limits. */
function sized(text: string, shape: Shape): string {
  const points = [...text].slice(0, Math.min(shape.maxLength, longestText));
  const missing = Math.min(shape.minLength, longestText) - points.length;
  return missing > 0 ? `${points.join('')}${'a'.repeat(missing)}` : points.join('');
}

function* hostileNumbers(site: Site): Generator<Candidate> {
  const { shape } = site;
  const isWhole = !shape.types.has('number');
  const step = stepOf(shape, isWhole) ?? 0;
  for (const [part, what] of oddNumbers) {
    if (isWhole && !Number.isInteger(part)) continue;
    yield* site.hostile('type', part, `is ${Object.is(part, -0) ? '-0' : shortened(part)}, ${what}`);
  }
  for (const keyword of ['maximum', 'minimum'] as const) {
    const limit = shape[keyword];
    if (limit === undefined || Math.abs(limit) < 1e6) continue;
    const part = step > 0 ? Math.trunc(limit / step) * step : limit;
    yield* site.hostile(keyword, part, `is ${shortened(part)}, the limit of ${keyword}`);
  }
}

function* hostileLists(site: Site, list: readonly unknown[]): Generator<Candidate> {
  const { shape } = site;
  const most = Math.min(shape.maxItems, longestList);
  const length = [most, 1000, 100].find((one) => one <= most && !isTooLarge(list, one)) ?? 0;
  const [long] = length > 10 ? site.lists(list, length) : [];
  if (long !== undefined) yield* site.hostile('maxItems', long, `has ${plural(length, 'item')}`);
  if (!shape.uniqueItems && list.length > 0 && shape.maxItems > 1)
    yield* site.hostile('items', [...list.slice(0, 1), list[0]], 'has the same item twice');
  // Nested lists, if items may have any type.
  if (shape.items === undefined && shape.prefixItems.length === 0)
    yield* site.hostile(
      'items',
      nested(list, (inner) => [inner]),
      `has ${deepest} nested arrays`,
    );
}

function* hostileObjects(site: Site, object: JsonObject): Generator<Candidate> {
  const { shape, values } = site;
  // Only maps are intended to have arbitrary properties.
  const isOpen = shape.sources.some((one) => one.additionalProperties === true);
  for (const name of shape.additional.length > 0 || isOpen ? oddNames : []) {
    const schemas = Object.hasOwn(object, name) ? undefined : memberSchemas(shape, name);
    if (schemas === undefined) continue;
    const part = withMember(object, name, site.generate(schemas, 'least', 1, name));
    yield* site.hostile('additionalProperties', part, `has a property named ${shortened(name)}`);
  }
  const isOwn = (schema: JsonObject) =>
    values.shape(schema).sources.some((one) => one.properties !== undefined && shape.sources.includes(one));
  for (const [name, schemas] of shape.properties) {
    const note = `has ${deepest} nested levels of ${name}`;
    if (schemas.some(isOwn))
      yield* site.hostile(
        'properties',
        nested(object, (inner) => ({ ...object, [name]: inner })),
        note,
      );
    if (schemas.flatMap((schema) => values.shape(schema).items ?? []).some(isOwn))
      yield* site.hostile(
        'properties',
        nested(object, (inner) => ({ ...object, [name]: [inner] })),
        `${note} in lists`,
      );
  }
  if (shape.additional.length === 0 && isOpen) {
    const part = nested(object, (inner) => ({ ...object, deep: inner }));
    yield* site.hostile('additionalProperties', part, `has ${deepest} nested levels`);
  }
}

function nested(value: unknown, wrap: (inner: unknown) => unknown): unknown {
  let inner = value;
  for (let depth = 0; depth < deepest; depth += 1) inner = wrap(inner);
  return inner;
}

/** JSON texts that JavaScript cannot represent exactly. `withRawText` inserts them into a body. */
export function hostileTexts(): OddText[] {
  return [
    { type: 'string', text: '"\\ud800"', note: 'the first half of a surrogate pair, alone' },
    { type: 'string', text: '"\\udc00\\ud800"', note: 'a surrogate pair the wrong way round' },
    { type: 'string', text: '"\\u0000"', note: 'NUL, escaped' },
    { type: 'string', text: '"\\u002e\\u002e\\u002f"', note: 'a path with .., escaped' },
    { type: 'number', text: '1e400', note: 'a number above the largest double' },
    { type: 'number', text: '-1e400', note: 'a number below the smallest double' },
    { type: 'number', text: '1e-400', note: 'a number too close to zero for a double' },
    { type: 'number', text: '-0', note: 'negative zero' },
    { type: 'number', text: '9'.repeat(400), note: 'a number of 400 digits' },
    { type: 'number', text: '9007199254740993', note: 'an integer that a double cannot represent' },
    { type: 'number', text: `0.${'1'.repeat(400)}`, note: 'a fraction of 400 digits' },
    { type: 'object', text: '{"__proto__":{"isAdmin":true}}', note: 'a __proto__ property' },
    {
      type: 'object',
      text: '{"constructor":{"prototype":{"isAdmin":true}}}',
      note: 'a constructor.prototype property',
    },
  ];
}

/** Serializes a value with raw text in place of one part. */
export function withRawText(whole: unknown, write: (part: unknown) => unknown, text: string): string {
  const mark = 'raw-text-placeholder-7c1e9b2d';
  const written = JSON.stringify(write(mark)) ?? JSON.stringify(whole);
  return written.replace(`"${mark}"`, () => text);
}

/** Malformed and unusual bodies for a media type. */
export function malformedBodies(mediaType: string): OddBody[] {
  const type = mediaType.split(';')[0]?.trim().toLowerCase() ?? '';
  if (type === 'application/json' || type.endsWith('+json') || type === '*/*') return malformedJson();
  if (type === 'application/xml' || type === 'text/xml' || type.endsWith('+xml')) return malformedXml();
  if (type === 'multipart/form-data')
    return [{ text: '--nowhere\r\n', note: 'an unterminated part', isMalformed: true }];
  if (type === 'application/x-www-form-urlencoded') {
    return [
      { text: '%', note: 'a percent sign that is not an escape', isMalformed: false },
      { text: 'a=%ff%fe', note: 'bytes that are not UTF-8, escaped', isMalformed: false },
      { text: '__proto__[a]=1&constructor[prototype][a]=1', note: 'prototype names', isMalformed: false },
    ];
  }
  return [];
}

/** A valid JSON body with one syntax error. A lenient parser finds nothing else to reject. */
export function malformedAround(json: string): OddBody[] {
  const end = json.at(-1) ?? '';
  const whole = json.slice(0, -1);
  const odd: [text: string, note: string][] = [
    [`${whole},${end}`, 'a comma after the last member'],
    [`${json} x`, 'text after the end'],
    [`${json}${json}`, 'the body twice'],
    [`/* comment */ ${json}`, 'a comment'],
    [json.replaceAll('"', "'"), 'single quotes'],
    [whole, 'a truncated body'],
  ];
  return /^[[{].+[\]}]$/s.test(json) && whole.length > 1
    ? odd.map(([text, note]) => ({ text, note: `the body has ${note}`, isMalformed: true }))
    : [];
}

function malformedJson(): OddBody[] {
  const malformed: [text: string, note: string][] = [
    ['{', 'an unterminated object'],
    ['{"a":1', 'a truncated object'],
    ['{"a":"b', 'an unterminated string'],
    ['[1,2', 'an unterminated array'],
    ['{"a":1,}', 'a comma after the last member'],
    ['[1,]', 'a comma after the last item'],
    ['{"a":NaN}', 'NaN'],
    ['{"a":Infinity}', 'Infinity'],
    ['{"a":undefined}', 'undefined'],
    ['{"a":01}', 'a number with a leading zero'],
    ['{"a":.5}', 'a number that starts with a decimal point'],
    ["{'a':1}", 'single quotes'],
    ['{a:1}', 'an unquoted name'],
    ['{"a":1}{"b":2}', 'two values'],
    ['{"a":1} x', 'text after the end'],
    ['{"a":1 /* comment */}', 'a comment'],
    ['{"a":"\u0000"}', 'an unescaped NUL'],
    ['{"a":"b\nc"}', 'a line break in a string'],
    ['{"a":"\\x41"}', 'an invalid escape'],
    ['{"a":"\\u12"}', 'a truncated escape'],
    ['{"a" 1}', 'a property without a colon'],
    ['not json', 'text that is not JSON'],
    ['<a/>', 'XML'],
    ['a=1&b=2', 'a form'],
    ['   ', 'only spaces'],
    ['['.repeat(10_000), '10,000 unterminated arrays'],
  ];
  const odd: [text: string, note: string][] = [
    ['{"a":1,"a":2}', 'the same name twice'],
    ['\ufeff{}', 'a byte order mark'],
    [`${'['.repeat(10_000)}${']'.repeat(10_000)}`, 'lists 10 000 deep'],
    [`${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}`, 'objects 10 000 deep'],
    ['{"a":"\\ud800"}', 'half a surrogate pair'],
    ['{"__proto__":{"a":1}}', 'a __proto__ property'],
    [`{"a":${'9'.repeat(10_000)}}`, 'a number of 10,000 digits'],
    ['{"a":1e999}', 'a number above the largest double'],
    ['null', 'null'],
    ['true', 'a boolean'],
    ['""', 'an empty string'],
    ['0', 'a number'],
  ];
  return [
    ...malformed.map(([text, note]) => ({ text, note: `the body is ${note}`, isMalformed: true })),
    ...odd.map(([text, note]) => ({ text, note: `the body is ${note}`, isMalformed: false })),
  ];
}

function malformedXml(): OddBody[] {
  const doctype = '<!DOCTYPE a [<!ENTITY b "bb"><!ENTITY c "&b;&b;&b;&b;">]><a>&c;</a>';
  return [
    { text: '<a>', note: 'the body is an unterminated element', isMalformed: true },
    { text: '<a></b>', note: 'the body has a mismatched end tag', isMalformed: true },
    { text: '{"a":1}', note: 'the body is JSON', isMalformed: true },
    { text: doctype, note: 'the body declares entities', isMalformed: false },
  ];
}
