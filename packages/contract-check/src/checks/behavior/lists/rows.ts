import type { JsonObject } from '../../../json.ts';
import { isOwnId } from '../../../run/names.ts';

/** Identifies a row by its ID if IDs are unique, otherwise by all its values. */
export type KeyOf = (row: JsonObject) => string;

export function keyFor(rows: readonly JsonObject[]): KeyOf {
  const name = Object.keys(rows[0] ?? {}).find(isOwnId);
  if (name === undefined || rows.some((row) => row[name] === undefined || row[name] === null)) return whole;
  const wholes = new Map(rows.map((row) => [String(row[name]), whole(row)]));
  // If different rows share an ID, it does not identify the row.
  const isId = rows.every((row) => wholes.get(String(row[name])) === whole(row));
  return isId ? (row) => String(row[name]) : whole;
}

export function hasOwnIds(rows: readonly JsonObject[]): boolean {
  return rows.length > 0 && keyFor(rows) !== whole;
}

function whole(row: JsonObject): string {
  return JSON.stringify(row, (_name, value: unknown) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([left], [right]) => (left < right ? -1 : 1)))
      : value,
  );
}

export function isSameSequence(left: readonly string[], right: readonly string[]): boolean {
  return left.length === right.length && left.every((key, index) => key === right[index]);
}

export function isSameSet(left: readonly string[], right: readonly string[]): boolean {
  return isSameSequence([...new Set(left)].sort(), [...new Set(right)].sort());
}

export function firstRepeated(keys: readonly string[]): string | undefined {
  return keys.find((key, index) => keys.indexOf(key) < index);
}

/** Keys for display. */
export function shown(keys: readonly string[]): string {
  const short = keys.slice(0, 6).map((key) => (key.length > 40 ? `${key.slice(0, 39)}…` : key));
  return `${keys.length === 1 ? '1 row' : `${keys.length} rows`}${keys.length === 0 ? '' : ` (${short.join(', ')}${keys.length > 6 ? ', …' : ''})`}`;
}
