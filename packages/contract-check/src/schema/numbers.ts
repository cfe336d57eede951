import type { Shape } from './shape.ts';

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

function decimalsOf(value: number): number {
  const [mantissa = '', exponent = '0'] = String(value).split('e');
  return Math.max(0, (mantissa.split('.')[1] ?? '').length - Number(exponent));
}

/** A multiple without floating-point error. */
export function multiple(step: number, times: number): number {
  const decimals = decimalsOf(step);
  if (decimals === 0) return step * times;
  if (decimals > 15) return step * times;
  return Number(`${Math.round(step * 10 ** decimals) * times}e-${decimals}`);
}

/** The step between valid numbers; undefined if there is none. */
export function stepOf(shape: Shape, isWhole: boolean): number | undefined {
  const steps = isWhole ? [1, ...shape.multiplesOf] : shape.multiplesOf;
  const [first, ...others] = steps;
  if (first === undefined) return undefined;
  const decimals = Math.max(...steps.map(decimalsOf));
  if (decimals > 9) return first;
  const scale = 10 ** decimals;
  const common = others.reduce(
    (found, step) => leastCommonMultiple(found, Math.round(step * scale)),
    Math.round(first * scale),
  );
  return Number(`${common}e-${decimals}`);
}

function leastCommonMultiple(left: number, right: number): number {
  let [larger, smaller] = [left, right];
  while (smaller !== 0) [larger, smaller] = [smaller, larger % smaller];
  return (left / larger) * right;
}

interface NumberRange {
  readonly low: number | undefined;
  readonly high: number | undefined;
  readonly step: number | undefined;
}

/** The smallest and largest number that match the steps; undefined without a bound. */
export function rangeOf(shape: Shape, isWhole: boolean): NumberRange {
  const step = stepOf(shape, isWhole);
  const [formatLow, formatHigh] = formatRanges[shape.format ?? ''] ?? [undefined, undefined];
  const lows = [shape.minimum, shape.exclusiveMinimum, formatLow].filter((value) => value !== undefined);
  const highs = [shape.maximum, shape.exclusiveMaximum, formatHigh].filter((value) => value !== undefined);
  const low = lows.length === 0 ? undefined : Math.max(...lows);
  const high = highs.length === 0 ? undefined : Math.min(...highs);
  const away = (value: number, direction: 1 | -1, isExcluded: boolean) => {
    if (step === undefined) {
      if (!isExcluded) return value;
      const distance = low !== undefined && high !== undefined ? Math.min(0.01, (high - low) / 8) : 0.01;
      return Number((value + direction * distance).toPrecision(15));
    }
    const times = value / step;
    const near = Math.round(times);
    const isOn = Math.abs(times - near) < 1e-9 * Math.max(1, Math.abs(times));
    const at = isOn ? near : direction === 1 ? Math.ceil(times) : Math.floor(times);
    return multiple(step, isOn && isExcluded ? at + direction : at);
  };
  return {
    low: low === undefined ? undefined : away(low, 1, low === shape.exclusiveMinimum),
    high: high === undefined ? undefined : away(high, -1, high === shape.exclusiveMaximum),
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
