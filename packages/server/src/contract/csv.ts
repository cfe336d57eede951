/** A response with a file for spreadsheets instead of JSON. */
export class CsvFile {
  readonly text: string;

  /** @param rows cells by row, the names of the columns first; null is an empty cell */
  constructor(rows: readonly (readonly (string | null)[])[]) {
    this.text = rows.map((cells) => `${cells.map(cellOf).join(',')}\r\n`).join('');
  }
}

/** What spreadsheets calculate, but for plain numbers. Some of them skip spaces and control characters before it. */
const formula = /^[\s\0]*[=+\-@\uff1d\uff0b\uff0d\uff20]/;
const number = /^-?\d+(\.\d+)?$/;

/** A cell as in RFC 4180. A text that would be a formula starts with an apostrophe, so that it is shown as it is. */
function cellOf(value: string | null): string {
  if (value === null) return '';
  const text = formula.test(value) && !number.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
