import { readFile } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { type Content, fileContent } from './content.ts';
import { sampleServer } from './sample-server.ts';

/** A document changes when a server starts with another address. */
const startedAt = new Date(performance.timeOrigin);

/** Returns the content of a file with the address of this server; undefined if the file does not exist. */
export async function addressedContent(
  publicUrl: string,
  path: string,
  headers: Content['headers'],
): Promise<Content | undefined> {
  const content = await fileContent(path, headers);
  if (content === undefined || publicUrl === sampleServer) return content;
  const bytes = Buffer.from((await readFile(path, 'utf8')).replaceAll(sampleServer, () => publicUrl));
  return {
    length: bytes.length,
    changedAt: content.changedAt > startedAt ? content.changedAt : startedAt,
    headers,
    open: async (range) => Readable.from([range === undefined ? bytes : bytes.subarray(range.start, range.end + 1)]),
  };
}
