import { isDeepStrictEqual } from 'node:util';
import { regularExpression } from '../document/patterns.ts';
import { likelyTypes, type Shape } from '../document/shape.ts';
import { isObject, type JsonObject, jsonText, type TypeName, typeOf } from '../json.ts';
import {
  bounding,
  breaking,
  type Candidate,
  longest,
  resized,
  sourceOf,
  swapCase,
  unknownName,
  unquoted,
} from './candidate.ts';
import { branches, lists, noBranches, objects } from './composites.ts';
import { extremes, wrongFormats, wrongNumbers } from './hostile.ts';
import { exact, multiple, rangeOf, stepOf } from './numbers.ts';
import type { Spot } from './spots.ts';
import { fits, lengthOf } from './texts.ts';
import type { Values } from './values.ts';

/** Longer valid texts test the server's limit on bodies instead of the constraint. */
const maxBound = 200_000;
/** SMTP has no longer addresses. */
const maxEmail = 254;

/** For every constraint of a place: values that violate it, and values at its boundary. */
export function* candidatesAt(values: Values, spot: Spot): Generator<Candidate> {
  const { value, shape } = spot;
  yield* types(spot);
  yield* words(spot);
  yield* branches(values, spot);
  for (const source of shape.sources) yield* sizes(values, spot, source);
  if (typeof value === 'string') yield* texts(spot, value);
  if (typeof value === 'number') yield* numbers(spot, value);
  if (typeof value === 'boolean')
    for (const part of [true, false]) yield bounding('type', [part], { detail: String(part) });
  if (Array.isArray(value)) yield* lists(values, spot, value);
  if (isObject(value)) yield* objects(values, spot, value);
  yield* noBranches(values, spot);
}

function* types({ shape, value, pointer }: Spot): Generator<Candidate> {
  const defaulted = shape.sources.find((one) => 'default' in one);
  if (defaulted !== undefined) yield bounding('default', [defaulted.default], { source: defaulted });
  if (pointer !== '' && value !== null) yield bounding('type', [value], { detail: 'present' });
  const likely = likelyTypes(shape);
  if (shape.enum === undefined && likely.includes('null')) yield bounding('type', [null], { detail: 'null' });
  const ordinary = { string: 'text', boolean: true, integer: 1, number: 1.5, array: [], object: {}, null: null };
  const isMixed = likely.length > 2 || (likely.length === 2 && !likely.includes('null'));
  for (const type of isMixed && likely.length < 5 ? likely : [])
    yield bounding('type', [ordinary[type]], { detail: type });
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
    ['string', unquoted, [12]],
    ['string', `${unquoted} word`, [true]],
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
      yield breaking('type', others, { source, detail });
  }
}

function* words({ shape }: Spot): Generator<Candidate> {
  const listed = sourceOf(shape, 'enum') ?? shape.sources.find((one) => 'const' in one);
  const own = listed !== undefined && 'enum' in listed ? 'enum' : 'const';
  for (const member of shape.enum ?? []) yield bounding(own, [member], { source: listed, detail: jsonText(member) });
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
      yield breaking(isConst ? 'const' : 'enum', parts, { source, detail });
    }
  }
}

function* sizes(values: Values, { value, shape, name }: Spot, source: JsonObject): Generator<Candidate> {
  const [unit, sized] =
    typeof value === 'string'
      ? (['Length', (size: number) => resized(value, size, shape)] as const)
      : Array.isArray(value)
        ? (['Items', (size: number) => values.lists(shape, value, size, name)] as const)
        : isObject(value)
          ? (['Properties', (size: number) => values.objects(shape, value, size)] as const)
          : [];
  if (unit === undefined) return;
  for (const [end, step] of [['min', -1] as const, ['max', 1] as const]) {
    const keyword = `${end}${unit}`;
    const limit = source[keyword];
    if (typeof limit !== 'number' || limit >= longest || (limit === 0 && step < 0)) continue;
    yield breaking(keyword, sized(limit + step), { source });
    const most = shape.format === 'email' ? maxEmail : maxBound;
    if (limit > 0 && limit <= most) yield bounding(keyword, sized(limit), { source });
  }
}

function* texts({ shape }: Spot, text: string): Generator<Candidate> {
  const { minLength, maxLength, format } = shape;
  // An empty file says that none was chosen.
  if (minLength === 0 && format !== 'binary') yield bounding('type', [''], { detail: 'empty' });
  // Each character has two UTF-16 units.
  if (maxLength <= maxBound && maxLength > 0 && shape.patterns.length === 0 && format === undefined)
    yield bounding('maxLength', ['😀'.repeat(maxLength)], {
      source: sourceOf(shape, 'maxLength', maxLength),
      detail: 'astral',
      neighbour: '😀'.repeat(Math.max(minLength, Math.ceil(maxLength / 2))),
    });
  for (const extreme of extremes[format ?? ''] ?? []) yield bounding('format', [extreme], { detail: extreme });
  // RFC 3339 allows lower case, but not every server must accept it. A pattern can require it.
  if (format === 'date-time' && shape.patterns.length > 0)
    yield bounding('pattern', [text.toLowerCase()], { detail: 'lower' });
  for (const source of shape.sources) {
    const { pattern, format: own } = source;
    if (typeof pattern === 'string') {
      const others = { ...shape, patterns: shape.patterns.filter((one) => one !== pattern) };
      for (const [detail, parts] of Object.entries(mismatchesOf(text, shape))) {
        const mismatches = parts
          .filter((part) => !regularExpression(pattern).test(part))
          .sort((left, right) => Number(fits(right, others)) - Number(fits(left, others)));
        yield breaking('pattern', mismatches, { source, detail });
      }
    }
    for (const wrong of wrongFormats[String(own)] ?? []) yield breaking('format', [wrong], { source, detail: wrong });
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

function* numbers({ shape }: Spot, value: number): Generator<Candidate> {
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
      yield breaking(keyword, parts, { source });
      // A value far outside also reveals a missing check with tolerance.
      const far = bound + direction * Math.round(Math.max(1000, Math.abs(bound)) / (step ?? 1)) * (step ?? 1);
      yield breaking(keyword, [exact(far)], { source, detail: 'far' });
      yield bounding(keyword, [end], { source });
    }
    const { multipleOf: size, format } = source;
    if (typeof size === 'number') {
      const fractions = [size / 2, -size / 2, size / 10, -size / 10].map((part) => exact(value + part));
      yield breaking('multipleOf', [...(isWhole ? [value + 1, value - 1] : []), ...fractions], { source });
      const times = Math.round(value / size);
      const near = [times + 1, times - 1, 1].map((count) => multiple(size, count));
      yield bounding('multipleOf', [...near, ...(low === undefined ? [] : [low + (step ?? size)])], { source });
    }
    const wrongs = wrongNumbers[String(format)] ?? [];
    for (const wrong of wrongs) yield breaking('format', [wrong], { source, detail: String(wrong) });
    for (const end of wrongs.length > 0 ? [low, high] : [])
      yield bounding('format', [end], { source, detail: String(end) });
  }
  yield bounding('type', [0], { detail: 'zero' });
  const fractions = [0.5, exact(value + 0.25), ((low ?? 0) + (high ?? 1)) / 2];
  if (!isWhole)
    yield bounding(
      'type',
      fractions.filter((one) => !Number.isInteger(one)),
      { detail: 'fraction' },
    );
}
