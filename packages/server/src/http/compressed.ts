import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { LRUCache } from 'lru-cache';
import type { Content } from './content.ts';
import { acceptedEncoding, type Encoding, shortest } from './encoding.ts';
import type { Exchange } from './exchange.ts';

/** How many bytes of compressed documents stay in memory. All of them together have a megabyte or two. */
const mostKept = 16 * 1024 * 1024;

/** Documents change with a release only, so that more effort than for a response pays off, but not seconds of a processor. */
const compressors: Readonly<Record<Encoding, (text: Buffer) => Promise<Buffer>>> = {
  br: (text) => promisify(brotliCompress)(text, { params: { [constants.BROTLI_PARAM_QUALITY]: 6 } }),
  gzip: (text) => promisify(gzip)(text, { level: 6 }),
};

/** Compresses documents that do not depend on the caller: each once, when it is first requested. */
export class CompressedDocuments {
  readonly #kept = new LRUCache<string, Buffer>({ maxSize: mostKept, sizeCalculation: ({ length }) => length + 1 });
  readonly #pending = new Map<string, Promise<Buffer>>();

  /** Returns the content of a document as the caller accepts it. A part is one of the document as it is. */
  async accepted(name: string, plain: Content, exchange: Exchange): Promise<Content> {
    const content = { ...plain, headers: { ...plain.headers, Vary: 'Accept-Encoding' } };
    const encoding = acceptedEncoding(exchange);
    if (encoding === undefined || plain.length < shortest || exchange.header('range') !== undefined) return content;
    const bytes = await this.#compressed(name, plain, encoding);
    return {
      ...content,
      length: bytes.length,
      headers: { ...content.headers, 'Content-Encoding': encoding },
      open: async () => Readable.from([bytes]),
    };
  }

  async #compressed(name: string, plain: Content, encoding: Encoding): Promise<Buffer> {
    const key = `${encoding} ${plain.changedAt.getTime()} ${name}`;
    const kept = this.#kept.get(key);
    if (kept !== undefined) return kept;
    const pending = this.#pending.get(key) ?? this.#compress(key, plain, encoding);
    this.#pending.set(key, pending);
    return pending;
  }

  async #compress(key: string, plain: Content, encoding: Encoding): Promise<Buffer> {
    try {
      const bytes = await compressors[encoding](await buffer(await plain.open(undefined)));
      this.#kept.set(key, bytes);
      return bytes;
    } finally {
      this.#pending.delete(key);
    }
  }
}
