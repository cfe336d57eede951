export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/**
 * An object of a parsed file. Mutable, because a 3.0 document is converted to 3.1 in place, so that its objects keep
 * their locations.
 */
export type JsonObject = Record<string, unknown>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function escapeSegment(segment: string): string {
  return segment.replaceAll('~', '~0').replaceAll('/', '~1');
}

export function unescapeSegment(segment: string): string {
  return segment.replaceAll('~1', '/').replaceAll('~0', '~');
}

/** The value at a JSON Pointer; undefined if there is none. */
export function at(value: unknown, pointer: string): unknown {
  let current = value;
  for (const key of pointer.split('/').slice(1).map(unescapeSegment)) {
    if (Array.isArray(current)) current = current[Number(key)];
    else if (isObject(current)) current = Object.hasOwn(current, key) ? current[key] : undefined;
    else return undefined;
  }
  return current;
}

/** A copy of the value with a member at a pointer. Its parent must exist. */
export function put(value: unknown, pointer: string, member: unknown): unknown {
  const copy = structuredClone(value);
  const end = pointer.lastIndexOf('/');
  const parent = at(copy, pointer.slice(0, end));
  const name = unescapeSegment(pointer.slice(end + 1));
  if (Array.isArray(parent)) parent[Number(name)] = member;
  else if (isObject(parent)) parent[name] = member;
  return copy;
}

/** Whether a value is nested too deeply for recursion. */
export function isDeep(value: unknown, depth = 100): boolean {
  if (depth === 0) return true;
  if (Array.isArray(value)) return value.some((item) => isDeep(item, depth - 1));
  return isObject(value) && Object.values(value).some((member) => isDeep(member, depth - 1));
}

/** The length of the serialized value. */
export function sizeOf(value: unknown): number {
  return JSON.stringify(value)?.length ?? 0;
}
