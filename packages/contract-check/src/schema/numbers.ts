import { finite, type Shape } from '../document/shape.ts';
import { at, mapped } from '../json.ts';

/** A deterministic generator of integers below 2^30. */
export function dice(seed: number): () => number {
  let state = (Math.imul(seed | 0, 0x9e3779b1) ^ 0x5bd1e995) | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) >>> 2;
  };
}

export function picked<T>(list: readonly T[], roll: () => number): T | undefined {
  return list.length === 0 ? undefined : list[roll() % list.length];
}

export function shuffled<T>(list: readonly T[], roll: () => number): T[] {
  return list
    .map((item) => [roll(), item] as const)
    .sort(([left], [right]) => left - right)
    .map(([, item]) => item);
}

/** A number without floating-point error. */
export function exact(number: number): number {
  return Number(number.toPrecision(15));
}

export function multiple(step: number, times: number): number {
  return exact(step * times);
}

export function inWholeNumbers(value: unknown): unknown {
  return mapped(value, (node) => (typeof node === 'number' ? Math.ceil(node) : node));
}

/** Names of the start and of the end of a period. */
const periods: readonly (readonly [start: RegExp, end: string])[] = [
  [/start|begin/i, 'end'],
  [/from|since/i, 'to'],
  [/from|since/i, 'until'],
  [/check[-_]?in/i, 'checkout'],
  [/arrival/i, 'departure'],
];

/** A value in which each period is short, because no schema says that its end is after its start. */
export function inShortPeriods(value: unknown): unknown {
  const key = (name: string) => name.toLowerCase().replaceAll(/[-_]/g, '');
  return mapped(value, (node, name, pointer) => {
    const isStart = (other: string) =>
      periods.some(([start, end]) => start.test(other) && key(name) === key(other.replace(start, end)));
    const around: unknown = at(value, pointer.slice(0, pointer.lastIndexOf('/')));
    const [, begin] = Object.entries(Object(around)).find(([other]) => other !== name && isStart(other)) ?? [];
    const isTime = [begin, node].every((one) => /^\d{4}-\d\d-\d\d/.test(String(one)));
    const isDay = String(node).length === 10;
    const time = isTime ? Date.parse(String(begin)) + (isDay ? 24 : 1) * 3_600_000 : Number.NaN;
    if (Number.isNaN(time)) return node;
    return new Date(time).toISOString().replace(isDay ? /T.*/ : '.000Z', isDay ? '' : 'Z');
  });
}

/** The step between valid numbers; undefined if there is none. */
export function stepOf(shape: Shape, isWhole: boolean): number | undefined {
  const steps = isWhole ? [1, ...shape.multiplesOf] : shape.multiplesOf;
  if (steps.length < 2) return steps[0];
  const scale = 1e9;
  const divisor = (left: number, right: number): number => (right === 0 ? left : divisor(right, left % right));
  const common = (one: number, other: number) => (one / divisor(one, other)) * other;
  return exact(steps.map((step) => Math.max(1, Math.round(step * scale))).reduce(common) / scale);
}

/** The smallest and largest number that match the steps; undefined without a bound. */
export function rangeOf(shape: Shape, isWhole: boolean) {
  const step = stepOf(shape, isWhole);
  const [formatLow, formatHigh] = formatRanges[shape.format ?? ''] ?? [undefined, undefined];
  const known = (...bounds: (number | undefined)[]) => bounds.filter((bound) => bound !== undefined);
  const low = finite(Math.max(...known(shape.minimum, shape.exclusiveMinimum, formatLow)));
  const high = finite(Math.min(...known(shape.maximum, shape.exclusiveMaximum, formatHigh)));
  const nearest = (bound: number, direction: 1 | -1, isExcluded: boolean) => {
    if (step === undefined) {
      const distance = Math.min(0.01, ((high ?? Number.POSITIVE_INFINITY) - (low ?? Number.NEGATIVE_INFINITY)) / 8);
      return isExcluded ? exact(bound + direction * distance) : bound;
    }
    const times = Number((bound / step).toPrecision(12));
    const whole = direction === 1 ? Math.ceil(times) : Math.floor(times);
    return multiple(step, isExcluded && whole === times ? whole + direction : whole);
  };
  return {
    low: low === undefined ? undefined : nearest(low, 1, low === shape.exclusiveMinimum),
    high: high === undefined ? undefined : nearest(high, -1, high === shape.exclusiveMaximum),
    step,
  };
}

const formatRanges: Readonly<Record<string, readonly [number, number]>> = {
  int32: [-(2 ** 31), 2 ** 31 - 1],
  // JavaScript cannot represent larger integers exactly.
  int64: [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
};

export function numberIn(shape: Shape, type: 'integer' | 'number', roll: () => number): number {
  const { low, high, step = 0.01 } = rangeOf(shape, type === 'integer');
  const usual = type === 'integer' ? 100 : 1000;
  const isBare = shape.minimum === undefined && shape.exclusiveMinimum === undefined;
  const from = isBare ? Math.max(low ?? 1, Math.min(1, (high ?? 1) - usual)) : (low ?? 1);
  const to = Math.min(high ?? Number.POSITIVE_INFINITY, from + usual * Math.max(1, step));
  const first = Math.ceil(from / step - 1e-9);
  const last = Math.floor(to / step + 1e-9);
  if (last < first || !Number.isSafeInteger(first)) return low ?? high ?? 0;
  const value = multiple(step, first + (roll() % (last - first + 1)));
  return Math.min(to, Math.max(from, value));
}
