import { isScalar, literal } from '../../../json.ts';
import { compare, folded, hasZone, instantOf, isBlank, isDay, isEqual, isInstant } from './values.ts';

/** Whether a row matches a filter. Undefined means that servers may differ, such as in case or hidden digits. */
export type Truth = boolean | undefined;

export function and(results: readonly Truth[]): Truth {
  if (results.includes(false)) return false;
  return results.includes(undefined) ? undefined : true;
}

export function or(results: readonly Truth[]): Truth {
  if (results.includes(true)) return true;
  return results.includes(undefined) ? undefined : false;
}

export interface Precision {
  /** Whether responses show a value in full: numbers may be rounded, and timestamps truncated. */
  isShown(value: unknown): boolean;
  /** Whether days are days in UTC. */
  readonly hasUtcDays: boolean;
}

type Holds = (value: unknown, operand: unknown, precision: Precision) => Truth;

/** How a filter compares a property with an operand: `_gte` in `{ price: { _gte: 5 } }`, or `min` in `minPrice`. */
export interface Operator {
  readonly holds: Holds;
  /** The operand to send for a value of a row and the next value. Default: the value. */
  readonly operand?: ((value: unknown, next: unknown) => unknown) | undefined;
  /** All operands, if they are no values of rows. */
  readonly fixed?: readonly unknown[];
  /** Whether it compares timestamps, so that the exact value of a row is another observation. */
  readonly isRange?: boolean;
}

/** A row without a value does not match. */
const present =
  (holds: Holds): Holds =>
  (value, ...rest) =>
    isBlank(value) ? false : holds(value, ...rest);

/** Undefined if the row has no value: implementations negate nulls differently. */
const not = ({ holds, ...operator }: Operator): Operator => ({
  ...operator,
  holds: (value, ...rest) => {
    const result = isBlank(value) ? undefined : holds(value, ...rest);
    return result === undefined ? undefined : !result;
  },
});

/** The value, or any item of a list. */
const has = (value: unknown, operand: unknown): Truth => {
  if (!Array.isArray(value)) return isEqual(value, operand);
  return value.every(isScalar) ? or(value.map((item) => isEqual(item, operand))) : undefined;
};

const equal: Operator = { holds: present(has) };

/** Any or all of several values. For a list in the row, it is often not specified which; for one value, `all` may mean any. */
const several = (isAll?: boolean): Operator => ({
  holds: present((value, operands) => {
    const each = [operands].flat().map((one) => has(value, one));
    const isMany = Array.isArray(value);
    if (isAll === true && isMany) return and(each);
    const isOpen = isAll ?? isMany;
    return isOpen && or(each) !== false ? undefined : or(each);
  }),
  operand: (value, next) => (next === undefined ? [value] : [value, next]),
});

const hour = 3600 * 1000;

/** @param includes whether the bound itself matches; undefined if it is not specified. */
const range = (isFrom: boolean, includes?: boolean | 'no moments'): Operator => ({
  isRange: true,
  holds: present((value, bound, { isShown, hasUtcDays }) => {
    if (hasUtcDays && isDay(bound) && hasZone(value)) {
      const edge = (instantOf(bound) ?? 0) + (isFrom === includes ? 0 : 24 * hour);
      return isFrom === (instantOf(value) ?? 0) >= edge;
    }
    const result = compare(value, bound);
    if (result !== 0) return result === undefined ? undefined : isFrom === result > 0;
    if (!isShown(value)) return undefined;
    return includes === 'no moments' ? !isInstant(bound) || undefined : includes;
  }),
  operand: laterThatDay,
});

/** A timestamp later than the row's on the same day, which reveals a server that truncates to days. */
function laterThatDay(value: unknown): unknown {
  const time = hasZone(value) ? instantOf(value) : undefined;
  if (time === undefined) return value;
  const later = new Date(time + 2 * hour).toISOString();
  const isSameDay = later.slice(0, 10) === new Date(time).toISOString().slice(0, 10);
  return isSameDay ? (String(value).includes('.') ? later : later.replace(/\.\d+/, '')) : value;
}

function likePattern(text: string): RegExp {
  return new RegExp(`^${literal(text).replaceAll('%', '[^]*').replaceAll('_', '[^]')}$`, 'u');
}

