/** Options that several commands have. */

import { basename, dirname, extname, join } from 'node:path';
import { type Command, Option } from 'commander';
import { BridgeError } from '../errors.ts';
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
    .addOption(
      new Option('--two-digit-years <first>', 'first of the 100 years that days such as 03/04/26 can mean').argParser(
        (value) => {
          if (/^[12]\d{3}$/.test(value)) return value;
          throw new BridgeError('--two-digit-years must be a year such as 2000, for years from 2000 to 2099.');
        },
      ),
    )
    .addOption(new Option('--decimal <mark>', 'decimal mark of numbers such as 1,234').choices(['comma', 'point']))
    .option('--failed <file>', 'where to write what could not be done (default: beside the file)');
}

/** `payments.csv` becomes `payments.failed.csv`. */
export function failedPathOf(file: string, { failed }: FileOptions): string {
  return failed ?? join(dirname(file), `${basename(file, extname(file))}.failed.csv`);
}

/** Shows progress: in place on a terminal, otherwise a line for every so many. `clear` it before anything else is printed. */
export function progress(
  what: string,
  noun: string,
): { show: (count: number, of?: number) => void; clear: () => void } {
  const { isTTY } = process.stderr;
  let last = 0;
  return {
    show: (count, of) => {
      if (count - last < (isTTY ? 100 : 10_000) && count !== of) return;
      const text = `${what} ${count.toLocaleString('en')}${of === undefined ? '' : ` of ${of.toLocaleString('en')}`} ${noun}`;
      if (isTTY) process.stderr.write(`\r${text}\u001b[K`);
      else if (count >= 10_000) console.error(text);
      last = count;
    },
    clear: () => {
      if (isTTY && last > 0) process.stderr.write('\r\u001b[K');
    },
  };
}

export function counted(count: number, noun: string, plural = `${noun}s`): string {
  return `${count.toLocaleString('en')} ${count === 1 ? noun : plural}`;
}

/** Lines of a table of two columns, the second to the right. */
export function figures(rows: readonly (readonly [string, number])[]): string[] {
  const shown = rows.filter(([, figure]) => figure > 0);
  const width = Math.max(0, ...shown.map(([name]) => name.length));
  return shown.map(([name, figure]) => `  ${name.padEnd(width)}  ${figure.toLocaleString('en').padStart(9)}`);
}
