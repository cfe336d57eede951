import type { OpenApiDocument } from '../document/document.ts';
import { escapeSegment, isObject, type JsonObject } from '../json.ts';
import {
  type Break,
  type Candidate,
  characters,
  foundAt,
  isTooLarge,
  items,
  placeOf,
  properties,
  resized,
  type Site,
  shortened,
  sourceOf,
} from './candidates.ts';
import { extremes } from './formats.ts';
import { likelyTypes } from './shape.ts';
import type { Direction, Validators } from './validators.ts';
import { isSame, multiple, rangeOf, withMember, withoutMember } from './values.ts';

export interface Bound extends Break {
  /** The same value with an ordinary value in this place; undefined if there is none. */
  readonly neighbour: unknown;
  /** The chosen `enum` value or branch number; undefined for other keywords. */
  readonly chosen: unknown;
}

/** Longer values test the server's limit on bodies instead of the constraint. */
const longest = 200_000;

/** Valid boundary values for every constraint that applies or could apply to the value. */
export function boundsOf(
  document: OpenApiDocument,
  validators: Validators,
  schema: JsonObject,
  value: unknown,
  direction: Direction = 'request',
): Bound[] {
  const accepts = (whole: unknown) => validators.accepts(schema, whole, direction);
  const others = new Map<string, unknown>();
  return foundAt(
    document,
    validators,
    schema,
    value,
    direction,
    candidatesOf,
    (candidate, site): Bound | undefined => {
      const { spot, shape } = site;
      const { keyword, source, pointer, chosen, note } = candidate;
      let tries = 0;
      for (const part of candidate.parts) {
        tries += 1;
        if (tries > 8) return undefined;
        const whole = 'whole' in candidate ? candidate.whole : spot.write(part);
        if (!accepts(whole)) continue;
        const key = `${spot.pointer} ${JSON.stringify(spot.value)}`;
        if (isSame(part, spot.value) && !others.has(key)) others.set(key, otherThan(site, accepts));
        // A property without keywords has the nearest place.
        const nearest = shape.sources.map((one) => document.placeOf(one)).find((one) => one !== undefined);
        const place = candidate.place ?? placeOf(document, source, keyword) ?? nearest;
        const neighbour = isSame(part, spot.value) ? others.get(key) : spot.whole;
        return { keyword, pointer, place, value: whole, note: note(part), neighbour, chosen };
      }
      return undefined;
    },
    2000,
  );
}

/** The value with another value at the spot. */
function otherThan({ spot, values, direction }: Site, accepts: (whole: unknown) => boolean): unknown {
  const parts = [0, 1, 2].map((seed) => values.generate(spot.schemas, direction, 'some', seed, spot.name));
  return parts
    .filter((part) => !isSame(part, spot.value))
    .map(spot.write)
    .find(accepts);
}

function* candidatesOf(site: Site): Generator<Candidate> {
  const { value, shape } = site.spot;
  yield* presenceBounds(site);
  yield* branchBounds(site);
  const source = sourceOf(shape, 'enum') ?? shape.sources.find((one) => 'const' in one);
  const keyword = source !== undefined && 'enum' in source ? 'enum' : 'const';
  for (const member of shape.enum ?? [])
    yield site.one(keyword, [member], `is ${shortened(member)}, one of the ${keyword}`, {
      ...{ source, detail: JSON.stringify(member), chosen: member },
    });
  if (shape.enum !== undefined) return;
  if (typeof value === 'string') yield* textBounds(site, value);
  if (typeof value === 'number') yield* numberBounds(site, value);
  if (typeof value === 'boolean')
    for (const member of [true, false]) yield site.one('type', [member], `is ${member}`, { detail: String(member) });
  if (Array.isArray(value)) yield* listBounds(site, value);
  if (isObject(value)) yield* objectBounds(site, value);
}

