import { open, stat } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { Rejection } from '../contract/rejection.ts';
import type { ByteRange } from '../platform/storage/storage.ts';
import { readRange } from './byte-range.ts';
import type { Exchange } from './exchange.ts';
import { hasStrongTag, hasTag } from './headers.ts';
import type { BytesResult } from './result.ts';

/** Content that callers can request in parts, and only if it has changed. */
export interface Content {
  /** In bytes. */
  readonly length: number;
  /** A strong ETag; undefined if the content is only identified by when it changed. */
  readonly tag?: string;
  readonly changedAt: Date;
  /** The media type, and headers that depend on the content. */
  readonly headers: Readonly<Record<string, string>>;
  open(range: ByteRange | undefined): Promise<Readable>;
}

/** Returns the content of a file; undefined if it does not exist. */
export async function fileContent(path: string, headers: Content['headers']): Promise<Content | undefined> {
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined;
    throw error;
  });
  if (found?.isFile() !== true) return undefined;
  return {
    length: found.size,
    changedAt: found.mtime,
    headers,
    open: async (range) => (await open(path)).createReadStream(range),
  };
}

/** The headers that decide what of some content is sent. */
export const conditionHeaders = [
  'If-Match',
  'If-None-Match',
  'If-Modified-Since',
  'If-Unmodified-Since',
  'If-Range',
  'Range',
] as const;

/** What the conditions of a request are compared with. */
type Version = Pick<Content, 'tag' | 'changedAt' | 'headers'>;

/**
 * Returns the response to a caller who already has the content, and undefined if it must be sent (RFC 9110, section 13.2.2).
 *
 * @throws Rejection `PRECONDITION_FAILED`
 */
export function conditionalResult(version: Version, exchange: Exchange): BytesResult | undefined {
  checkPreconditions(version, exchange);
  if (!isKnown(version, exchange)) return undefined;
  return { kind: 'bytes', status: 304, headers: headersOf(version), length: 0, content: undefined };
}

/**
 * Returns the content, or the part of it that the caller requests, with the status that its conditions result in.
 *
 * @throws Rejection `PRECONDITION_FAILED`
 */
export async function contentResult(content: Content, exchange: Exchange): Promise<BytesResult> {
  const known = conditionalResult(content, exchange);
  if (known !== undefined) return known;
  const { length } = content;
  const headers = headersOf(content);
  const range = rangeOf(content, exchange);
  if (range === 'unsatisfiable') {
    const { 'Content-Type': _, ...others } = headers;
    const beyond = { ...others, 'Content-Range': `bytes */${length}` };
    return { kind: 'bytes', status: 416, headers: beyond, length: 0, content: undefined };
  }
  const sent = range === undefined ? length : range.end - range.start + 1;
  return {
    kind: 'bytes',
    status: range === undefined ? 200 : 206,
    headers:
      range === undefined ? headers : { ...headers, 'Content-Range': `bytes ${range.start}-${range.end}/${length}` },
    length: sent,
    content: exchange.method === 'HEAD' || sent === 0 ? undefined : await content.open(range),
  };
}

function headersOf({ tag, changedAt, headers }: Version): Record<string, string> {
  return {
    ...(tag === undefined ? {} : { ETag: tag }),
    'Accept-Ranges': 'bytes',
    'Last-Modified': changedAt.toUTCString(),
    ...headers,
  };
}

function checkPreconditions({ tag = '', changedAt }: Version, exchange: Exchange): void {
  const ifMatch = exchange.header('if-match');
  const since = timeOf(exchange.header('if-unmodified-since'));
  const isMet = ifMatch === undefined ? since === undefined || seconds(changedAt) <= since : hasStrongTag(ifMatch, tag);
  if (!isMet) throw new Rejection('PRECONDITION_FAILED', 'The content has another ETag.');
}

/** Whether the caller already has the content. */
function isKnown({ tag = '', changedAt }: Version, exchange: Exchange): boolean {
  const ifNoneMatch = exchange.header('if-none-match');
  if (ifNoneMatch !== undefined) return hasTag(ifNoneMatch, tag);
  const since = timeOf(exchange.header('if-modified-since'));
  return since !== undefined && seconds(changedAt) <= since;
}

function rangeOf({ length, tag, changedAt }: Content, exchange: Exchange): ByteRange | 'unsatisfiable' | undefined {
  const ifRange = exchange.header('if-range');
  const isCurrent = ifRange === undefined || ifRange === tag || ifRange === changedAt.toUTCString();
  return exchange.method === 'HEAD' || !isCurrent ? undefined : readRange(exchange.header('range'), length);
}

/** Seconds since 1970: dates in headers have no fractions. Undefined if the header is absent or not a date, which ignores it. */
function timeOf(date: string | undefined): number | undefined {
  const milliseconds = Date.parse(date ?? '');
  return Number.isNaN(milliseconds) ? undefined : milliseconds / 1000;
}

function seconds(date: Date): number {
  return Math.floor(date.getTime() / 1000);
}
