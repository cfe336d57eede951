import type { IncomingMessage } from 'node:http';
import type { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Rejection } from '../contract/rejection.ts';

/** Writes a body while it arrives, so that its size does not take memory. @throws Rejection like `Exchange.writeBody` */
export async function writeBody(request: IncomingMessage, to: Writable, maxBytes: number): Promise<void> {
  const { 'content-encoding': encoding = 'identity', 'content-length': length = '0' } = request.headers;
  if (encoding.toLowerCase() !== 'identity')
    throw new Rejection('UNSUPPORTED_MEDIA_TYPE', 'Send the content without a Content-Encoding.');
  const tooLarge = () => new Rejection('PAYLOAD_TOO_LARGE', `The content is larger than ${maxBytes} bytes.`);
  if (Number(length) > maxBytes) throw tooLarge();
  let received = 0;
  const limited = async function* (chunks: AsyncIterable<Buffer>) {
    for await (const chunk of chunks) {
      received += chunk.length;
      if (received > maxBytes) throw tooLarge();
      yield chunk;
    }
  };
  try {
    // The connection remains open for the response, whatever fails.
    const chunks: AsyncIterable<Buffer> = request.iterator({ destroyOnReturn: false });
    await pipeline(chunks, limited, to);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ECONNRESET')
      throw new Rejection('MALFORMED_REQUEST', 'The content is incomplete.', { cause: error });
    throw error;
  }
}
