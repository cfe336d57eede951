import { isDeepStrictEqual } from 'node:util';
import { isObject, type JsonObject, type TypeName, typeOf, unescapeSegment } from '../json.ts';
import { branches, lists, noBranches, objects } from './composites.ts';
import { extremes, wrongFormats, wrongNumbers } from './hostile.ts';
import { exact, multiple, rangeOf, stepOf } from './numbers.ts';
import { likelyTypes, regularExpression, type Shape } from './shape.ts';
import {
  type Break,
  type Candidate,
  foundAt,
  longest,
  resized,
  type Site,
  sourceOf,
  swapCase,
  unknownName,
} from './site.ts';
import { fits, lengthOf } from './texts.ts';
import type { Breach } from './validators.ts';
import type { Values } from './values.ts';
import { View } from './view.ts';

/** Longer valid texts test the server's limit on bodies instead of the constraint. */
const longestBound = 200_000;

/** For every constraint of a place: values that violate it, and values at its boundary. */
function* candidatesOf(site: Site): Generator<Candidate> {
  const { kind, shape, spot } = site;
  const { value } = spot;
  yield* types(site);
  yield* words(site);
  if (kind === 'bound') yield* branches(site);
  if (kind === 'bound' && shape.enum !== undefined) return;
  for (const source of shape.sources) yield* sizes(site, source);
  if (typeof value === 'string') yield* texts(site, value);
  if (typeof value === 'number') yield* numbers(site, value);
  if (typeof value === 'boolean')
    for (const part of [true, false]) yield* site.bound('type', [part], { detail: String(part) });
  if (Array.isArray(value)) yield* lists(site, value);
  if (isObject(value)) yield* objects(site, value);
  if (kind === 'break') yield* noBranches(site);
}

/** Values of other types; present, null, the default, and a value of each allowed type. */
function* types(site: Site): Generator<Candidate> {
  const { shape, spot } = site;
  const { value, pointer } = spot;
  const defaulted = shape.sources.find((one) => 'default' in one);
  if (defaulted !== undefined) yield* site.bound('default', [defaulted.default], { source: defaulted });
  if (pointer !== '' && value !== null) yield* site.bound('type', [value], { detail: 'present' });
  const likely = likelyTypes(shape);
  if (shape.enum === undefined && likely.includes('null')) yield* site.bound('type', [null], { detail: 'null' });
  const ordinary = { string: 'text', boolean: true, integer: 1, number: 1.5, array: [], object: {}, null: null };
  const isMixed = likely.length > 2 || (likely.length === 2 && !likely.includes('null'));
  for (const type of isMixed && likely.length < 5 ? likely : [])
    yield* site.bound('type', [ordinary[type]], { detail: type });
  const source = shape.sources.find(({ type }) => type !== undefined);
  if (source === undefined) return;
  const [first = 'text'] = Array.isArray(value) ? value : [];
  const whole = typeof value === 'number' ? value : 1;
  const wrong: readonly (readonly [type: TypeName | undefined, detail: string, parts: unknown[]])[] = [
    ['integer', 'digits', [typeof value === 'number' ? String(value) : '12']],
    ['integer', 'boolean', [true]],
    ['integer', 'fraction', [whole + 0.5, whole - 0.5]],
    ['boolean', 'text', ['true']],
    ['boolean', 'number', [1]],
    ['string', 'number', [12]],
    ['string', 'boolean', [true]],
    ['string', 'list', [[value]]],
    ['array', 'object', [{}]],
    ['array', 'single', [Array.isArray(first) ? 'text' : first]],
    ['object', 'list', [[value]]],
    ['object', 'text', ['text']],
    [undefined, 'null', [null]],
  ];
  for (const [type, detail, parts] of wrong) {
    const others = parts.filter((part) => !shape.types.has(typeOf(part)));
    if ((type === undefined || shape.types.has(type)) && others.length > 0)
      yield* site.break('type', others, { source, detail });
  }
}

