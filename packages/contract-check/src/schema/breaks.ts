import type { OpenApiDocument } from '../document/document.ts';
import { escapeSegment, isObject, type JsonObject, unescapeSegment } from '../json.ts';
import {
  type Break,
  type Candidate,
  characters,
  foundAt,
  isTooLarge,
  items,
  longest,
  placeOf,
  properties,
  resized,
  type Site,
  shortened,
} from './candidates.ts';
import { wrongFormats, wrongNumbers } from './formats.ts';
import { isForeign, memberSchemas, nothing, regularExpression, type Shape, shapeOf, type TypeName } from './shape.ts';
import type { Breach, Direction, Validators } from './validators.ts';
import { fits, isSame, lengthOf, objectOf, stepOf, typeOf, withMember, withoutMember } from './values.ts';

/** A property name that no contract declares. */
const unknownName = 'notInTheContract';

/** Values that violate one constraint each, for every constraint that applies or could apply to the value. */
export function breaksOf(
  document: OpenApiDocument,
  validators: Validators,
  schema: JsonObject,
  value: unknown,
  direction: Direction = 'request',
  { limit = 2000 }: { readonly limit?: number } = {},
): Break[] {
  return foundAt(
    document,
    validators,
    schema,
    value,
    direction,
    candidatesOf,
    (candidate, { spot }): Break | undefined => {
      const { keyword, pointer, source, note } = candidate;
      const confirmed = confirmedPart(candidate, (part) => validators.breaches(schema, spot.write(part), direction));
      if (confirmed === undefined) return undefined;
      const { part } = confirmed;
      return { keyword, pointer, place: placeOf(document, source, keyword), value: spot.write(part), note: note(part) };
    },
    limit,
  );
}

const composites = new Set(['oneOf', 'anyOf', 'not', 'if', 'contains', 'unevaluatedProperties', 'unevaluatedItems']);

