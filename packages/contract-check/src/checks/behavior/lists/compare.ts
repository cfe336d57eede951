import { isObject } from '../../../json.ts';

/** Whether two values are equal for a filter; undefined where servers may differ, such as in case or hidden digits. */
export function isEqual(left: unknown, right: unknown): boolean | undefined {
  if (isBlank(left) || isBlank(right)) return undefined;
  if (left === right || String(left) === String(right)) return isInstant(left) ? undefined : true;
  const numbers = [numberOf(left), numberOf(right)];
  if (numbers.every((one) => one !== undefined)) return numbers[0] === numbers[1];
  const instants = [instantOf(left), instantOf(right)];
  if (instants.every((one) => one !== undefined)) {
    // A day covers all its timestamps, in an unknown time zone.
    const distance = Math.abs(Number(instants[0]) - Number(instants[1]));
    const slack = isInstant(left) && isInstant(right) ? 1000 : 48 * 3600 * 1000;
    return distance < slack ? undefined : false;
  }
  return folded(left) === folded(right) ? undefined : false;
}

const collators = [
  new Intl.Collator('en'),
  new Intl.Collator('en', { numeric: true }),
  new Intl.Collator('en', { caseFirst: 'upper' }),
  new Intl.Collator('en', { sensitivity: 'base' }),
  new Intl.Collator('en', { ignorePunctuation: true }),
  new Intl.Collator('en', { ignorePunctuation: true, numeric: true }),
];

/** The comparison in all plausible collations; undefined if they disagree. */
export function compare(left: unknown, right: unknown): number | undefined {
  if (typeof left === 'boolean' && typeof right === 'boolean') return Number(left) - Number(right);
  if (left === right) return 0;
  const numbers = [numberOf(left), numberOf(right)];
  if (numbers.every((one) => one !== undefined)) {
    const byNumber = Math.sign(Number(numbers[0]) - Number(numbers[1]));
    // `007` may be a code, which sorts as text. A decimal point indicates an amount.
    const isAmount = typeof left === 'number' || `${left}${right}`.includes('.');
    return isAmount || byNumber === byText(String(left), String(right)) ? byNumber : undefined;
  }
  const instants = [instantOf(left), instantOf(right)];
  if (instants.every((one) => one !== undefined)) {
    const distance = Number(instants[0]) - Number(instants[1]);
    // Equal values may differ in hidden digits.
    return isInstant(left) !== isInstant(right) && Math.abs(distance) < 48 * 3600 * 1000
      ? undefined
      : Math.sign(distance);
  }
  if (typeof left !== 'string' || typeof right !== 'string') return undefined;
  const results = new Set([
    ...collators.map((collator) => Math.sign(collator.compare(left, right))),
    byText(left, right),
    byText(left.toLowerCase(), right.toLowerCase()),
    byText(left.toUpperCase(), right.toUpperCase()),
  ]);
  return results.size === 1 ? [...results][0] : undefined;
}

function byText(left: string, right: string): number {
  return Math.sign(Buffer.compare(Buffer.from(left), Buffer.from(right)));
}

export function isBlank(value: unknown): boolean {
  return value === null || value === undefined;
}

/** Parses a number, or a decimal as a string. */
export function numberOf(value: unknown): number | undefined {
  if (typeof value === 'number') return value;
  return typeof value === 'string' && /^-?\d{1,15}(?:\.\d{1,10})?$/.test(value) ? Number(value) : undefined;
}

const day = /^\d{4}-\d\d-\d\d$/;
const instant = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d/;

export function isDay(value: unknown): boolean {
  return typeof value === 'string' && day.test(value);
}

export function isInstant(value: unknown): boolean {
  return typeof value === 'string' && instant.test(value);
}

export function instantOf(value: unknown): number | undefined {
  if (!isDay(value) && !isInstant(value)) return undefined;
  const time = Date.parse(String(value));
  return Number.isNaN(time) ? undefined : time;
}

export function isScalar(value: unknown): boolean {
  return ['string', 'number', 'boolean'].includes(typeof value);
}

/** Whether a text occurs anywhere in a row. Free-text filters may search more properties than their names suggest. */
export function mentions(value: unknown, text: string): boolean {
  if (Array.isArray(value)) return value.some((item) => mentions(item, text));
  if (isObject(value)) return Object.values(value).some((member) => mentions(member, text));
  return isScalar(value) && folded(value).includes(folded(text));
}

export function folded(value: unknown): string {
  return String(value).normalize('NFKD').toLowerCase().trim();
}