/** Every value of `enum` and `const`, and values that these do not have. */
function* words(site: Site): Generator<Candidate> {
  const { shape } = site;
  const listed = sourceOf(shape, 'enum') ?? shape.sources.find((one) => 'const' in one);
  const own = listed !== undefined && 'enum' in listed ? 'enum' : 'const';
  for (const member of shape.enum ?? [])
    yield* site.bound(own, [member], { source: listed, detail: JSON.stringify(member), chosen: member });
  for (const source of shape.sources) {
    const isConst = 'const' in source;
    const members: unknown[] = isConst ? [source.const] : Array.isArray(source.enum) ? source.enum : [];
    const ofTexts = members.filter((member) => typeof member === 'string');
    const ofNumbers = members.filter((member) => typeof member === 'number');
    const others: Record<string, unknown[]> = {
      case: ofTexts.map(swapCase),
      unknown: ofTexts.length > 0 ? ['NO_SUCH_VALUE', 'no-such-value', `${ofTexts[0]}${ofTexts[0]}`] : [],
      empty: ofTexts.length > 0 ? [''] : [],
      next: ofNumbers.length > 0 ? [Math.max(...ofNumbers) + 1, Math.min(...ofNumbers) - 1] : [],
      boolean: members.some((member) => typeof member === 'boolean') ? [true, false] : [],
      composite: members.some((member) => Object(member) === member) ? [{}, [], { [unknownName]: 1 }] : [],
    };
    for (const [detail, all] of Object.entries(others)) {
      const parts = all.filter((part) => !members.some((member) => isDeepStrictEqual(member, part))).slice(0, 3);
      yield* site.break(isConst ? 'const' : 'enum', parts, { source, detail });
    }
  }
}

/** Limits of the size of texts, lists and objects. */
function* sizes(site: Site, source: JsonObject): Generator<Candidate> {
  const { value } = site.spot;
  const [unit, sized] =
    typeof value === 'string'
      ? (['Length', (size: number) => resized(value, size, site.shape)] as const)
      : Array.isArray(value)
        ? (['Items', (size: number) => site.lists(value, size)] as const)
        : isObject(value)
          ? (['Properties', (size: number) => site.objects(value, size)] as const)
          : [];
  if (unit === undefined) return;
  for (const [end, step] of [['min', -1] as const, ['max', 1] as const]) {
    const keyword = `${end}${unit}`;
    const limit = source[keyword];
    if (typeof limit !== 'number' || limit >= longest || (limit === 0 && step < 0)) continue;
    yield* site.break(keyword, sized(limit + step), { source });
    if (limit > 0 && limit <= longestBound) yield* site.bound(keyword, sized(limit), { source });
  }
}

function* texts(site: Site, text: string): Generator<Candidate> {
  const { shape } = site;
  const { minLength, maxLength, format } = shape;
  if (minLength === 0) yield* site.bound('type', [''], { detail: 'empty' });
  // Each character has two UTF-16 units.
  if (maxLength <= longestBound && maxLength > 0 && shape.patterns.length === 0 && format === undefined)
    yield* site.bound('maxLength', ['😀'.repeat(maxLength)], {
      source: sourceOf(shape, 'maxLength', maxLength),
      detail: 'astral',
    });
  for (const extreme of extremes[format ?? ''] ?? []) yield* site.bound('format', [extreme], { detail: extreme });
  // RFC 3339 allows lower case, but not every server must accept it. A pattern can require it.
  if (format === 'date-time' && shape.patterns.length > 0)
    yield* site.bound('pattern', [text.toLowerCase()], { detail: 'lower' });
  for (const source of shape.sources) {
    const { pattern, format: own } = source;
    if (typeof pattern === 'string') {
      const others = { ...shape, patterns: shape.patterns.filter((one) => one !== pattern) };
      for (const [detail, parts] of Object.entries(mismatchesOf(text, shape))) {
        const mismatches = parts
          .filter((part) => regularExpression(pattern)?.test(part) === false)
          .sort((left, right) => Number(fits(right, others)) - Number(fits(left, others)));
        yield* site.break('pattern', mismatches, { source, detail });
      }
    }
    for (const wrong of wrongFormats[String(own)] ?? [])
      yield* site.break('format', [wrong], { source, detail: wrong });
  }
}