/** A part of a text between wildcards, in another case if case is ignored. */
const like = (ignoresCase: boolean): Operator => ({
  holds: present((value, operand) => {
    if (typeof value !== 'string' || typeof operand !== 'string') return undefined;
    if (likePattern(operand).test(value)) return true;
    if (!likePattern(folded(operand)).test(folded(value))) return false;
    // A text that differs only in case matches a case-insensitive operator. Accents depend on the collation.
    return ignoresCase && likePattern(operand.toLowerCase()).test(value.toLowerCase()) ? true : undefined;
  }),
  operand: (value) => {
    const word = typeof value === 'string' ? /[A-Za-z\d]{2,}/.exec(value)?.[0] : undefined;
    return word && `%${ignoresCase ? inOtherCase(word) : word}%`;
  },
});

export function inOtherCase(text: string): string {
  return text === text.toUpperCase() ? text.toLowerCase() : text.toUpperCase();
}

const part = (test: 'includes' | 'startsWith' | 'endsWith', cut: (text: string) => string): Operator => ({
  holds: present((value, operand) => {
    if (Array.isArray(value)) return or(value.filter(isScalar).map((item) => isEqual(item, operand)));
    if (typeof value !== 'string' || typeof operand !== 'string') return undefined;
    if (!folded(value)[test](folded(operand))) return false;
    // Case sensitivity is not specified.
    return value[test](operand) ? true : undefined;
  }),
  operand: (value) => {
    const piece = typeof value === 'string' && value.length > 5 ? cut(value) : value;
    return /^[A-Za-z\d][A-Za-z\d -]*[A-Za-z\d]$/.test(String(piece)) ? piece : undefined;
  },
});

const presence = (isNull: boolean): Operator => ({
  holds: (value, operand) => (typeof operand === 'boolean' ? isBlank(value) === (operand === isNull) : undefined),
  // A server that only looks at whether the condition is there shows with false.
  fixed: [false, true],
});

/**
 * By their names: first those of members of a condition, as in `{ name: { _eq: 'Ann' } }`, then further ones, as words in names of
 * parameters and as `x-contract-check` declares them.
 */
const operators: readonly (readonly [inConditions: string, further: string, operator: Operator])[] = [
  ['eq equals is', '', equal],
  ['ne neq', '', not(equal)],
  ['in', 'any', several(false)],
  ['nin notin', '', not(several(false))],
  ['', 'all', several(true)],
  ['', 'several', several()],
  ['gt', '>', range(true, false)],
  ['gte ge', '>= min minimum from since least', range(true, true)],
  ['', 'after start above over newer begin low lower', range(true)],
  ['lt', '<', range(false, false)],
  ['lte le', '<=', range(false, true)],
  // A period often excludes its end: `from` one midnight `to` the next.
  ['', 'max maximum to until till most', range(false, 'no moments')],
  ['', 'before end below under older high upper', range(false)],
  ['like', '', like(false)],
  ['ilike', '', like(true)],
  ['nlike', '', not(like(false))],
  ['nilike', '', not(like(true))],
  ['isnull', '', presence(true)],
  ['', 'exists', presence(false)],
  ['contains icontains', 'includes has', part('includes', (text) => text.slice(1, 6))],
  ['startswith', 'starts prefix', part('startsWith', (text) => text.slice(0, 5))],
  ['endswith', 'ends suffix', part('endsWith', (text) => text.slice(-5))],
];

export const operatorKey = (name: string) => name.replaceAll(/[_$-]/g, '').toLowerCase();

const isAmong = (names: string, name: string) =>
  operatorKey(name) !== '' && names.split(' ').includes(operatorKey(name));

export function operatorOf(name: string): Operator | undefined {
  return operators.find(([inConditions, further]) => isAmong(inConditions, name) || isAmong(further, name))?.[2];
}

/** Whether a property of a condition is an operator. */
export function isOperatorName(name: string): boolean {
  return operators.some(([inConditions]) => isAmong(inConditions, name));
}

/** Connectives such as `_and`, `$or` and `NOT`. */
export function connectiveOf(name: string): 'and' | 'or' | 'not' | undefined {
  return (['and', 'or', 'not'] as const).find((one) => one === operatorKey(name));
}
