import type { IncomingMessage } from 'node:http';
import express, { type Request, type Response } from 'express';
import type { Operation } from '../contract/contract.ts';
import { cleanParameter } from './body.ts';
import { largeBody } from './large-bodies.ts';
import { paceBody } from './paced-body.ts';
import { Problem } from './problem.ts';

type ReadBody = (operation: Operation, request: Request, response: Response) => Promise<Buffer | undefined>;

/** The only media type of request bodies, in UTF-8, the only encoding of JSON (RFC 8259). */
const jsonType = /^application\/json *(; *(charset *= *"?utf-8"? *)?)?$/i;

/** Encodings that the contract supports. The body parser supports more. */
const encodings = ['identity', 'gzip', 'deflate', 'br'];

/**
 * Creates a reader of the bytes of JSON bodies, up to the limit that the contract declares for the operation.
 *
 * @throws Problem `UNSUPPORTED_MEDIA_TYPE`, `PAYLOAD_TOO_LARGE`, `MISSING_BODY` or `MALFORMED_REQUEST`.
 */
export function bodyReader(): ReadBody {
  const readers = new Map<number, ReturnType<typeof express.raw>>();
  return async (operation, request, response) => {
    const limit = operation.bodyLimit;
    if (limit === null) return undefined;
    const type = request.get('content-type');
    if (type !== undefined && !jsonType.test(type)) {
      throw new Problem('UNSUPPORTED_MEDIA_TYPE', 'Send the body as application/json, in UTF-8.');
    }
    if (!encodings.includes((request.get('content-encoding') ?? 'identity').toLowerCase())) throw unknownEncoding();
    let reader = readers.get(limit);
    if (reader === undefined) {
      reader = express.raw({ type: () => true, limit });
      readers.set(limit, reader);
    }
    paceBody(request);
    await new Promise<void>((resolve, reject) => {
      reader(request, response, (error?: unknown) => (error === undefined ? resolve() : reject(failure(error, limit))));
    });
    const bytes: unknown = request.body;
    if (!(bytes instanceof Buffer) || bytes.length === 0) {
      throw new Problem(
        'MISSING_BODY',
        'This operation requires a JSON body. Some proxies drop the body of a DELETE request.',
      );
    }
    if (type === undefined)
      throw new Problem('UNSUPPORTED_MEDIA_TYPE', 'Send the header Content-Type: application/json.');
    return bytes;
  };
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

function failure(error: unknown, limit: number): unknown {
  // The body parser sets a 4xx status for errors of the caller; a decompression error has no type of its own.
  if (!(error instanceof Error) || !('status' in error) || Number(error.status) >= 500) return error;
  const type = 'type' in error ? error.type : undefined;
  if (type === 'entity.too.large') {
    return new Problem('PAYLOAD_TOO_LARGE', `The body is larger than ${limit} bytes. Split the request.`);
  }
  if (type === 'encoding.unsupported') return unknownEncoding();
  return new Problem('MALFORMED_REQUEST', 'The body is incomplete.', { cause: error });
}

function unknownEncoding(): Problem {
  return new Problem(
    'UNSUPPORTED_MEDIA_TYPE',
    'The Content-Encoding is not supported. Use gzip, deflate or br, or send the body uncompressed.',
  );
}

/** Checks parameters for characters that are not allowed in text. */
export function cleanParameters<Value>(
  place: 'path' | 'query',
  parameters: Readonly<Record<string, Value>>,
): Record<string, Value> {
  const clean = (name: string, value: unknown): unknown => {
    if (Array.isArray(value)) return value.map((item) => clean(name, item));
    return typeof value === 'string' ? cleanParameter(name, place, value) : value;
  };
  // Not by assignment: a parameter may be named `__proto__`.
  return Object.fromEntries(Object.entries(parameters).map(([name, value]) => [name, clean(name, value) as Value]));
}