/** Texts that may not match a pattern, by how they differ from one that does. */
function mismatchesOf(text: string, shape: Shape): Record<string, string[]> {
  const points = [...text];
  const swapped = swapCase(text);
  const [start, end, middle] = [points.slice(1).join(''), points.slice(0, -1).join(''), Math.floor(points.length / 2)];
  const length = Math.max(1, Math.min(shape.maxLength, lengthOf(text), 200), Math.min(shape.minLength, 10_000));
  const replacedOnce = (which: RegExp, by: string) =>
    points.flatMap((point, index) =>
      which.test(point) && index < 40
        ? [...by].filter((other) => other !== point).map((other) => points.with(index, other).join(''))
        : [],
    );
  return {
    near: [
      ...(swapped === text ? [] : [swapped]),
      ...[`${end}!`, `!${start}`, `${end} `, end, start, `${text}a`, `${text}1`],
      ...[text.replace(/\d/, 'x'), text.replace(/[a-z]/i, '1')],
    ],
    // These match a pattern without anchors.
    ends: [`${text}\n`, ` ${text}`, `${text} `, `!${text}`, `${text}!`, `${text}é`],
    // Surrounding spaces are lost in headers.
    inside: [0, 1]
      .map((removed) => [...points.slice(0, middle), ' ', ...points.slice(middle + 1 - removed)].join(''))
      .filter((one) => one.trim() === one && one !== text),
    // A month of 13 also has two digits.
    digit: replacedOnce(/\d/, '9305'),
    letter: [...replacedOnce(/[a-z]/, 'zqg'), ...replacedOnce(/[A-Z]/, 'ZQG')],
    far: [...'!?éxX0 -'].map((point) => point.repeat(length)),
  };
}

function* numbers(site: Site, value: number): Generator<Candidate> {
  const { shape } = site;
  const isWhole = !shape.types.has('number');
  const { low, high } = rangeOf(shape, isWhole);
  const step = stepOf(shape, isWhole);
  const away = (bound: number, direction: number) => {
    const found = exact(bound + direction * (step ?? (Number.isInteger(bound) ? 1 : 0.01)));
    return found === bound ? bound + direction * Math.max(Math.abs(bound) * 1e-9, Number.MIN_VALUE) : found;
  };
  const ends = [
    ...[['minimum', -1, low] as const, ['maximum', 1, high] as const],
    ...[['exclusiveMinimum', -1, low] as const, ['exclusiveMaximum', 1, high] as const],
  ];
  for (const source of shape.sources) {
    for (const [keyword, direction, end] of ends) {
      const bound = source[keyword];
      if (typeof bound !== 'number') continue;
      const near = away(bound, direction);
      const parts = keyword.startsWith('exclusive') ? [bound, near] : [near, bound + direction * 1000];
      yield* site.break(keyword, parts, { source });
      // A value far outside also reveals a missing check with tolerance.
      const far = bound + direction * Math.round(Math.max(1000, Math.abs(bound)) / (step ?? 1)) * (step ?? 1);
      yield* site.break(keyword, [exact(far)], { source, detail: 'far' });
      yield* site.bound(keyword, [end], { source });
    }
    const { multipleOf: size, format } = source;
    if (typeof size === 'number') {
      const fractions = [size / 2, -size / 2, size / 10, -size / 10].map((part) => exact(value + part));
      yield* site.break('multipleOf', [...(isWhole ? [value + 1, value - 1] : []), ...fractions], { source });
      const times = Math.round(value / size);
      const near = [times + 1, times - 1, 1].map((count) => multiple(size, count));
      yield* site.bound('multipleOf', [...near, ...(low === undefined ? [] : [low + (step ?? size)])], { source });
    }
    const wrongs = wrongNumbers[String(format)] ?? [];
    for (const wrong of wrongs) yield* site.break('format', [wrong], { source, detail: String(wrong) });
    const ofFormat = [
      shape.minimum === undefined && shape.exclusiveMinimum === undefined ? low : undefined,
      shape.maximum === undefined && shape.exclusiveMaximum === undefined ? high : undefined,
    ];
    for (const end of ofFormat.filter((one) => one !== undefined && wrongs.length > 0))
      yield* site.bound('format', [end], { source, detail: String(end) });
  }
  yield* site.bound('type', [0], { detail: 'zero' });
  const fractions = [0.5, exact(value + 0.25), ((low ?? 0) + (high ?? 1)) / 2];
  if (!isWhole)
    yield* site.bound(
      'type',
      fractions.filter((one) => !Number.isInteger(one)),
      { detail: 'fraction' },
    );
}

