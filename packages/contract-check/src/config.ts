import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { CannotRun, required } from './cannot-run.ts';
import { type Category, categories } from './finding/finding.ts';
import { isObject } from './json.ts';
import type { Auth, CheckOptions } from './run/options.ts';
import { coverageKinds } from './run/report.ts';

export interface Flags extends Omit<CheckOptions, 'auth' | 'checks' | 'headers' | 'keys'> {
  readonly key?: CheckOptions['keys'];
  readonly auth?: string;
  /** Categories with hyphens: on the command line, spaces would require quotes. */
  readonly checks?: readonly string[];
  readonly header?: CheckOptions['headers'];
  readonly baseline?: string;
  readonly updateBaseline?: boolean;
  /** Files for the reports; `-` is standard output. */
  readonly json?: string;
  readonly sarif?: string;
  readonly junit?: string;
  readonly plan?: boolean;
}

export function withOptions(command: Command): Command {
  return command
    .option('--spec <file|url>', 'path or URL of the document: OpenAPI 3.0 to 3.2, or Swagger 2.0', text)
    .option('--url <url>', "URL of the server (default: the document's first server)", text)
    .option('--auth <module>', 'module that signs in', text)
    .option(
      '--key <scheme=value...>',
      'key, token or user:password of a security scheme of the document; repeatable',
      key,
    )
    .option('--header <name: value...>', 'header to send with every request; repeatable', header)
    .option(
      '--only <pattern...>',
      'call only these: operation ids, "METHOD /path", paths or tags; * matches any text',
      texts,
    )
    .option('--exclude <pattern...>', 'never call these, for any purpose; same patterns as --only', texts)
    .option('--focus <pattern...>', 'check only these; others can be called to create the data that they need', texts)
    .option('--disposable', 'allow changes to data that the run did not create, and calls that cannot be undone')
    .addOption(
      new Option('--checks <category...>', 'categories to check; all by default').choices(categories.map(hyphenated)),
    )
    .option('--seed <number>', 'send the same requests as an earlier run with this seed', integer)
    .option('--probes <number>', 'maximum number of invalid and boundary values per parameter or body', count)
    .option('--time <seconds>', 'maximum duration of the run, with cleaning up', seconds)
    .option('--timeout <seconds>', 'maximum time for a response', seconds)
    .option('--concurrency <number>', 'maximum number of concurrent requests', count)
    .option('--allow-unimplemented', 'do not report operations that return 501')
    .option(
      '--min-coverage <[kind=]percent...>',
      `minimum of what must be reached: ${coverageKinds.join(', ')} (default: operations=50); repeatable`,
      minimum,
    )
    .option('--baseline <file>', 'file of accepted findings, each with a reason, which do not count', text)
    .option('--update-baseline', 'write all findings of this run to the file of --baseline')
    .option('--json <file>', 'write the report as JSON; - is standard output', text)
    .option('--sarif <file>', 'write the report as SARIF 2.1.0', text)
    .option('--junit <file>', 'write the report as JUnit XML: a test for each operation', text)
    .option('--plan', 'print what the run would call, and send nothing');
}

/** @throws CannotRun if no contract is specified, or the auth module cannot be loaded. */
export async function optionsOf(flags: Flags, directory: string): Promise<CheckOptions> {
  // Commander would require it before it suggests the name of an option that is misspelt.
  if (flags.spec === undefined) throw new CannotRun('No contract is specified. Pass --spec FILE.');
  const { auth: file, checks, header: headers, key: keys, ...options } = flags;
  const auth = file === undefined ? undefined : await authOf(file, directory);
  return {
    ...options,
    ...(auth && { auth }),
    ...(checks && { checks: categories.filter((category) => checks.includes(hyphenated(category))) }),
    ...(headers && { headers }),
    ...(keys && { keys }),
  };
}

function hyphenated(category: Category): string {
  return category.replaceAll(' ', '-');
}

function text(value: string): string {
  if (value !== '') return value;
  throw new InvalidArgumentError('It must not be empty.');
}

function texts(value: string, before: readonly string[] = []): string[] {
  return [...before, text(value)];
}

function numberThat(isValid: (value: number) => boolean, what: string) {
  return (value: string): number => {
    const number = Number(text(value));
    if (Number.isFinite(number) && isValid(number)) return number;
    throw new InvalidArgumentError(`It must be ${what}.`);
  };
}

const integer = numberThat(Number.isInteger, 'a whole number');
const count = numberThat((value) => Number.isInteger(value) && value >= 1, 'a whole number, at least 1');
const seconds = numberThat((value) => value > 0, 'a number, more than 0');
const percent = numberThat((value) => value >= 0 && value <= 100, 'a number from 0 to 100');

/** `80`, or `constraints=80`. */
function minimum(value: string, before: object = {}): object {
  const [kind, share = ''] = value.includes('=') ? value.split('=') : ['operations', value];
  if (coverageKinds.some((one) => one === kind)) return { ...before, [kind ?? '']: percent(share) };
  throw new InvalidArgumentError(`It must name one of ${coverageKinds.join(', ')}.`);
}

function key(value: string, before: object = {}): object {
  const [, scheme, content] = /^([^=]+)=(.+)$/s.exec(value) ?? [];
  if (scheme !== undefined) return { ...before, [scheme]: content };
  throw new CannotRun('--key must be the name of a security scheme, an equals sign and a value: apiKey=…');
}

function header(value: string, before: object = {}): object {
  const [, name, content] = /^([\w!#$%&'*+.^`|~-]+):[ \t]*([^\r\n]*)$/.exec(value) ?? [];
  if (name !== undefined) return { ...before, [name]: content };
  // The message does not have the value, which can be a secret.
  throw new CannotRun("--header must be a name, a colon and a value: 'Accept-Language: en'.");
}

async function authOf(file: string, directory: string): Promise<Auth> {
  const what = `The auth module ${file}`;
  const module = await required(
    () => import(pathToFileURL(resolve(directory, file)).href),
    `${what} cannot be loaded: `,
  );
  if (isAuth(module.default)) return module.default;
  throw new CannotRun(`${what} must export by default an object with a function caller() that returns headers.`);
}

function isAuth(value: unknown): value is Auth {
  if (!isObject(value) || typeof value.caller !== 'function') return false;
  const others = [value.expired, value.forbidden, value.otherTenant, value.values, value.withScopes];
  return others.every((one) => one === undefined || typeof one === 'function');
}