/** The first part that violates the candidate's keyword, preferably nothing else. */
function confirmedPart(
  candidate: Candidate,
  breachesOf: (part: unknown) => Breach[],
): { readonly part: unknown } | undefined {
  let second: { part: unknown } | undefined;
  let tries = 0;
  for (const part of candidate.parts) {
    tries += 1;
    if (tries > 24) break;
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

function* candidatesOf(site: Site): Generator<Candidate> {
  const { value } = site.spot;
  yield* typeBreaks(site);
  yield* enumBreaks(site);
  if (typeof value === 'string') yield* textBreaks(site, value);
  if (typeof value === 'number') yield* numberBreaks(site, value);
  if (Array.isArray(value)) yield* listBreaks(site, value);
  if (isObject(value)) yield* objectBreaks(site, value);
  yield* branchBreaks(site);
}

const article: Readonly<Record<TypeName, string>> = {
  ...{ null: 'null', boolean: 'a boolean', integer: 'an integer', number: 'a number' },
  ...{ string: 'a string', array: 'an array', object: 'an object' },
};

function* typeBreaks(site: Site): Generator<Candidate> {
  const { shape, spot } = site;
  const { value } = spot;
  const source = shape.sources.find(({ type }) => type !== undefined);
  if (source === undefined) return;
  const [first = 'text'] = Array.isArray(value) ? value : [];
  const whole = typeof value === 'number' ? value : 1;
  const wrong: readonly (readonly [type: TypeName, detail: string, parts: unknown[]])[] = [
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
  ];
  const types = [...shape.types].filter((type) => type !== 'integer' || !shape.types.has('number'));
  const expected = types.map((type) => article[type]).join(' or ');
  const note = (part: unknown) =>
    `is ${part === null ? 'null' : `${article[typeOf(part)]} (${shortened(part)})`}, not ${expected}`;
  const allowed = wrong.filter(([type]) => shape.types.has(type));
  for (const [, detail, parts] of [...allowed, [undefined, 'null', [null]] as const]) {
    const others = parts.filter((part) => !shape.types.has(typeOf(part)));
    if (others.length > 0) yield site.one('type', others, note, { source, detail });
  }
}

function* enumBreaks(site: Site): Generator<Candidate> {
  for (const source of site.shape.sources) {
    const isConst = 'const' in source;
    const members: unknown[] = isConst ? [source.const] : Array.isArray(source.enum) ? source.enum : [];
    const keyword = isConst ? 'const' : 'enum';
    const isOther = (part: unknown) => !members.some((member) => isSame(member, part));
    const texts = members.filter((member) => typeof member === 'string');
    const numbers = members.filter((member) => typeof member === 'number');
    const swapped = texts.map(swapCase).filter((part, index) => part !== texts[index]);
    const ofTexts = {
      case: swapped,
      unknown: ['NO_SUCH_VALUE', 'no-such-value', `${texts[0]}${texts[0]}`],
      empty: [''],
    };
    const others: Record<string, unknown[]> = {
      ...(texts.length > 0 ? ofTexts : {}),
      ...(numbers.length > 0 ? { next: [Math.max(...numbers) + 1, Math.min(...numbers) - 1] } : {}),
      ...(members.some((member) => typeof member === 'boolean') ? { boolean: [true, false] } : {}),
      ...(members.some((member) => typeof member === 'object' && member !== null)
        ? { composite: [{}, [], { [unknownName]: 1 }] }
        : {}),
    };
    for (const [detail, parts] of Object.entries(others))
      yield site.one(
        keyword,
        parts.filter(isOther).slice(0, 3),
        (part) => `is ${shortened(part)}, which is not in the ${keyword}`,
        {
          source,
          detail,
        },
      );
  }
}

function* textBreaks(site: Site, text: string): Generator<Candidate> {
  const { shape } = site;
  for (const source of shape.sources) {
    const { minLength, maxLength, pattern, format } = source;
    if (typeof minLength === 'number' && minLength > 0)
      yield site.one(
        'minLength',
        resized(text, minLength - 1, shape),
        (part) => `is ${characters(part)} long, one less than minLength`,
        { source },
      );
    if (typeof maxLength === 'number' && maxLength < longest)
      yield site.one(
        'maxLength',
        resized(text, maxLength + 1, shape),
        (part) => `is ${characters(part)} long, one more than maxLength`,
        { source },
      );
    if (typeof pattern === 'string') {
      const others = { ...shape, patterns: shape.patterns.filter((one) => one !== pattern) };
      for (const [detail, parts] of Object.entries(mismatchesOf(text, shape))) {
        const mismatches = parts
          .filter((part) => regularExpression(pattern)?.test(part) === false)
          .sort((left, right) => Number(fits(right, others)) - Number(fits(left, others)));
        yield site.one('pattern', mismatches, (part) => `is ${shortened(part)}, which does not match ${pattern}`, {
          source,
          detail,
        });
      }
    }
    for (const wrong of wrongFormats[String(format)] ?? [])
      yield site.one('format', [wrong], `is ${shortened(wrong)}, which is not a valid ${format}`, {
        source,
        detail: wrong,
      });
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

function* numberBreaks(site: Site, value: number): Generator<Candidate> {
  const { shape } = site;
  const step = stepOf(shape, !shape.types.has('number'));
  const exact = (number: number) => Number(number.toPrecision(15));
  const away = (bound: number, direction: number) => {
    const found = exact(bound + direction * (step ?? (Number.isInteger(bound) ? 1 : 0.01)));
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
      const note = (part: unknown) => `is ${shortened(part)}, ${word} ${keyword} ${bound}`;
      const near = away(bound, direction);
      const parts = keyword.startsWith('exclusive') ? [bound, near] : [near, bound + direction * 1000];
      yield site.one(keyword, parts, note, { source });
      // A value far outside also reveals a missing check with tolerance.
      const far = bound + direction * Math.round(Math.max(1000, Math.abs(bound)) / (step ?? 1)) * (step ?? 1);
      yield site.one(keyword, [exact(far)], note, { source, detail: 'far' });
    }
    const { multipleOf: size, format } = source;
    if (typeof size === 'number') {
      const fractions = [size / 2, -size / 2, size / 10, -size / 10].map((part) => exact(value + part));
      const whole = shape.types.has('number') ? [] : [value + 1, value - 1];
      const note = (part: unknown) => `is ${shortened(part)}, which is not a multiple of ${size}`;
      yield site.one('multipleOf', [...whole, ...fractions], note, { source });
    }
    for (const wrong of wrongNumbers[String(format)] ?? [])
      yield site.one('format', [wrong], `is ${shortened(wrong)}, which is not a valid ${format}`, {
        source,
        detail: String(wrong),
      });
  }
}

function* listBreaks(site: Site, list: readonly unknown[]): Generator<Candidate> {
  const { shape, subject } = site;
  const composite = { isComposite: true };
  for (const source of shape.sources) {
    const { minItems, maxItems } = source;
    if (typeof minItems === 'number' && minItems > 0) {
      const parts = [list.slice(0, minItems - 1), list.slice(list.length - minItems + 1)];
      yield site.one('minItems', parts, (part) => `has ${items(part)}, one less than minItems`, { source });
    }
    if (typeof maxItems === 'number' && !isTooLarge(list, maxItems + 1))
      yield site.one(
        'maxItems',
        site.lists(list, maxItems + 1),
        (part) => `has ${items(part)}, one more than maxItems`,
        { source },
      );
    if (source.uniqueItems === true)
      yield site.one('uniqueItems', twins(site, list), '', {
        source,
        note: () => `two items of ${subject} are the same`,
      });
    for (const keyword of ['items', 'unevaluatedItems', 'additionalItems'])
      if (source[keyword] === false)
        yield site.one(
          keyword,
          [
            [...list, 'more'],
            [...list, 1],
          ],
          'has more items than prefixItems',
          { source, ...composite },
        );
  }
  for (const { schema, source, least, most } of shape.contains) {
    const isContained = (item: unknown) => site.values.accepts(schema, item, site.direction);
    if (least > 0) {
      const none = list.filter((item) => !isContained(item));
      const other = site.lists(none, Math.max(1, shape.minItems), (item) => !isContained(item));
      const note = () => `too few items of ${subject} match contains`;
      yield site.one('contains', [none, ...other], '', { source, note, ...composite });
    }
    const sample = list.find(isContained);
    if (Number.isFinite(most) && sample !== undefined) {
      const note = () => `more items of ${subject} match contains than maxContains allows`;
      yield site.one('maxContains', [[...list, ...Array<unknown>(most).fill(sample)]], '', {
        source,
        note,
        ...composite,
      });
    }
  }
}

function* twins(site: Site, list: readonly unknown[]): Generator<unknown[]> {
  const [first] = list;
  if (list.length > 0) {
    if (list.length < site.shape.maxItems) yield [...list, first];
    yield [first, first, ...list.slice(2)];
  }
  for (const [item] of site.lists([], 1))
    yield [item, isObject(item) ? objectOf(Object.entries(item).reverse()) : item];
}

function* objectBreaks(site: Site, object: JsonObject): Generator<Candidate> {
  const { shape, subject, document, direction } = site;
  const at = (name: string) => `${site.spot.pointer}/${escapeSegment(name)}`;
  const isOurs = (name: string) => !isForeign(shapeOf(document, ...(memberSchemas(shape, name) ?? [])), direction);
  const [first, sample = 'text'] = Object.entries(object)[0] ?? [];
  for (const source of shape.sources) {
    for (const name of Array.isArray(source.required) ? source.required : []) {
      if (typeof name !== 'string' || !Object.hasOwn(object, name) || !isOurs(name)) continue;
      const note = () => `${site.named(name)} is missing`;
      yield site.one('required', [withoutMember(object, name)], '', { source, detail: name, pointer: at(name), note });
    }
    for (const keyword of ['additionalProperties', 'unevaluatedProperties']) {
      if (source[keyword] !== false) continue;
      const instead = first === undefined ? [] : [withMember(withoutMember(object, first), unknownName, 'unknown')];
      const note = () => `${site.named(unknownName)} is not in the contract`;
      const parts = [withMember(object, unknownName, 'unknown'), ...instead];
      yield site.one(keyword, parts, '', { source, pointer: at(unknownName), note });
    }
    const { minProperties: least, maxProperties: most } = source;
    if (typeof least === 'number' && least > 0)
      yield site.one(
        'minProperties',
        [site.narrowed(object, least - 1)],
        (part) => `has ${properties(part)}, one less than minProperties`,
        { source },
      );
    if (typeof most === 'number' && most < 20_000)
      yield site.one(
        'maxProperties',
        site.widened(object, most + 1),
        (part) => `has ${properties(part)}, one more than maxProperties`,
        { source },
      );
    for (const [name, list] of Object.entries(isObject(source.dependentRequired) ? source.dependentRequired : {})) {
      const all = Array.isArray(list) ? list.filter((one) => typeof one === 'string') : [];
      for (const needed of all) {
        const note = () => `${site.named(needed)} is missing, but ${name} requires it`;
        const parts = [withoutMember(withAll(site, object, [name, ...all]), needed)];
        yield site.one('dependentRequired', parts, '', {
          source,
          detail: `${name} ${needed}`,
          pointer: at(needed),
          note,
        });
      }
    }
    if (source.propertyNames !== undefined) {
      const names = ['', ' ', '!', 'not a name', 'NOT', 'not', '0', 'x'.repeat(300)];
      const parts = names.map((name) => withMember(object, name, sample));
      const note = () => `a property name in ${subject} does not match propertyNames`;
      yield site.one('propertyNames', parts, '', { source, note, isComposite: true });
    }
  }
  for (const { propertyName, source } of shape.discriminators) {
    if (!Object.hasOwn(object, propertyName)) continue;
    const note = () => `${site.named(propertyName)} has an unknown value`;
    const parts = [withMember(object, propertyName, 'NoSuchKind')];
    yield site.one('discriminator', parts, '', { source, pointer: at(propertyName), note, isComposite: true });
  }
}

/** The object with at least these properties. */
function withAll(site: Site, object: JsonObject, names: readonly string[]): JsonObject {
  return names.reduce((whole, name) => {
    const schemas = Object.hasOwn(whole, name) ? undefined : memberSchemas(site.shape, name);
    return schemas === undefined ? whole : withMember(whole, name, site.generate(schemas, 'least', 1, name));
  }, object);
}

function* branchBreaks(site: Site): Generator<Candidate> {
  const { spot, shape, values, direction } = site;
  const merged = (created: unknown) =>
    isObject(created) && isObject(spot.value) ? { ...spot.value, ...created } : created;
  for (const { keyword, source, branches } of shape.choices) {
    if (keyword === 'if') continue;
    const isIn = (schemas: readonly JsonObject[], part: unknown) =>
      schemas.every((schema) => values.accepts(schema, part, direction));
    const outside = [...outsiders(site, branches)].filter((part) => !branches.some((schemas) => isIn(schemas, part)));
    yield site.one(keyword, outside, `matches no branch of ${keyword}`, { source, detail: 'none', isComposite: true });
    if (keyword === 'anyOf') continue;
    const base = shape.sources.filter((one) => !branches.some((schemas) => schemas.includes(one)));
    const both = (function* () {
      for (const [index, left] of branches.entries())
        for (const right of branches.slice(index + 1, index + 4)) {
          const created = site.generate([...base, ...left, ...right], 'least', index);
          if (isIn([...left, ...right], created)) yield merged(created);
        }
    })();
    yield site.one(keyword, both, 'matches more than one branch of oneOf', {
      source,
      detail: 'two',
      isComposite: true,
    });
  }
  for (const source of shape.sources) {
    const { not } = source;
    if (!isObject(not) || source === nothing) continue;
    const parts = (function* () {
      for (let seed = 0; seed < 4; seed += 1)
        for (const extent of ['least', 'some', 'most'] as const) {
          const created = site.generate([...shape.sources, not], extent, seed);
          yield merged(created);
          yield created;
        }
    })();
    yield site.one('not', parts, 'matches `not`', { source, isComposite: true });
  }
}

/** Values that may match no branch. Values of the wrong type come last, because they violate more. */
function* outsiders(
  { spot: { value }, document }: Site,
  branches: readonly (readonly JsonObject[])[],
): Generator<unknown> {
  if (isObject(value)) {
    const named = new Set(branches.flatMap((schemas) => [...shapeOf(document, ...schemas).required]));
    yield objectOf(Object.entries(value).filter(([name]) => !named.has(name)));
    for (const name of named) yield withoutMember(value, name);
    yield {};
  }
  if (typeof value === 'string') yield* [swapCase(value), 'NO_SUCH_VALUE', ''];
  if (typeof value === 'number') yield value + 0.5;
  yield* ['NO_SUCH_VALUE', 12, true, null, [], {}, { [unknownName]: 1 }];
}

function swapCase(text: string): string {
  const lower = text.toLowerCase();
  return lower === text ? text.toUpperCase() : lower;
}
