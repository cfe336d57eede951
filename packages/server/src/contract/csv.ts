export type CsvCell = string | null;

/** Bytes that a file has at most. */
export const maxFileBytes = 20_000_000;

/** A response with a file for spreadsheets instead of JSON. */
export class CsvFile {
  /** The name under which it is saved. */
  readonly name: string;
  readonly #parts: string[] = [];
  #length = 0;

  /** @param rows cells by row, the names of the columns first; null is an empty cell */
  constructor(name: string, rows: readonly (readonly CsvCell[])[]) {
    this.name = name;
    this.add(rows);
  }

  add(rows: readonly (readonly CsvCell[])[]): void {
    const part = rows.map((cells) => `${cells.map(cellOf).join(',')}\r\n`).join('');
    this.#parts.push(part);
    this.#length += Buffer.byteLength(part);
  }

  get text(): string {
    return this.#parts.join('');
  }

  /** Size in bytes. */
  get length(): number {
    return this.#length;
  }
}

/** What spreadsheets calculate, but for plain numbers. Some of them skip spaces and control characters before it. */
const formula = /^[\s\0]*[=+\-@\uff1d\uff0b\uff0d\uff20]/;
const number = /^-?\d+(\.\d+)?$/;

/** Where a spreadsheet that separates by semicolons, as in many languages, begins another cell that calls a function or a program. It ignores quotes there. */
const callInside = /(?<=[;\t\r\n])(?=(?:[^\S\t\r\n]|[\0"])*[=+\-@\uff1d\uff0b\uff0d\uff20][^;\t\r\n]*[(|])/g;

/** A cell as in RFC 4180. A text that would be a formula starts with an apostrophe, so that it is shown as it is. */
function cellOf(value: CsvCell): string {
  if (value === null) return '';
  const shown = formula.test(value) && !number.test(value) ? `'${value}` : value;
  const text = shown.replaceAll(callInside, "'");
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
