export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** An object of a parsed file. Not read-only: a 3.0 document is rewritten as 3.1 in place, so that its objects keep their places. */
export type JsonObject = Record<string, unknown>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** One segment of a JSON Pointer (RFC 6901). */
export function escapeSegment(segment: string): string {
  return segment.replaceAll('~', '~0').replaceAll('/', '~1');
}

export function unescapeSegment(segment: string): string {
  return segment.replaceAll('~1', '/').replaceAll('~0', '~');
}
