import { allOperations, type Operation, takes } from '../contract/contract.ts';
import { missingBody } from '../contract/findings.ts';
import { invalid } from '../contract/problem.ts';
import { Rejection } from '../contract/rejection.ts';
import { cleanParameter, isPlainText } from './body.ts';
import { conditionHeaders } from './content.ts';
import type { Exchange } from './exchange.ts';
import { unknownEncoding } from './raw-body.ts';

/** In UTF-8, the only encoding of JSON (RFC 8259). */
const jsonType = /^application\/json *(; *(charset *= *"?utf-8"? *)?)?$/i;
/** The other media type of operations that declare it: the items of a list, one a line. */
export const linesType = /^application\/x-ndjson *(; *(charset *= *"?utf-8"? *)?)?$/i;

/** Encodings that the contract supports. The body parser supports more. */
const encodings = ['identity', 'gzip', 'deflate', 'br'];

/** Headers that change what a request does, where an operation or content takes them. Others must not ignore one in silence. */
const decisiveHeaders = new Set([...allOperations.flatMap(({ headers }) => Object.keys(headers)), ...conditionHeaders]);

/** Those that an operation does not take, also in lower case: every request is checked for them. */
const ignoredHeaders = new Map(
  allOperations.map((operation) => [
    operation.id,
    [...decisiveHeaders].filter((name) => !takes(operation, name)).map((name) => [name, name.toLowerCase()] as const),
  ]),
);

/** @throws Rejection `VALIDATION_ERROR` if the request has such a header that the operation does not take. */
export function checkHeaders(operation: Operation, exchange: Pick<Exchange, 'header'>): void {
  for (const [name, lower] of ignoredHeaders.get(operation.id) ?? []) {
    if (exchange.header(lower) === undefined) continue;
    throw invalid(
      `/${name}`,
      'NOT_SUPPORTED',
      `${operation.id} does not support ${name}. Leave out the header.`,
      'header',
    );
  }
}

/**
 * The bytes of a JSON body, which are not read yet. A body of lines becomes the JSON body that it stands for.
 *
 * @param limit in bytes, as the contract declares it for the operation
 * @param list the list whose items can be sent as lines
 * @throws Rejection `UNSUPPORTED_MEDIA_TYPE`, `PAYLOAD_TOO_LARGE`, `MISSING_BODY` or `MALFORMED_REQUEST`.
 */
export function jsonBody(
  limit: number,
  list: string | null,
  exchange: Pick<Exchange, 'header' | 'body'>,
): ReturnType<Exchange['body']> {
  const type = exchange.header('content-type');
  const hasLines = list !== null && type !== undefined && linesType.test(type);
  if (type !== undefined && !hasLines && !jsonType.test(type)) {
    const types = list === null ? 'application/json' : 'application/json or application/x-ndjson';
    throw new Rejection('UNSUPPORTED_MEDIA_TYPE', `Send the body as ${types}, in UTF-8.`);
  }
  if (!encodings.includes((exchange.header('content-encoding') ?? 'identity').toLowerCase())) throw unknownEncoding();
  const { mayBeLarge, read } = exchange.body(limit);
  return {
    mayBeLarge,
    async read() {
      const bytes = await read();
      if (bytes.length === 0) throw missingBody();
      if (type === undefined)
        throw new Rejection('UNSUPPORTED_MEDIA_TYPE', 'Send the header Content-Type: application/json.');
      return hasLines ? withLines(bytes, list) : bytes;
    },
  };
}

/**
 * The object with a list whose items are the lines. A line break is no part of a text in JSON, so that each ends an item. The
 * lines begin in the second line and stay where they were, for `parseBody` to find one that is not JSON.
 */
function withLines(bytes: Uint8Array, list: string): Buffer {
  const lines = Buffer.from(bytes).toString('latin1').split('\n');
  const first = lines.findIndex((line) => line.trim() !== '');
  const items = lines.map((line, index) => (index > first && line.trim() !== '' ? `,${line}` : line));
  return Buffer.from(`{"${list}":[\n${items.join('\n')}\n]}`, 'latin1');
}

function isClean(parameters: Readonly<Record<string, unknown>>): boolean {
  for (const name in parameters) if (!isPlainText(parameters[name])) return false;
  return true;
}

/** Checks parameters for characters that are not allowed in text. */
export function cleanParameters<Value>(
  location: 'path' | 'query',
  parameters: Readonly<Record<string, Value>>,
): Readonly<Record<string, Value>> {
  if (isClean(parameters)) return parameters;
  const clean = (name: string, value: unknown): unknown => {
    if (Array.isArray(value)) return value.map((item) => clean(name, item));
    return typeof value === 'string' ? cleanParameter(name, location, value) : value;
  };
  // Not by assignment: a parameter may be named `__proto__`.
  return Object.fromEntries(Object.entries(parameters).map(([name, value]) => [name, clean(name, value) as Value]));
}
