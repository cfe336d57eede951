import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { create as contentDisposition } from 'content-disposition';
import { CsvFile } from '../contract/csv.ts';
import { problemDocument } from '../contract/problem.ts';
import type { Rejection } from '../contract/rejection.ts';
import type { ResponseFile } from '../contract/response-file.ts';
import { serialized } from '../contract/serialized.ts';
import { compressResponse, type Encoding, shortest } from './encoding.ts';

/** A longer text is sent as bytes: Node would copy it to join it to the headers, and once more because its buffer on the stack is full. */
const maxJoinedCharacters = 16_384;

interface Head {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** JSON: the response of an operation, or a problem. */
export interface JsonResult extends Head {
  readonly kind: 'json';
  readonly body: unknown;
  /** The fields of its rows that the caller chose; all if undefined. */
  readonly fields?: readonly string[] | undefined;
}

/** A page, or another text. An empty one has no media type. */
export interface PageResult extends Head {
  readonly kind: 'page';
  readonly text: string;
  /** Media type, which includes the encoding; HTML by default. */
  readonly type?: string;
}

/** Content that is sent as it is read. Its headers include the media type. */
export interface BytesResult extends Head {
  readonly kind: 'bytes';
  readonly length: number;
  /** Undefined if only the headers are sent. */
  readonly content: Readable | undefined;
}

/** What routes return. Only `send` writes it to a response. */
export type RouteResult = JsonResult | PageResult | BytesResult;

export function problemResult(problem: Rejection, requestId: string): JsonResult {
  const { status, headers } = problem;
  return { kind: 'json', status, headers, body: problemDocument(problem, requestId) };
}

export function pageResult(status: number, text: string, headers?: Head['headers']): PageResult {
  return { kind: 'page', status, text, headers };
}

/** Leads a browser to another page, which it reads by `GET`. */
export function redirect(url: string, headers?: Head['headers']): PageResult {
  return pageResult(303, '', { ...headers, Location: url });
}

/** A file that is saved under its name. */
export function fileResult(file: CsvFile | ResponseFile, others?: Head['headers']): PageResult | BytesResult {
  const headers = { ...others, 'Content-Disposition': contentDisposition(file.name) };
  if (file instanceof CsvFile)
    return { kind: 'page', status: 200, headers, text: file.text, type: 'text/csv; charset=utf-8; header=present' };
  const { type, content } = file;
  if (typeof content === 'string') return { kind: 'page', status: 200, headers, text: content, type };
  const all = { ...headers, 'Content-Type': type };
  return { kind: 'bytes', status: 200, headers: all, length: content.length, content: Readable.from([content]) };
}

/**
 * Writes a result. Content is read as fast as the caller receives it; all else may wait to be sent.
 *
 * @param headers of the request; those of the result take precedence.
 * @param encoding how a long text can be compressed. One with an ETag is not: the tag identifies the bytes.
 * @throws if the content cannot be read to its end, or the caller disconnects. Then a part of it may have been sent.
 */
export async function send(
  response: ServerResponse,
  result: RouteResult,
  headers: Readonly<Record<string, string>>,
  encoding?: Encoding,
): Promise<void> {
  const common: Record<string, string | number> = { ...headers, ...result.headers };
  // Has no body, and would otherwise have to repeat the length of the one that the caller has.
  if (result.status === 304) return void response.writeHead(304, common).end();
  const isHead = response.req.method === 'HEAD';
  if (result.kind === 'bytes') {
    const { content, length, status } = result;
    response.writeHead(status, { ...common, 'Content-Length': length });
    if (content === undefined) return void response.end();
    return pipeline(content, response);
  }
  const text = result.kind === 'json' ? serialized(result.body) : result.text;
  const length = Buffer.byteLength(text);
  const isCompressed = encoding !== undefined && length >= shortest && !('ETag' in common);
  const bytes = isCompressed ? await compressResponse(text, encoding) : undefined;
  const type = typeOf(result);
  if (type !== undefined) common['Content-Type'] = type;
  if (isCompressed) common['Content-Encoding'] = encoding;
  common['Content-Length'] = bytes?.length ?? length;
  response.writeHead(result.status, common);
  if (isHead) response.end();
  else if (bytes !== undefined) response.end(bytes);
  // Most texts are ASCII, which is copied instead of encoded.
  else if (length === text.length && length < maxJoinedCharacters) response.end(text, 'latin1');
  // Of a text that waits to be sent, Node would count the characters, and not the bytes.
  else response.end(Buffer.from(text));
}

function typeOf(result: JsonResult | PageResult): string | undefined {
  if (result.kind === 'json') return `${jsonType(result.status)}; charset=utf-8`;
  return result.text === '' ? undefined : (result.type ?? 'text/html; charset=utf-8');
}

/** The media type of JSON in a response of the contract. */
export function jsonType(status: number): string {
  return status >= 400 ? 'application/problem+json' : 'application/json';
}
