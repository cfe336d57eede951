/** Rows of a CSV file, whose columns a form names. */
import { basename } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { CsvError, type Options, parse } from 'csv-parse';
import { parse as parseNow } from 'csv-parse/sync';
import { BridgeError } from '../errors.ts';
import { readText, startOf } from './text.ts';

export interface TableRow {
  /** Line of the file on which the row ends. */
  readonly line: number;
  readonly cells: readonly string[];
}

export interface Table {
  readonly delimiter: string;
  readonly header: readonly string[];
  /** Index of the column of each field that the file has. */
  readonly columns: ReadonlyMap<string, number>;
  rows(): AsyncGenerator<TableRow>;
}

/** Reports and exports have at most so many lines before the names of their columns. */
const maxTitleRows = 15;
const options = {
  relax_column_count: true,
  relax_quotes: true,
  skip_empty_lines: true,
  // A quote that is never closed would take the rest of the file.
  max_record_size: 1_000_000,
} satisfies Options;

/**
 * Opens a file. The delimiter is the one of comma, semicolon and tab with which a row near the start has all required columns.
 *
 * @param columns names that each field may have as a column
 * @throws BridgeError if no row has them
 */
export async function openTable(
  path: string,
  columns: Readonly<Record<string, readonly string[]>>,
  required: readonly string[],
  encoding?: string,
): Promise<Table> {
  const requiredFields = new Set(required);
  const start = await startOf(path, encoding);
  if (start.trim() === '') throw new BridgeError(`${basename(path)} is empty.`);
  let best: { missing: readonly string[]; header: readonly string[] } | undefined;
  for (const delimiter of [',', ';', '\t']) {
    for (const [index, header] of firstRows(start, delimiter).entries()) {
      const found = columnsOf(header, columns);
      const missing = [...requiredFields].filter((field) => !found.has(field));
      if (missing.length === 0)
        return {
          delimiter,
          header,
          columns: found,
          rows: () => rowsOf(path, delimiter, index + 1, header.length, encoding),
        };
      if (best === undefined || missing.length < best.missing.length) best = { missing, header };
    }
  }
  const names = (best?.missing ?? [...requiredFields]).map(
    (field) => `“${(columns[field] ?? [field]).join('” or “')}”`,
  );
  const header =
    best === undefined || best.missing.length === requiredFields.size ? '' : ` It has ${best.header.join(', ')}.`;
  throw new BridgeError(
    `${basename(path)} has no ${names.length === 1 ? 'column' : 'columns'} ${names.join('; ')}.${header} Check that it is the right export, or describe its columns in a file for --mapping.`,
  );
}

function columnsOf(
  header: readonly string[],
  columns: Readonly<Record<string, readonly string[]>>,
): Map<string, number> {
  const names = header.map(plain);
  const found = new Map<string, number>();
  for (const [field, aliases] of Object.entries(columns)) {
    const index = aliases.map((alias) => names.indexOf(plain(alias))).find((one) => one >= 0);
    if (index !== undefined) found.set(field, index);
  }
  return found;
}

/** Xero and QuickBooks mark required columns with an asterisk. */
function plain(name: string): string {
  return name.trim().replace(/^\*/, '').replace(/\s+/g, ' ').toLowerCase();
}

function firstRows(start: string, delimiter: string): string[][] {
  const parsed = (text: string) =>
    parseNow(text, { ...options, delimiter, to: maxTitleRows }).map((cells) => cells.map(String));
  try {
    return parsed(start);
  } catch {
    // A quotation mark is not closed here. The names of columns are before it.
    const lines = start.split('\n', maxTitleRows);
    const open = lines.findIndex((line) => line.split('"').length % 2 === 0);
    return open === -1 ? [] : parsed(lines.slice(0, open).join('\n'));
  }
}

async function* rowsOf(
  path: string,
  delimiter: string,
  from: number,
  width: number,
  encoding: string | undefined,
): AsyncGenerator<TableRow> {
  const parser = parse({ ...options, delimiter, info: true });
  const reading = pipeline(Readable.from(readText(path, encoding)), parser);
  reading.catch(() => {});
  let index = 0;
  try {
    for await (const { record, info } of parser as AsyncIterable<{ record: string[]; info: { lines: number } }>) {
      index += 1;
      if (index <= from) continue;
      const cells = record.map(cellOf);
      if (cells.every((cell) => cell === '')) continue;
      while (cells.length > width && cells.at(-1) === '') cells.pop();
      yield { line: info.lines, cells };
    }
    await reading;
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    throw new BridgeError(
      `${basename(path)} is not a CSV file from line ${error.lines ?? '?'} on: a quotation mark is never closed. Correct that line, and run the command again.`,
    );
  }
}

/** Spreadsheets write texts of digits as `="00123"`, and programs mark texts that look like formulas with an apostrophe. Nothing is calculated. */
function cellOf(cell: string): string {
  const [, text] = /^="([^"]*)"$/.exec(cell.trim()) ?? [];
  return (text ?? cell.replace(/^'(?=[\s\0]*[=+\-@])/, '')).trim();
}
