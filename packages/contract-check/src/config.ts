import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Ajv, type ErrorObject } from 'ajv';
import { CannotRun, required } from './cannot-run.ts';
import { categories } from './finding/finding.ts';
import { isObject } from './json.ts';
import type { Auth, CheckOptions } from './options.ts';
import { coverageKindNames } from './report/report.ts';

/** Files for the reports; for `json`, `-` is standard output. */
const outputNames = ['junit', 'json', 'sarif'] as const;
export type Outputs = Partial<Readonly<Record<(typeof outputNames)[number], string>>>;

/** What a configuration file contains: its default export, or its JSON. Paths are relative to it. */
interface Config extends Partial<Omit<CheckOptions, 'auth'>>, Outputs {
  /** How to sign in, or the path of the module that exports it. */
  readonly auth?: Auth | string;
  /** The file of accepted findings. */
  readonly baseline?: string;
  /** Prints only the last line. */
  readonly quiet?: boolean;
}

export interface Settings {
  readonly options: CheckOptions;
  readonly outputs: Outputs;
  readonly baseline: string | undefined;
  readonly quiet: boolean;
}

const text = { type: 'string', minLength: 1 };
const texts = { type: 'array', items: text };
const isSet = { type: 'boolean' };
const count = { type: 'integer', minimum: 1 };
const seconds = { type: 'number', exclusiveMinimum: 0 };
const percent = { type: 'number', minimum: 0, maximum: 100 };
const shares = {
  type: 'object',
  properties: Object.fromEntries(coverageKindNames.map((name) => [name, percent])),
  additionalProperties: false,
};
const kinds = coverageKindNames.join(', ');
/** On the command line, spaces would require quotes. */
const hyphenated = categories.map((category) => category.replaceAll(' ', '-')).join(', ');

/** Every setting: its option of the command, which is undefined if only a file can have it, and the schema of its value. */
const settings: Readonly<Record<string, readonly [option: string | undefined, description: string, schema: object]>> = {
  spec: ['--spec <file|url>', 'path or URL of the OpenAPI 3.0 or 3.1 document', text],
  url: ['--url <url>', "URL of the server (default: the document's first server)", text],
  // May also be an object with functions, which JSON Schema cannot describe.
  auth: ['--auth <module>', 'module that signs in', { type: ['string', 'object'] }],
  headers: [
    '--header <name: value...>',
    'header to send with every request; repeatable',
    { type: 'object', additionalProperties: { type: 'string' } },
  ],
  values: [undefined, '', { type: 'object' }],
  only: [
    '--only <pattern...>',
    'call only these: operation ids, "METHOD /path", paths or tags; * matches any text',
    texts,
  ],
  exclude: ['--exclude <pattern...>', 'never call these, for any purpose; same patterns as --only', texts],
  focus: ['--focus <pattern...>', 'check only these; others can be called to create the data that they need', texts],
  disposable: [
    '--disposable',
    'allow changes to data that the run did not create, and calls that cannot be undone',
    isSet,
  ],
  checks: [
    '--checks <category...>',
    `categories to check: ${hyphenated} (default: all)`,
    { type: 'array', items: { enum: categories } },
  ],
  seed: ['--seed <number>', 'send the same requests as an earlier run with this seed', { type: 'integer' }],
  probes: ['--probes <number>', 'maximum number of invalid and boundary values per parameter or body', count],
  time: ['--time <seconds>', 'maximum duration of the run, with cleaning up', seconds],
  timeout: ['--timeout <seconds>', 'maximum time for a response', seconds],
  concurrency: ['--concurrency <number>', 'maximum number of concurrent requests', count],
  allowUnimplemented: ['--allow-unimplemented', 'do not report operations that return 501', isSet],
  minCoverage: [
    '--min-coverage <[kind=]percent...>',
    `minimum of what must be reached: ${kinds} (default: operations=50); repeatable`,
    shares,
  ],
  baseline: ['--baseline <file>', 'file of accepted findings, each with a reason, which do not count', text],
  junit: ['--junit <file>', 'write the report as JUnit XML', text],
  json: ['--json <file>', 'write the report as JSON; - is standard output', text],
  sarif: ['--sarif <file>', 'write the report as SARIF 2.1.0', text],
  quiet: ['--quiet', 'print only the last line', isSet],
};

/** The options of the command that are settings, with their descriptions. */
export const settingOptions = Object.values(settings).flatMap(([option, description]) =>
  option === undefined ? [] : [[option, description] as const],
);

// Texts of the command line become numbers.
const validate = new Ajv({ coerceTypes: true, allowUnionTypes: true, verbose: true }).compile<Config>({
  type: 'object',
  properties: Object.fromEntries(Object.entries(settings).map(([name, [, , schema]]) => [name, schema])),
  additionalProperties: false,
});

