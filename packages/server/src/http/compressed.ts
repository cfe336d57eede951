import { readFile } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import accepts from 'accepts';
import { LRUCache } from 'lru-cache';
import type { Content } from './content.ts';
import type { Exchange } from './exchange.ts';

/** How a response can be compressed, the best first. */
const encodings = ['br', 'gzip'] as const;
export type Encoding = (typeof encodings)[number];

/** A shorter document fits into one packet anyway, in bytes. */
const shortest = 1_400;

/** How many bytes of compressed documents stay in memory. All of them together have a megabyte or two. */
const mostKept = 16 * 1024 * 1024;

/** Documents change with a release only, so that more effort than for a response pays off, but not seconds of a processor. */
const compressors: Readonly<Record<Encoding, (text: Buffer) => Promise<Buffer>>> = {
  br: (text) => promisify(brotliCompress)(text, { params: { [constants.BROTLI_PARAM_QUALITY]: 6 } }),
  gzip: (text) => promisify(gzip)(text, { level: 6 }),
};

/** Returns the best encoding that the caller accepts; undefined if the content must be sent as it is. */
export function acceptedEncoding(exchange: Exchange): Encoding | undefined {
  const request = { headers: exchange.requestHeaders } as Parameters<typeof accepts>[0];
  const accepted = accepts(request).encodings(...encodings, 'identity');
  return encodings.find((encoding) => encoding === accepted);
}

/** Compresses documents that do not depend on the caller: each once, when it is first asked for. */
export class CompressedDocuments {
  readonly #kept = new LRUCache<string, Buffer>({ maxSize: mostKept, sizeCalculation: ({ length }) => length + 1 });
  readonly #pending = new Map<string, Promise<Buffer>>();

  /** Returns the content of a file as the caller accepts it. A part is one of the document as it is. */
  async accepted(path: string, plain: Content, exchange: Exchange): Promise<Content> {
    const content = { ...plain, headers: { ...plain.headers, Vary: 'Accept-Encoding' } };
    const encoding = acceptedEncoding(exchange);
    if (encoding === undefined || plain.length < shortest || exchange.header('range') !== undefined) return content;
    const bytes = await this.#compressed(path, plain.changedAt, encoding);
    return {
      ...content,
      length: bytes.length,
      headers: { ...content.headers, 'Content-Encoding': encoding },
      open: async () => Readable.from([bytes]),
    };
  }

  async #compressed(path: string, changedAt: Date, encoding: Encoding): Promise<Buffer> {
    const key = `${encoding} ${changedAt.getTime()} ${path}`;
    const kept = this.#kept.get(key);
    if (kept !== undefined) return kept;
    const pending = this.#pending.get(key) ?? this.#compress(key, path, encoding);
    this.#pending.set(key, pending);
    return pending;
  }

  async #compress(key: string, path: string, encoding: Encoding): Promise<Buffer> {
    try {
      const bytes = await compressors[encoding](await readFile(path));
      this.#kept.set(key, bytes);
      return bytes;
    } finally {
      this.#pending.delete(key);
    }
  }
}
