import type { IncomingMessage, ServerResponse } from 'node:http';
import express from 'express';
import { largeBody } from '../contract/bulk.ts';
import { Rejection } from '../contract/rejection.ts';

/** Parsers of bodies, by the maximum size. */
const parsers = new Map<number, ReturnType<typeof express.raw>>();

/**
 * Reads the bytes of a body, decompressed.
 *
 * @throws Rejection `PAYLOAD_TOO_LARGE`, `UNSUPPORTED_MEDIA_TYPE` or `MALFORMED_REQUEST`
 */
export async function readRawBody(request: IncomingMessage, response: ServerResponse, limit: number): Promise<Buffer> {
  const parse = parsers.getOrInsertComputed(limit, () => express.raw({ type: () => true, limit }));
  await new Promise<void>((resolve, reject) => {
    parse(request, response, (error?: unknown) => (error === undefined ? resolve() : reject(failure(error, limit))));
  });
  const bytes: unknown = Reflect.get(request, 'body');
  return bytes instanceof Buffer ? bytes : Buffer.alloc(0);
}

/**
 * Whether a body within the limit, in bytes, may be large. The size is only known in advance of one that is neither compressed
 * nor sent in chunks.
 */
export function mayBeLarge({ headers }: Pick<IncomingMessage, 'headers'>, limit: number): boolean {
  const length = headers['content-length'];
  const hasBody = headers['transfer-encoding'] !== undefined || (length !== undefined && Number(length) > 0);
  const encoding = headers['content-encoding']?.toLowerCase() ?? 'identity';
  // The memory of a decompressor is as much as a large body takes, whatever the limit.
  if (encoding !== 'identity') return hasBody;
  if (length === undefined) return hasBody && limit >= largeBody;
  return Number(length) >= largeBody && Number(length) <= limit;
}

/** Converts an error of the body parser that the caller caused to a problem. */
function failure(error: unknown, limit: number): unknown {
  // The body parser sets a 4xx status for errors of the caller; a decompression error has no type of its own.
  if (!(error instanceof Error) || !('status' in error) || Number(error.status) >= 500) return error;
  const type = 'type' in error ? error.type : undefined;
  if (type === 'entity.too.large') {
    return new Rejection('PAYLOAD_TOO_LARGE', `The body is larger than ${limit} bytes. Split the request.`);
  }
  if (type === 'encoding.unsupported') return unknownEncoding();
  return new Rejection('MALFORMED_REQUEST', 'The body is incomplete.', { cause: error });
}

export function unknownEncoding(): Rejection {
  return new Rejection(
    'UNSUPPORTED_MEDIA_TYPE',
    'The Content-Encoding is not supported. Use gzip, deflate or br, or send the body uncompressed.',
  );
}
