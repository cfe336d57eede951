declare global {
  interface JSON {
    /** A number as it is written. TypeScript does not declare it yet. */
    rawJSON(text: string): object;
  }
}

interface Memory<Key, Value> {
  get(key: Key): Value | undefined;
  set(key: Key, value: Value): unknown;
}

export function remembered<Key, Value>(memory: Memory<Key, Value>, key: Key, compute: () => Value): Value {
  const known = memory.get(key);
  if (known !== undefined) return known;
  const value = compute();
  memory.set(key, value);
  return value;
}

/** An object of a parsed file. Mutable: a 3.0 document is converted in place, so that locations are kept. */
export type JsonObject = Record<string, unknown>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export const escapeSegment = (segment: string) => segment.replaceAll('~', '~0').replaceAll('/', '~1');

export const unescapeSegment = (segment: string) => segment.replaceAll('~1', '/').replaceAll('~0', '~');

/** Whether a pointer leads to the target of another one, or to a part of it. */
export const isWithin = (pointer: string, outer: string) => pointer === outer || pointer.startsWith(`${outer}/`);

/** The pointer to the object or list that contains the target. */
export const parentOf = (pointer: string) => pointer.slice(0, pointer.lastIndexOf('/'));

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
  if (pointer === '') return member;
  const copy = structuredClone(value);
  const end = pointer.lastIndexOf('/');
  const parent = at(copy, pointer.slice(0, end));
  if (typeof parent === 'object' && parent !== null)
    Object.assign(parent, { [unescapeSegment(pointer.slice(end + 1))]: member });
  return copy;
}

/** A copy of the value with other scalars. Items have the name of their list. */
export function mapped(
  value: unknown,
  change: (scalar: unknown, name: string, pointer: string) => unknown,
  name = '',
  pointer = '',
): unknown {
  if (Array.isArray(value)) return value.map((item, index) => mapped(item, change, name, `${pointer}/${index}`));
  if (!isObject(value)) return change(value, name, pointer);
  return objectOf(
    Object.entries(value).map(([key, member]) => [
      key,
      mapped(member, change, key, `${pointer}/${escapeSegment(key)}`),
    ]),
  );
}

export function isDeep(value: unknown, depth = 100): boolean {
  if (depth === 0) return true;
  if (Array.isArray(value)) return value.some((item) => isDeep(item, depth - 1));
  return isObject(value) && Object.values(value).some((member) => isDeep(member, depth - 1));
}

export function sizeOf(value: unknown): number {
  return jsonText(value)?.length ?? 0;
}

/** Pointers to a value and all its parts, outer ones first. */
export function pointersIn(value: unknown, pointer = ''): string[] {
  const members = typeof value === 'object' && value !== null ? Object.entries(value) : [];
  return [pointer, ...members.flatMap(([name, part]) => pointersIn(part, `${pointer}/${escapeSegment(name)}`))];
}

/** The value of a JSON text, with integers of more than 53 bits as `bigint`; undefined if it is not valid. */
export function parsedJson(text = ''): { readonly value: unknown } | undefined {
  try {
    const value: unknown = JSON.parse(text);
    // Integers of 16 digits and more are rare, and a reviver takes several times as long.
    return { value: /\d{16}/.test(text) ? JSON.parse(text, withoutLoss) : value };
  } catch {
    return undefined;
  }
}

/** An object that may have a property named `__proto__`. */
export function objectOf(members: Iterable<readonly [string, unknown]>): JsonObject {
  return Object.fromEntries(members);
}

export function withMember(object: JsonObject, name: string, value: unknown): JsonObject {
  return objectOf([...Object.entries(object).filter(([key]) => key !== name), [name, value]]);
}

export function withoutMember(object: JsonObject, name: string): JsonObject {
  return objectOf(Object.entries(object).filter(([key]) => key !== name));
}

function withoutLoss(this: unknown, _name: string, value: unknown, { source = '' }: { source?: string } = {}): unknown {
  const isLossy = typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value);
  return isLossy && /^-?\d+$/.test(source) ? BigInt(source) : value;
}

/** For `JSON.stringify`: large integers as they were read. */
export const exactly = (_name: string, value: unknown): unknown =>
  typeof value === 'bigint' ? JSON.rawJSON(String(value)) : value;

/** A value as JSON, with large integers as they were read. */
export function jsonText(value: unknown): string {
  return JSON.stringify(value, exactly);
}

/** Deeper values are not searched: recursion is limited. */
const maxDepth = 500;

/** The value with large integers as numbers, as schemas see them. */
export function asNumbers(value: unknown, depth = 0): unknown {
  if (typeof value === 'bigint') return Number(value);
  if (depth > maxDepth) return value;
  if (Array.isArray(value)) {
    const items = value.map((item) => asNumbers(item, depth + 1));
    return items.some((item, index) => item !== value[index]) ? items : value;
  }
  if (!isObject(value)) return value;
  const members = Object.entries(value).map(([name, member]) => [name, asNumbers(member, depth + 1)] as const);
  return members.some(([name, member]) => member !== value[name]) ? objectOf(members) : value;
}

export const asText = (value: unknown) => (typeof value === 'string' ? value : jsonText(value));

export const textsIn = (value: unknown) => (Array.isArray(value) ? value.filter((one) => typeof one === 'string') : []);

export const isKey = (value: unknown) => ['string', 'number', 'bigint'].includes(typeof value);

export const isScalar = (value: unknown) => isKey(value) || typeof value === 'boolean';

export const isNumeric = (value: unknown) => typeof value === 'number' || typeof value === 'bigint';

export type TypeName = 'null' | 'boolean' | 'integer' | 'number' | 'string' | 'array' | 'object';

export function typeOf(value: unknown): TypeName {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'boolean' || typeof value === 'string') return typeof value as 'boolean' | 'string';
  if (typeof value === 'bigint') return 'integer';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  return 'object';
}

export const isJson = (mediaType: string) => /^[^/]+\/(?:[^;]+\+)?json\s*(?:;|$)/i.test(mediaType);

/** JSON, or a range that includes it: Spring declares any media type. */
export const canBeJson = (mediaType: string) => isJson(mediaType) || /^(?:\*|application)\/\*/.test(mediaType);

export const isForm = (mediaType: string) =>
  /^(?:application\/x-www-form-urlencoded|multipart\/form-data)/i.test(mediaType);

/** The properties of a body that a form can have: not those that are null. */
export const formMembers = (body: unknown): JsonObject =>
  objectOf(Object.entries(isObject(body) ? body : {}).filter(([, value]) => value !== null));

export const cut = (text: string, length: number) => (text.length > length ? `${text.slice(0, length - 1)}…` : text);

/** A text as a part of a regular expression that matches it. */
export const literal = (text: string) => text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
