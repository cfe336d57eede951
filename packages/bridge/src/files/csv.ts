import { once } from 'node:events';
import { createWriteStream, type WriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';

/** What spreadsheets calculate, but for plain numbers. */
const formula = /^[\s\0]*[=+\-@\uff1d\uff0b\uff0d\uff20]/;
const number = /^-?\d+([.,]\d+)?$/;

/** A line of a CSV file as in RFC 4180. A text that would be a formula starts with an apostrophe. */
export function csvLine(cells: readonly (string | null | undefined)[], delimiter = ','): string {
  const texts = cells.map((cell) => {
    const text = formula.test(cell ?? '') && !number.test(cell ?? '') ? `'${cell}` : (cell ?? '');
    return text.includes(delimiter) || /["\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  });
  return `${texts.join(delimiter)}\r\n`;
}

/** A CSV file that appears under its name when it is complete, with a byte order mark for spreadsheets. */
export class CsvWriter {
  readonly #path: string;
  readonly #temporary: string;
  readonly #delimiter: string;
  #stream: WriteStream | undefined;
  rows = 0;

  constructor(path: string, delimiter = ',') {
    this.#path = path;
    this.#delimiter = delimiter;
    this.#temporary = `${path}.${process.pid}.tmp`;
  }

  async write(header: readonly string[], cells: readonly (string | null | undefined)[]): Promise<void> {
    if (this.#stream === undefined) {
      this.#stream = createWriteStream(this.#temporary, { mode: 0o600 });
      this.#stream.write(`\ufeff${csvLine(header, this.#delimiter)}`);
    }
    this.rows += 1;
    if (!this.#stream.write(csvLine(cells, this.#delimiter))) await once(this.#stream, 'drain');
  }

  /** Completes the file. Without rows, there is none, and an earlier one is removed. */
  async close(): Promise<void> {
    if (this.#stream === undefined) return rm(this.#path, { force: true });
    this.#stream.end();
    await once(this.#stream, 'close');
    await rename(this.#temporary, this.#path);
  }

  async discard(): Promise<void> {
    this.#stream?.destroy();
    await rm(this.#temporary, { force: true });
  }
}
