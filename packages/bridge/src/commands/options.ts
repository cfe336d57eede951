/** Options that several commands have. */

import { basename, dirname, extname, join } from 'node:path';
import { type Command, Option } from 'commander';
import type { Notation } from '../files/values.ts';

export interface FileOptions extends Notation {
  readonly apply?: boolean;
  readonly encoding?: string;
  readonly failed?: string;
}

export function addFileOptions(command: Command): Command {
  return command
    .option('--apply', 'store it; without this, the service only checks everything')
    .option(
      '--encoding <name>',
      'encoding of a file that is not UTF-8 or UTF-16 with a byte order mark, such as windows-1252',
    )
    .addOption(new Option('--dates <order>', 'order of days such as 03/04/2026').choices(['dmy', 'mdy']))
    .addOption(new Option('--decimal <mark>', 'decimal mark of numbers such as 1,234').choices(['comma', 'point']))
    .option('--failed <file>', 'where to write what could not be done (default: beside the file)');
}

/** `payments.csv` becomes `payments.failed.csv`. */
export function failedPathOf(file: string, { failed }: FileOptions): string {
  return failed ?? join(dirname(file), `${basename(file, extname(file))}.failed.csv`);
}

/** Shows progress: in place on a terminal, otherwise a line now and then. */
export function progress(what: string): { onRows: (rows: number, of: number) => void; end: () => void } {
  const { isTTY } = process.stderr;
  let last = 0;
  return {
    onRows: (rows, of) => {
      if (isTTY) process.stderr.write(`\r${what} ${rows.toLocaleString('en')} of ${of.toLocaleString('en')} rows`);
      else if (rows - last >= 10_000) console.error(`${what} ${rows} of ${of} rows`);
      else return;
      last = rows;
    },
    end: () => {
      if (isTTY && last > 0) process.stderr.write('\r\u001b[K');
    },
  };
}

/** Lines of a table of two columns, the second to the right. */
export function figures(rows: readonly (readonly [string, number])[]): string[] {
  const shown = rows.filter(([, figure]) => figure > 0);
  const width = Math.max(0, ...shown.map(([name]) => name.length));
  return shown.map(([name, figure]) => `  ${name.padEnd(width)}  ${figure.toLocaleString('en').padStart(9)}`);
}
