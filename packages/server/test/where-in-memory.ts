/** A where clause of the contract. */
export type Where = { readonly [key: string]: unknown };

/**
 * Evaluates a where clause as the contract specifies it, without a database. A comparison with a column without a value
 * is false, so its `_not` is true.
 */
export function matches(row: Where, where: Where): boolean {
  return Object.entries(where).every(([key, operand]) => {
    if (key === '_and') return (operand as Where[]).every((part) => matches(row, part));
    if (key === '_or') return (operand as Where[]).some((part) => matches(row, part));
    if (key === '_not') return !matches(row, operand as Where);
    const value = row[key];
    if (key === 'partner') return value !== undefined && matches(value as Where, operand as Where);
    if (key === 'contactClients') return (value as Where[]).some((link) => matches(link, operand as Where));
    return Object.entries(operand as Where).every(([operator, operand]) => holds(value ?? null, operator, operand));
  });
}

function holds(value: unknown, operator: string, operand: unknown): boolean {
  if (operator === '_is_null') return (value === null) === operand;
  if (value === null) return false;
  switch (operator) {
    case '_eq':
      return compare(value, operand) === 0;
    case '_neq':
      return compare(value, operand) !== 0;
    case '_in':
      return (operand as unknown[]).some((one) => compare(value, one) === 0);
    case '_nin':
      return (operand as unknown[]).every((one) => compare(value, one) !== 0);
    case '_gt':
      return compare(value, operand) > 0;
    case '_gte':
      return compare(value, operand) >= 0;
    case '_lt':
      return compare(value, operand) < 0;
    case '_lte':
      return compare(value, operand) <= 0;
    case '_like':
      return isLike(String(value), String(operand));
    case '_nlike':
      return !isLike(String(value), String(operand));
    case '_ilike':
      return isLike(String(value).toLowerCase(), String(operand).toLowerCase());
    case '_nilike':
      return !isLike(String(value).toLowerCase(), String(operand).toLowerCase());
    case '_search':
      return foldedText(String(value)).includes(foldedText(String(operand)));
    case '_contains':
      return (value as unknown[]).includes(operand);
    default:
      throw new Error(`There is no operator ${operator}.`);
  }
}

/** Compares by value: amounts as numbers, instants as instants, text by code point. */
function compare(value: unknown, operand: unknown): number {
  const [left, right] = [comparable(value), comparable(operand)];
  if (typeof left === 'number' && typeof right === 'number') return left - right;
  return Buffer.compare(Buffer.from(String(left)), Buffer.from(String(right)));
}

function comparable(value: unknown): unknown {
  // Lists are equal if they have the same elements.
  if (Array.isArray(value)) return [...new Set(value)].sort().join();
  if (typeof value === 'boolean') return Number(value);
  if (typeof value !== 'string') return value;
  if (/^\d{4}-\d{2}-\d{2}T/.test(value)) return Date.parse(value);
  return /^\d+(\.\d+)?$/.test(value) ? Number(value) : value;
}

/** `%` matches any text, `_` any one character; a backslash escapes the next character. */
function isLike(text: string, pattern: string): boolean {
  const parts = [...pattern.matchAll(/\\([\s\S])|[\s\S]/gu)].map(([part, escaped]) => {
    if (part === '%') return '[\\s\\S]*';
    if (part === '_') return '[\\s\\S]';
    return (escaped ?? part).replaceAll(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
  });
  return new RegExp(`^${parts.join('')}$`, 'u').test(text);
}

/** Unicode case folding and compatibility decomposition, without accents, and with the letters that have no decomposition. */
function foldedText(text: string): string {
  const letters = new Map(Object.entries({ æ: 'ae', œ: 'oe', ø: 'o', ł: 'l', đ: 'd', ħ: 'h', ŧ: 't' }));
  const lower = text.toUpperCase().toLowerCase().replaceAll('ς', 'σ');
  return [...lower]
    .map((letter) => letters.get(letter) ?? letter)
    .join('')
    .normalize('NFKD')
    .replaceAll(/[\u0300-\u036F]/g, '')
    .replaceAll(/[‘’]/g, "'")
    .replaceAll('–', '-');
}
