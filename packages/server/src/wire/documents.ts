import { readFile } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { conditionalResult, contentResult, fileContent } from './content.ts';
import { acceptedEncoding, compressDocument, shortest } from './encoding.ts';
import type { Exchange } from './exchange.ts';
import type { BytesResult } from './result.ts';
import { sampleServer } from './sample-server.ts';

/** How many bytes of documents stay in memory. All of them together, compressed ones included, have 20 MB. */
const maxKeptBytes = 64 * 1024 * 1024;

/**
 * Length of the pieces in which a document is sent: no more of it waits for a caller who does not read, and no more is written for
 * a caller who does before others have their turn.
 */
const pieceLength = 64 * 1024;

/** A document with another address changes when a server starts. */
const startedAt = new Date(performance.timeOrigin);

export interface ServedDocument {
  readonly path: string;
  /** The media type, and other headers that do not depend on the content. */
  readonly headers: Readonly<Record<string, string>>;
  /** Whether the address of this server takes the place of the one in its samples. */
  readonly isAddressed?: boolean;
  /** Headers that depend on the content. */
  readonly headersOf?: (text: string) => Readonly<Record<string, string>>;
}

/** One form of a document: as it is, or compressed. */
interface Form {
  readonly bytes: Buffer;
  readonly headers: Readonly<Record<string, string>>;
}

/** Files that are served to anyone. Each form of one is computed once, when it is first requested, and shared by all responses. */
export class Documents {
  readonly #publicUrl: string;
  readonly #forms = new LRUCache<string, Form, () => Promise<Form>>({
    maxSize: maxKeptBytes,
    sizeCalculation: ({ bytes }) => bytes.length + 1,
    fetchMethod: (_name, _before, { context }) => context(),
  });

  constructor(publicUrl: string) {
    this.#publicUrl = publicUrl;
  }

  /**
   * Returns the document, or a part of it, as the caller accepts it. A part is one of the document as it is.
   *
   * @returns undefined if the file does not exist
   * @throws Rejection `PRECONDITION_FAILED`
   */
  async resultOf(file: ServedDocument, exchange: Exchange): Promise<BytesResult | undefined> {
    const found = await fileContent(file.path, { ...file.headers, Vary: 'Accept-Encoding' });
    if (found === undefined) return undefined;
    const isChanged = file.isAddressed === true && this.#publicUrl !== sampleServer;
    const changedAt = isChanged && found.changedAt < startedAt ? startedAt : found.changedAt;
    const document = { ...found, changedAt };
    const known = conditionalResult(document, exchange);
    if (known !== undefined) return known;
    const { bytes, headers } = await this.#accepted(file, changedAt, isChanged, exchange);
    const open = async (range = { start: 0, end: bytes.length - 1 }) =>
      Readable.from(piecesOf(bytes.subarray(range.start, range.end + 1)));
    const content = { ...document, length: bytes.length, headers: { ...document.headers, ...headers }, open };
    return contentResult(content, exchange);
  }

  async #accepted(file: ServedDocument, changedAt: Date, isChanged: boolean, exchange: Exchange): Promise<Form> {
    const name = `${changedAt.getTime()} ${file.path}`;
    const plain = await this.#once(name, async () => {
      const read = await readFile(file.path);
      if (!isChanged && file.headersOf === undefined) return { bytes: read, headers: {} };
      const text = isChanged ? read.toString().replaceAll(sampleServer, () => this.#publicUrl) : read.toString();
      return { bytes: Buffer.from(text), headers: file.headersOf?.(text) ?? {} };
    });
    const encoding = exchange.header('range') === undefined ? acceptedEncoding(exchange) : undefined;
    if (encoding === undefined || plain.bytes.length < shortest) return plain;
    return this.#once(`${encoding} ${name}`, async () => ({
      bytes: await compressDocument(plain.bytes, encoding),
      headers: { ...plain.headers, 'Content-Encoding': encoding },
    }));
  }

  /** Returns the form with this name. Concurrent requests share its computation. */
  #once(name: string, compute: () => Promise<Form>): Promise<Form> {
    return this.#forms.forceFetch(name, { context: compute });
  }
}

async function* piecesOf(bytes: Buffer): AsyncGenerator<Buffer> {
  for (let start = 0; start < bytes.length; start += pieceLength) {
    yield bytes.subarray(start, start + pieceLength);
    // The system takes over several megabytes at once, so that all pieces of all callers would be written in one turn.
    await setImmediate();
  }
}
