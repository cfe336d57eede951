import { InvalidArgumentError, Option } from 'commander';
import type { CommandName, Commands } from '../../operator/commands.ts';
import type { WorkOptions } from '../../operator/run-commands.ts';

export async function doCommand<Name extends CommandName>(
  name: Name,
  input: Commands[Name]['input'],
  options: WorkOptions = {},
): Promise<Commands[Name]['result']> {
  const { withOperator } = await import('../../operator/run-commands.ts');
  return withOperator((run) => run(name, input), options);
}

/** A list without what is in databases that cannot be reached must not pass for a complete one. */
export function warnOfUnavailable(cells: readonly string[]): void {
  if (cells.length === 0) return;
  console.error(`The list is incomplete: these databases cannot be reached: ${cells.join(', ')}.`);
  process.exitCode = 1;
}

export interface ListOptions {
  readonly json: boolean;
}

export function jsonOption(): Option {
  return new Option('--json', 'print JSON').default(false);
}

/** Prints a list as a table, or as JSON for programs. */
export function print(rows: object, json: boolean, none = ''): void {
  if (json) console.log(JSON.stringify(rows, undefined, 2));
  else if (Array.isArray(rows) && rows.length === 0) console.log(none);
  else console.table(Array.isArray(rows) ? rows.map(oneLine) : rows);
}

/** Lists within a row are shown as text: a table has one line for each row. */
function oneLine(row: object): object {
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => [name, Array.isArray(value) ? value.join(',') : value]),
  );
}

export function wholeNumber(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1 || value > 3650)
    throw new InvalidArgumentError('The value must be an integer from 1 to 3650.');
  return value;
}