/** Present, absent, null, the default sent explicitly, and a value of each allowed type. */
function* presenceBounds(site: Site): Generator<Candidate> {
  const { shape, pointer, value, omit } = site.spot;
  const is = (part: unknown) => `is ${shortened(part)}`;
  const [source] = shape.sources;
  if (sourceOf(shape, 'default') !== undefined || shape.sources.some((one) => 'default' in one)) {
    const defaulted = shape.sources.find((one) => 'default' in one);
    yield site.one('default', [defaulted?.default], (part) => `${is(part)}, its default`, { source: defaulted });
  }
  if (pointer !== '' && value !== null) yield site.one('type', [value], 'is present', { detail: 'present' });
  if (omit !== undefined) {
    const place = source && site.document.placeOf(source);
    const more = { source, place, detail: 'absent', whole: omit() };
    yield site.one('required', [undefined], 'is omitted, and is not required', more);
  }
  const types = likelyTypes(shape);
  if (shape.enum === undefined && types.includes('null')) yield site.one('type', [null], 'is null', { detail: 'null' });
  const ordinary = { string: 'text', boolean: true, integer: 1, number: 1.5, array: [], object: {}, null: null };
  const isMixed = types.length > 2 || (types.length === 2 && !types.includes('null'));
  for (const type of isMixed && types.length < 5 ? types : [])
    yield site.one('type', [ordinary[type]], is, { detail: type });
}

function* branchBounds(site: Site): Generator<Candidate> {
  for (const { choice, branch } of site.spot.matched) {
    const { keyword, source } = choice;
    const list = source[keyword];
    const place = Array.isArray(list) ? site.document.placeOf(list, String(branch)) : undefined;
    if (keyword !== 'if')
      yield site.one(keyword, [site.spot.value], `matches branch ${branch + 1} of ${keyword}`, {
        ...{ source, place, detail: String(branch), chosen: branch },
      });
  }
}

function* textBounds(site: Site, text: string): Generator<Candidate> {
  const { shape } = site;
  const { minLength, maxLength, format } = shape;
  const exactly = (keyword: string) => (part: unknown) => `has ${characters(part)}, exactly ${keyword}`;
  if (minLength > 0 && minLength <= longest)
    yield site.one('minLength', resized(text, minLength, shape), exactly('minLength'), {
      source: sourceOf(shape, 'minLength', minLength),
    });
  else yield site.one('type', [''], 'is empty', { detail: 'empty' });
  if (maxLength <= longest && maxLength > 0) {
    const source = sourceOf(shape, 'maxLength', maxLength);
    yield site.one('maxLength', resized(text, maxLength, shape), exactly('maxLength'), { source });
    const twoUnits = (part: unknown) => `${exactly('maxLength')(part)}, each of two UTF-16 units`;
    if (shape.patterns.length === 0 && format === undefined)
      yield site.one('maxLength', ['😀'.repeat(maxLength)], twoUnits, { source, detail: 'astral' });
  }
  for (const extreme of extremes[format ?? ''] ?? [])
    yield site.one('format', [extreme], `is ${shortened(extreme)}, a ${format}`, { detail: extreme });
  // RFC 3339 allows lower case, but not every server must accept it. A pattern can require it.
  const lower = text.toLowerCase();
  if (format === 'date-time' && shape.patterns.length > 0)
    yield site.one('pattern', [lower], `is ${shortened(lower)}, in lower case as its pattern allows`, {
      detail: 'lower',
    });
}

