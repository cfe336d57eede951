import type { JsonObject } from '../../../json.ts';
import { compare, isBlank } from './compare.ts';
import type { OrderKey } from './order-keys.ts';
import { valueIn } from './properties.ts';

/** Two rows in the wrong order, for display. */
export type Breach = string;

/**
 * The first place where rows are not in the order of a key; undefined if they are, or if common collations disagree.
 *
 * @param above keys before this one: only rows that are equal in all of them are compared.
 */
export function breachOf(
  rows: readonly JsonObject[],
  key: OrderKey,
  above: readonly OrderKey[] = [],
): Breach | undefined {
  for (const group of groupsOf(rows, above)) {
    const values = group.map((row) => valueIn(row, key.property));
    if (values.some((value) => value === undefined)) continue;
    const breach = nullBreach(values, key) ?? (isNamed(key) ? scattered(values) : valueBreach(values, key));
    if (breach !== undefined) return breach;
  }
  return undefined;
}

/** Consecutive rows that are equal in the keys above. */
function groupsOf(rows: readonly JsonObject[], above: readonly OrderKey[]): JsonObject[][] {
  const groups: JsonObject[][] = [];
  for (const row of rows) {
    const last = groups.at(-1)?.[0];
    const isSame =
      last !== undefined && above.every(({ property }) => valueIn(last, property) === valueIn(row, property));
    if (isSame) groups.at(-1)?.push(row);
    else groups.push([row]);
  }
  return groups;
}

/** Rows without a value must be adjacent at one end: the requested one, if specified. */
function nullBreach(values: readonly unknown[], { nulls }: OrderKey): Breach | undefined {
  const blanks = values.filter(isBlank).length;
  if (blanks === 0 || blanks === values.length) return undefined;
  const isFirst = values.slice(0, blanks).every(isBlank);
  const isLast = values.slice(-blanks).every(isBlank);
  if (nulls === 'first' && !isFirst) return 'rows without a value are not first';
  if (nulls === 'last' && !isLast) return 'rows without a value are not last';
  return isFirst || isLast ? undefined : 'rows without a value are mixed with other rows';
}

function valueBreach(values: readonly unknown[], { isDescending, ignoresCase = false }: OrderKey): Breach | undefined {
  const present = values
    .filter((value) => !isBlank(value))
    .map((value) => (ignoresCase && typeof value === 'string' ? value.toLowerCase() : value));
  const [ascending, descending] = [misplaced(present, 1), misplaced(present, -1)];
  if (isDescending === undefined) return ascending === undefined || descending === undefined ? undefined : ascending;
  return isDescending ? descending : ascending;
}

/** Two values in the wrong order according to every collation. */
function misplaced(values: readonly unknown[], sign: 1 | -1): Breach | undefined {
  const reach = values.length > 60 ? 2 : values.length;
  for (let index = 0; index < values.length; index += 1) {
    for (let other = index + 1; other < Math.min(values.length, index + 1 + reach); other += 1) {
      const result = compare(values[index], values[other]);
      if (result !== undefined && result * sign > 0) return `${show(values[index])} is before ${show(values[other])}`;
    }
  }
  return undefined;
}

/** Enum values may sort in an order that the contract does not specify, but equal values must be adjacent. */
export function isNamed({ property }: OrderKey): boolean {
  return property.enum?.some((word) => typeof word === 'string') === true;
}

function scattered(values: readonly unknown[]): Breach | undefined {
  const runs = runsOf(values);
  const again = runs.find((value, index) => runs.indexOf(value) < index);
  return again === undefined ? undefined : `rows with ${show(again)} are not adjacent`;
}

/** The values without consecutive repetitions. */
export function runsOf(values: readonly unknown[]): unknown[] {
  return values.filter((value, index) => index === 0 || value !== values[index - 1]);
}

function show(value: unknown): string {
  return JSON.stringify(value).slice(0, 60);
}