/** Values that violate one constraint each, for every constraint that applies or could apply to the value. */
export function breaksOf(values: Values, schema: JsonObject, value: unknown, limit?: number): Break[] {
  const confirmed = (candidate: Candidate, site: Site): Break | undefined => {
    const breachesOf = (part: unknown) => values.validators.breaches(schema, site.spot.write(part), 'request');
    const found = confirmedPart(candidate, breachesOf);
    return found && site.found(candidate, found.part);
  };
  return foundAt(values, [schema, value], 'break', candidatesOf, confirmed, limit);
}

const composites = new Set(['oneOf', 'anyOf', 'not', 'if', 'contains', 'unevaluatedProperties', 'unevaluatedItems']);

/** The first of a few items, which are generated on demand. */
function* few(parts: Iterable<unknown>, most: number): Generator<unknown> {
  let left = most;
  for (const part of parts) {
    if (left === 0) return;
    left -= 1;
    yield part;
  }
}

/** The first part that violates the candidate's keyword, preferably nothing else. */
function confirmedPart(
  candidate: Candidate,
  breachesOf: (part: unknown) => Breach[],
): { readonly part: unknown } | undefined {
  let second: { part: unknown } | undefined;
  for (const part of few(candidate.parts, 24)) {
    const breaches = breachesOf(part);
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
  const isWithin = (inner: string, outer: string) => inner === outer || inner.startsWith(`${outer}/`);
  // The validator reports unevaluated properties at the parent of their branch.
  const isAbove = (outer: string) => outer === '' || isWithin(pointer, outer);
  if (isAt(breach.pointer, pointer) || isWithin(breach.pointer, pointer)) return true;
  if (composites.has(breach.keyword) && isAbove(breach.pointer)) return true;
  // Errors of branches that do not apply.
  return breaches.some(
    (other) => composites.has(other.keyword) && isAbove(other.pointer) && isWithin(breach.pointer, other.pointer),
  );
}

export interface Bound extends Break {
  /** The same value with an ordinary value in this place; undefined if there is none. */
  readonly neighbour: unknown;
  /** The chosen `enum` value or branch number; undefined for other keywords. */
  readonly chosen: unknown;
}

/** Valid boundary values for every constraint that applies or could apply to the value. */
export function boundsOf(values: Values, schema: JsonObject, value: unknown): Bound[] {
  const { document } = values;
  const accepts = (whole: unknown) => values.accepts(schema, whole);
  const others = new Map<string, unknown>();
  const accepted = (candidate: Candidate, site: Site): Bound | undefined => {
    const { spot, shape } = site;
    const { source, chosen } = candidate;
    for (const part of few(candidate.parts, 8)) {
      if (!accepts(spot.write(part))) continue;
      const own = source === undefined ? [] : [source];
      if ([...shape.sources, ...own].some((one) => View.of(document, one).states('conditional', true)))
        return undefined;
      const isSame = isDeepStrictEqual(part, spot.value);
      const key = `${spot.pointer} ${JSON.stringify(spot.value)}`;
      if (isSame && !others.has(key)) others.set(key, otherThan(site, accepts));
      const found = site.found(candidate, part);
      // A property without keywords has the nearest place.
      const nearest = () => shape.sources.map((one) => document.placeOf(one)).find((one) => one !== undefined);
      return { ...found, place: found.place ?? nearest(), neighbour: isSame ? others.get(key) : spot.whole, chosen };
    }
    return undefined;
  };
  return foundAt(values, [schema, value], 'bound', candidatesOf, accepted);
}

/** The value with another value at the spot. */
function otherThan(site: Site, accepts: (whole: unknown) => boolean): unknown {
  const { spot } = site;
  const parts = [0, 1, 2].map((seed) => site.generate(spot.schemas, 'some', seed));
  return parts
    .filter((part) => !isDeepStrictEqual(part, spot.value))
    .map(spot.write)
    .find(accepts);
}