function* numberBounds(site: Site, value: number): Generator<Candidate> {
  const { shape } = site;
  const isWhole = !shape.types.has('number');
  const { low, high, step } = rangeOf(shape, isWhole);
  const is = (part: unknown) => `is ${shortened(part)}`;
  const ends = [
    [low, shape.exclusiveMinimum, shape.minimum, 'exclusiveMinimum', 'minimum', 'least'],
    [high, shape.exclusiveMaximum, shape.maximum, 'exclusiveMaximum', 'maximum', 'greatest'],
  ] as const;
  for (const [end, exclusive, inclusive, exclusiveKeyword, inclusiveKeyword, word] of ends) {
    if (end === undefined) continue;
    const isTighter = (one: number, other: number) => (word === 'least' ? one >= other : one <= other);
    const isExclusive = exclusive !== undefined && (inclusive === undefined || isTighter(exclusive, inclusive));
    const keyword = isExclusive ? exclusiveKeyword : inclusive === undefined ? 'format' : inclusiveKeyword;
    const source = sourceOf(shape, keyword, isExclusive ? exclusive : inclusive);
    yield site.one(keyword, [end], (part) => `${is(part)}, the ${word} that ${keyword} allows`, {
      source,
      detail: word,
    });
  }
  for (const size of shape.multiplesOf) {
    const times = Math.round(value / size);
    const near = [times + 1, times - 1, 1].map((count) => multiple(size, count));
    const parts = [...near, ...(low === undefined ? [] : [low + (step ?? size)])];
    const source = sourceOf(shape, 'multipleOf', size);
    yield site.one('multipleOf', parts, (part) => `${is(part)}, a multiple of ${size}`, { source });
  }
  yield site.one('type', [0], is, { detail: 'zero' });
  const fractions = [0.5, Number((value + 0.25).toPrecision(15)), ((low ?? 0) + (high ?? 1)) / 2];
  if (!isWhole)
    yield site.one(
      'type',
      fractions.filter((one) => !Number.isInteger(one)),
      is,
      { detail: 'fraction' },
    );
}

function* listBounds(site: Site, list: readonly unknown[]): Generator<Candidate> {
  const { minItems, maxItems } = site.shape;
  for (const [keyword, count] of [
    ['minItems', minItems],
    ['maxItems', maxItems],
  ] as const) {
    const source = sourceOf(site.shape, keyword, count);
    if (count > 0 && Number.isFinite(count) && !isTooLarge(list, count))
      yield site.one(keyword, site.lists(list, count), (part) => `has ${items(part)}, exactly ${keyword}`, { source });
    else if (keyword === 'minItems') yield site.one('type', [[]], 'is empty', { detail: 'empty' });
  }
}

function* objectBounds(site: Site, object: JsonObject): Generator<Candidate> {
  const { spot, document, shape } = site;
  const names = Object.keys(object);
  const needed = names.filter((name) => shape.required.has(name));
  for (const name of names) {
    if (shape.required.has(name)) continue;
    const [source] = shape.properties.get(name) ?? [];
    // If a minimum number of properties is required, another property replaces the omitted one.
    const wider = names.length > shape.minProperties ? [] : site.widened(object, names.length + 1);
    yield site.one(
      'required',
      [object, ...wider].map((one) => withoutMember(one, name)),
      '',
      {
        ...{ source, place: source && document.placeOf(source), detail: 'absent' },
        pointer: `${spot.pointer}/${escapeSegment(name)}`,
        note: () => `${site.named(name)} is omitted, and is not required`,
      },
    );
  }
  const exactly = (keyword: string) => (part: unknown) => `has ${properties(part)}, exactly ${keyword}`;
  const least = site.narrowed(object, Math.max(needed.length, shape.minProperties));
  if (shape.minProperties > 0) {
    const source = sourceOf(shape, 'minProperties', shape.minProperties);
    yield site.one('minProperties', [least], exactly('minProperties'), { source });
  } else {
    const source = sourceOf(shape, 'required') ?? sourceOf(shape, 'properties');
    yield site.one('required', [least], 'has only required properties', { source, detail: 'least' });
  }
  if (shape.maxProperties <= 10_000) {
    const source = sourceOf(shape, 'maxProperties', shape.maxProperties);
    yield site.one('maxProperties', site.widened(object, shape.maxProperties), exactly('maxProperties'), { source });
  }
  const source = shape.sources.find(({ additionalProperties }) => additionalProperties === true);
  const note = 'has an unknown property, which additionalProperties allows';
  if (source !== undefined)
    yield site.one('additionalProperties', [withMember(object, 'anotherProperty', 'text')], note, { source });
}
