import { existsSync } from 'node:fs';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { BridgeError } from '../errors.ts';

/** A folder of documents. A file appears under its name when it is complete, and one that is there already stays. */
export class DocumentFolder {
  readonly path: string;
  readonly #onFile: (name: string) => void;
  written = 0;
  /** Files that an earlier run has written. */
  present = 0;

  private constructor(path: string, onFile: (name: string) => void) {
    this.path = path;
    this.#onFile = onFile;
  }

  static async open(path: string, onFile: (name: string) => void): Promise<DocumentFolder> {
    await mkdir(path, { recursive: true });
    return new DocumentFolder(path, onFile);
  }

  /**
   * Writes a document unless its file is there.
   *
   * @param words what the name of the file consists of
   * @param get returns what the service sent; undefined if there is no such document
   */
  async add(words: readonly string[], extension: string, get: () => Promise<unknown>): Promise<void> {
    const name = `${words.map((word) => word.replace(/[^\p{L}\p{N}._-]+/gu, '_')).join('-')}.${extension}`;
    const path = join(this.path, name);
    if (existsSync(path)) {
      this.present += 1;
      return;
    }
    const content = await get();
    if (content === undefined) return;
    if (typeof content !== 'string' && !(content instanceof Uint8Array))
      throw new BridgeError('The service returned no file.');
    await writeFile(`${path}.tmp`, content, { mode: 0o600 });
    await rename(`${path}.tmp`, path);
    this.written += 1;
    this.#onFile(name);
  }
}
