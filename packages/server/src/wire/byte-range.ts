import type { ByteRange } from '../platform/storage/storage.ts';

const oneRange = /^bytes=(?:(\d{1,15})-(\d{1,15})?|-(\d{1,15}))$/i;

/**
 * Parses a `Range` header (RFC 9110). Returns undefined if the whole content is sent: the header is absent, invalid, or
 * has several ranges, which a server may ignore.
 */
export function readRange(header: string | undefined, size: number): ByteRange | 'unsatisfiable' | undefined {
  const [matched, first, last, suffix] = oneRange.exec(header ?? '') ?? [];
  if (matched === undefined) return undefined;
  if (suffix !== undefined) {
    const length = Math.min(Number(suffix), size);
    return length === 0 ? 'unsatisfiable' : { start: size - length, end: size - 1 };
  }
  const start = Number(first);
  const end = last === undefined ? size - 1 : Number(last);
  if (end < start && last !== undefined) return undefined;
  return start >= size ? 'unsatisfiable' : { start, end: Math.min(end, size - 1) };
}
