import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Ajv, type ErrorObject } from 'ajv';
import { CannotRun, required } from './cannot-run.ts';
import { categories } from './finding/finding.ts';
import { isObject } from './json.ts';
import type { Auth, CheckOptions } from './options.ts';
import { coverageKinds } from './report/report.ts';

/** Files for the reports; for `json`, `-` is standard output. */
export type Outputs = Partial<Readonly<Record<'json' | 'sarif', string>>>;

/** The settings of a run, as the command line has them. */
interface Values extends Partial<Omit<CheckOptions, 'auth'>>, Outputs {
  /** The path of the module that signs in. */
  readonly auth?: string;
  /** The file of accepted findings. */
  readonly baseline?: string;
  /** Prints only the last line. */
  readonly quiet?: boolean;
}

export interface Settings extends Pick<Values, 'baseline' | 'quiet'> {
  readonly options: CheckOptions;
  readonly outputs: Outputs;
}

const text = { type: 'string', minLength: 1 };
const texts = { type: 'array', items: text };
const isSet = { type: 'boolean' };
const count = { type: 'integer', minimum: 1 };
const seconds = { type: 'number', exclusiveMinimum: 0 };
const percent = { type: 'number', minimum: 0, maximum: 100 };
const shares = {
  type: 'object',
  properties: Object.fromEntries(coverageKinds.map((name) => [name, percent])),
  additionalProperties: false,
};
const kinds = coverageKinds.join(', ');
/** On the command line, spaces would require quotes. */
const hyphenated = categories.map((category) => category.replaceAll(' ', '-')).join(', ');

/** Every setting: the option of the command, and the schema of its value. */
const settings: Readonly<Record<string, readonly [option: string, description: string, schema: object]>> = {
  spec: ['--spec <file|url>', 'path or URL of the OpenAPI 3.0 or 3.1 document', text],
  url: ['--url <url>', "URL of the server (default: the document's first server)", text],
  auth: ['--auth <module>', 'module that signs in', text],
  headers: [
    '--header <name: value...>',
    'header to send with every request; repeatable',
    { type: 'object', additionalProperties: { type: 'string' } },
  ],
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
  json: ['--json <file>', 'write the report as JSON; - is standard output', text],
  sarif: ['--sarif <file>', 'write the report as SARIF 2.1.0', text],
  quiet: ['--quiet', 'print only the last line', isSet],
};

export const settingOptions = Object.values(settings).map(([option, description]) => [option, description] as const);

// Texts become numbers.
const validate = new Ajv({ coerceTypes: true }).compile<Values>({
  type: 'object',
  properties: Object.fromEntries(Object.entries(settings).map(([name, [, , schema]]) => [name, schema])),
});

/** The command line as it is parsed: settings under their names, except for those with a form of their own. */
export interface Flags {
  readonly header?: readonly string[];
  readonly minCoverage?: readonly string[];
  readonly checks?: readonly string[];
}

/** @throws CannotRun if a setting is invalid, or the auth module cannot be loaded. */
export async function settingsOf(flags: Flags, directory: string): Promise<Settings> {
  const values = valuesOf(flags);
  if (!validate(values)) throw new CannotRun(complaint(validate.errors?.[0]));
  const { spec, auth: module, baseline, quiet, json, sarif, ...options } = values;
  if (spec === undefined) throw new CannotRun('No contract is specified. Pass --spec FILE.');
  const auth = module === undefined ? undefined : await authOf(module, directory);
  return {
    options: { ...options, spec, ...(auth && { auth }) },
    outputs: { ...(json && { json }), ...(sarif && { sarif }) },
    ...(baseline && { baseline }),
    ...(quiet && { quiet }),
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

function complaint({ instancePath = '', keyword = '', params }: Partial<ErrorObject> = {}): string {
  const [, name = ''] = instancePath.split('/');
  const [option = ''] = settings[name]?.[0].split(' ') ?? [];
  return `${option} must ${rules[keyword]?.(params ?? {}) ?? 'be valid'}.`;
}

/** What a value must be, by the keyword that it violates. */
const rules: Readonly<Record<string, (params: ErrorObject['params']) => string>> = {
  type: ({ type }) => (type === 'integer' ? 'be a whole number' : `be a ${type}`),
  minLength: () => 'not be empty',
  minimum: ({ limit }) => `be at least ${limit}`,
  exclusiveMinimum: ({ limit }) => `be more than ${limit}`,
  maximum: ({ limit }) => `be at most ${limit}`,
  enum: ({ allowedValues }) => `be one of ${allowedValues.join(', ')}`,
  additionalProperties: () => `name one of ${kinds}`,
};

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
  const others = [value.expired, value.forbidden, value.otherTenant, value.values];
  return others.every((one) => one === undefined || typeof one === 'function');
}
