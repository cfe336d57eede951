import { compare, folded, isBlank, isEqual, isInstant, isScalar } from './compare.ts';

/** Operators of a condition such as `{ name: { _eq: 'Ann' } }`, by normalized name. */
export type Operator = (value: unknown, operand: unknown) => boolean | undefined;

/** Undefined if the row has no value: implementations negate nulls differently. */
const not =
  (operator: Operator): Operator =>
  (value, operand) => {
    const result = isBlank(value) ? undefined : operator(value, operand);
    return result === undefined ? undefined : !result;
  };

const equal: Operator = (value, operand) => (isBlank(value) ? false : isEqual(value, operand));

const within: Operator = (value, operand) => {
  if (isBlank(value) || !Array.isArray(operand)) return isBlank(value) ? false : undefined;
  const results = operand.map((one) => isEqual(value, one));
  return results.includes(true) ? true : results.includes(undefined) ? undefined : false;
};

const ordered =
  (test: (result: number) => boolean): Operator =>
  (value, operand) => {
    if (isBlank(value)) return false;
    const result = compare(value, operand);
    // Timestamps may have hidden digits.
    return result === undefined || (result === 0 && isInstant(value)) ? undefined : test(result);
  };

const like =
  (ignoresCase: boolean): Operator =>
  (value, operand) => {
    if (isBlank(value)) return false;
    if (typeof value !== 'string' || typeof operand !== 'string') return undefined;
    const pattern = (text: string) =>
      new RegExp(
        `^${text
          .replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')
          .replaceAll('%', '[^]*')
          .replaceAll('_', '[^]')}$`,
        'u',
      );
    if (pattern(operand).test(value)) return true;
    if (!pattern(folded(operand)).test(folded(value))) return false;
    // A text that differs only in case matches a case-insensitive operator. Accents depend on the collation.
    return ignoresCase && pattern(operand.toLowerCase()).test(value.toLowerCase()) ? true : undefined;
  };

const part =
  (test: (text: string, operand: string) => boolean): Operator =>
  (value, operand) => {
    if (isBlank(value)) return false;
    if (Array.isArray(value)) {
      const results = value.filter(isScalar).map((item) => isEqual(item, operand));
      return results.includes(true) ? true : results.includes(undefined) ? undefined : false;
    }
    if (typeof value !== 'string' || typeof operand !== 'string') return undefined;
    if (!test(folded(value), folded(operand))) return false;
    return test(value, operand) ? true : undefined;
  };

const isNull: Operator = (value, operand) =>
  value === undefined || typeof operand !== 'boolean' ? undefined : (value === null) === operand;

const contains = part((text, operand) => text.includes(operand));

const operators: Readonly<Record<string, Operator>> = {
  eq: equal,
  equals: equal,
  is: equal,
  ne: not(equal),
  neq: not(equal),
  in: within,
  nin: not(within),
  notin: not(within),
  gt: ordered((result) => result > 0),
  gte: ordered((result) => result >= 0),
  ge: ordered((result) => result >= 0),
  lt: ordered((result) => result < 0),
  lte: ordered((result) => result <= 0),
  le: ordered((result) => result <= 0),
  like: like(false),
  ilike: like(true),
  nlike: not(like(false)),
  nilike: not(like(true)),
  isnull: isNull,
  contains,
  icontains: contains,
  startswith: part((text, operand) => text.startsWith(operand)),
  endswith: part((text, operand) => text.endsWith(operand)),
};

export function operatorKey(name: string): string {
  return name.replaceAll(/[_$-]/g, '').toLowerCase();
}

export function operatorOf(name: string): Operator | undefined {
  return operators[operatorKey(name)];
}

/** Connectives such as `_and`, `$or` and `NOT`. */
export function connectiveOf(name: string): 'and' | 'or' | 'not' | undefined {
  return (['and', 'or', 'not'] as const).find((one) => one === operatorKey(name));
}