/** What the command line contains: settings under their names, except for those with a form of their own. */
export interface Flags {
  readonly config?: string;
  readonly header?: readonly string[];
  readonly minCoverage?: readonly string[];
  readonly checks?: readonly string[];
}

/**
 * The settings of a run, from the command line and the configuration file. The command line takes precedence.
 *
 * @throws CannotRun if a file cannot be read, or a setting is invalid.
 */
export async function settingsOf({ config: file, ...flags }: Flags, directory = process.cwd()): Promise<Settings> {
  const config = await configOf(file, directory);
  const own = checked(valuesOf(flags), 'The command line is invalid');
  const { auth: how, quiet = false, junit, json, sarif, baseline, ...options } = { ...config, ...own };
  const { spec } = options;
  if (spec === undefined)
    throw new CannotRun('No contract is specified. Pass --spec FILE, or set "spec" in the configuration.');
  const auth = await authOf(how, directory);
  return {
    options: { ...options, spec, headers: { ...config.headers, ...own.headers }, ...(auth && { auth }) },
    outputs: { ...(junit && { junit }), ...(json && { json }), ...(sarif && { sarif }) },
    baseline,
    quiet,
  };
}

function valuesOf({ header = [], minCoverage, checks, ...others }: Flags): object {
  const headers = header.map((one) => {
    const [, name, value] = /^([\w!#$%&'*+.^`|~-]+):[ \t]*([^\r\n]*)$/.exec(one) ?? [];
    if (name !== undefined) return [name, value];
    throw new CannotRun("--header must be a name, a colon and a value: 'Accept-Language: en'.");
  });
  // `80`, or `constraints=80`
  const shares = minCoverage?.map((one) => (one.includes('=') ? one.split('=') : ['operations', one]));
  return {
    ...others,
    headers: Object.fromEntries(headers),
    ...(shares && { minCoverage: Object.fromEntries(shares) }),
    ...(checks && { checks: checks.map((category) => category.replaceAll('-', ' ')) }),
  };
}

async function configOf(requestedFile: string | undefined, directory: string): Promise<Config> {
  const names = ['ts', 'js', 'json'].map((extension) => `contract-check.config.${extension}`);
  const found = requestedFile ?? names.find((name) => existsSync(join(directory, name)));
  if (found === undefined) return {};
  const file = resolve(directory, found);
  const read = async () =>
    file.endsWith('.json') ? JSON.parse(await readFile(file, 'utf8')) : await defaultExport(file);
  const value: unknown = await required(read, `The configuration ${found} cannot be read: `);
  if (!isObject(value)) throw new CannotRun(`The configuration ${found} must export an object by default.`);
  const { minCoverage, ...others } = value;
  const shares = typeof minCoverage === 'number' ? { operations: minCoverage } : minCoverage;
  const config = checked(
    { ...others, ...(shares === undefined ? {} : { minCoverage: shares }) },
    `The configuration ${found} is invalid`,
  );
  const absolute = (path: unknown) =>
    typeof path !== 'string' || path === '-' || /^https?:\/\//.test(path) ? path : resolve(dirname(file), path);
  const paths = (['spec', ...outputNames, 'baseline', 'auth'] as const).filter((name) => name in config);
  return { ...config, ...Object.fromEntries(paths.map((name) => [name, absolute(config[name])])) };
}

async function authOf(how: Auth | string | undefined, directory: string): Promise<Auth | undefined> {
  if (how === undefined) return undefined;
  const what = typeof how === 'string' ? `The auth module ${how}` : 'The "auth" of the configuration';
  const load = () => (typeof how === 'string' ? defaultExport(resolve(directory, how)) : how);
  const auth: unknown = await required(load, `${what} cannot be loaded: `);
  if (isAuth(auth)) return auth;
  throw new CannotRun(`${what} must export by default an object with a function caller() that returns headers.`);
}

function isAuth(value: unknown): value is Auth {
  if (!isObject(value) || typeof value.caller !== 'function') return false;
  const others = [value.expired, value.forbidden, value.otherTenant, value.values];
  return others.every((one) => one === undefined || typeof one === 'function');
}

async function defaultExport(file: string): Promise<unknown> {
  return (await import(pathToFileURL(file).href)).default;
}

function checked(value: object, complaint: string): Config {
  if (validate(value)) return value;
  throw new CannotRun(`${complaint}: ${reasonOf(validate.errors?.[0])}.`);
}

function reasonOf(error: ErrorObject | undefined): string {
  const { additionalProperty, allowedValues } = error?.params ?? {};
  if (additionalProperty !== undefined)
    return `unknown property "${additionalProperty}". Known properties: ${Object.keys(error?.parentSchema?.properties).join(', ')}`;
  const values = allowedValues === undefined ? '' : `: ${allowedValues.join(', ')}`;
  return `${error?.instancePath.slice(1).replaceAll('/', '.')} ${error?.message}${values}`;
}
