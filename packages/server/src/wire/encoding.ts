import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import accepts from 'accepts';
import type { Exchange } from './exchange.ts';

/** How a response can be compressed, the best first. */
const encodings = ['br', 'gzip'] as const;
export type Encoding = (typeof encodings)[number];

/** A shorter text fits into one packet anyway, in bytes. */
export const shortest = 1_400;

/** Returns the best encoding that the caller accepts; undefined if the content must be sent as it is. */
export function acceptedEncoding({ requestHeaders }: Pick<Exchange, 'requestHeaders'>): Encoding | undefined {
  const request = { headers: requestHeaders } as Parameters<typeof accepts>[0];
  const accepted = accepts(request).encodings(...encodings, 'identity');
  return encodings.find((encoding) => encoding === accepted);
}

/** Compresses a response, which is sent once, so that speed counts more than length. */
export function compressResponse(text: string, encoding: Encoding): Promise<Buffer> {
  return encoding === 'br'
    ? promisify(brotliCompress)(text, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } })
    : promisify(gzip)(text, { level: 1 });
}

/** Compresses a document, which changes with a release only: that is worth more effort, but not seconds of a processor. */
export function compressDocument(bytes: Buffer, encoding: Encoding): Promise<Buffer> {
  return encoding === 'br'
    ? promisify(brotliCompress)(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 6 } })
    : promisify(gzip)(bytes, { level: 9 });
}
