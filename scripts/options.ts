import { type ParseArgsConfig, parseArgs } from 'node:util';

const number = /^\d+(\.\d+)?$/;

/**
 * Reads the options of a command, as `parseArgs` does; an option whose default is a number must be one. With `--help` it prints them and
 * ends the process, and with what the command does not take it says so, and ends it with status 2.
 *
 * @param note a sentence about what else the command reads
 */
export function readOptions<Config extends ParseArgsConfig>(
  config: Config,
  note?: string,
): ReturnType<typeof parseArgs<Config>> {
  const help = [usage(config), note].filter((sentence) => sentence !== undefined).join(' ');
  if (process.argv.slice(2).includes('--help')) {
    console.log(help);
    process.exit(0);
  }
  try {
    const parsed = parseArgs(config);
    const wrong = notNumbers(config, parsed.values);
    if (wrong.length > 0) throw new Error(`${wrong.join(', ')} must be a number`);
    return parsed;
  } catch (error) {
    const [sentence] = (error instanceof Error ? error.message : String(error)).split('. ');
    console.error(`${sentence}. ${help}`);
    process.exit(2);
  }
}

/** Those whose names contain one of the texts, separated by commas. Without any, it says what there is, and ends with status 2. */
export function namedLike<One extends { readonly name: string }>(texts: string, all: readonly One[]): One[] {
  const found = all.filter(({ name }) => texts.split(',').some((text) => name.includes(text.trim())));
  if (found.length > 0) return found;
  console.error(`Nothing is named like ${texts}. There are: ${all.map(({ name }) => name).join('; ')}.`);
  process.exit(2);
}

function usage({ options = {} }: ParseArgsConfig): string {
  const words = Object.entries(options).map(([name, { type, default: usual }]) => {
    if (type === 'boolean') return `--${name}`;
    return usual === undefined || usual === '' ? `--${name} VALUE` : `--${name} VALUE (${usual} by default)`;
  });
  return words.length === 0 ? 'This command has no options.' : `The options are ${words.join(', ')}.`;
}

function notNumbers({ options = {} }: ParseArgsConfig, values: Readonly<Record<string, unknown>>): string[] {
  const numbers = Object.entries(options).filter(([, { default: usual }]) => number.test(String(usual)));
  return numbers.flatMap(([name]) => (number.test(String(values[name])) ? [] : [`--${name}`]));
}
