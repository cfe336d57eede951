import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Ajv, type ErrorObject } from 'ajv';
import { CannotRun } from './cannot-run.ts';
import { categories } from './finding/finding.ts';
import { isObject } from './json.ts';
import type { Auth, CalledOperation, CheckOptions } from './options.ts';
import { isSecretName, type Secret, secretsInHeader, variableOf } from './report/mask.ts';
import { coverageKindNames } from './report/report.ts';

type Headers = Readonly<Record<string, string>>;

/** A header value of this length that is not an ID is treated as a credential, regardless of its name. */
const minSecretLength = 24;
const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Wraps an auth module, and records every credential that it returns, so that reports can mask it. */
export function remembering(auth: Auth, remember: (secret: Secret) => void): Auth {
  const wrapped = <Name extends keyof Auth>(name: Name, secretsOf: (received: Headers) => Secret[]) => {
    if (auth[name] === undefined) return {};
    const call = async (operation?: CalledOperation): Promise<Headers> => {
      const received = ((await auth[name]?.(operation)) ?? {}) as Headers;
      for (const secret of secretsOf(received)) remember(secret);
      return received;
    };
    // Only a function that declares a parameter is called for each operation.
    return { [name]: Object.defineProperty(call, 'length', { value: auth[name].length }) };
  };
  const others = (['expired', 'forbidden', 'otherTenant'] as const).map((identity) =>
    wrapped(identity, (headers) => secretsOfHeaders(headers, `${variableOf(identity)}_`)),
  );
  return Object.assign({}, wrapped('caller', secretsOfHeaders), ...others, wrapped('values', secretsOfValues));
}

/** @param prefix of the variables, such as `OTHER_TENANT_`. */
export function secretsOfHeaders(headers: Headers, prefix = ''): Secret[] {
  return Object.entries(headers).flatMap(([name, value]) =>
    secretsOfHeader(name, value).map((secret) => ({ ...secret, variable: prefix + secret.variable })),
  );
}

export function secretsOfValues(values: Readonly<Record<string, unknown>>): Secret[] {
  return Object.entries(values).flatMap(([name, value]) =>
    typeof value === 'string' && isSecretName(name) ? [{ value, variable: variableOf(name) }] : [],
  );
}

function secretsOfHeader(name: string, value: string): Secret[] {
  const found = secretsInHeader(name, value);
  if (found.length === 0 && value.length >= minSecretLength && !uuid.test(value))
    return [{ value, variable: variableOf(name) }];
  const passwords = found
    .filter(({ variable }) => variable === 'CREDENTIALS')
    .map((basic) => {
      const [, password = ''] = /^[^:]*:(.*)$/s.exec(Buffer.from(basic.value, 'base64').toString()) ?? [];
      return { value: password, variable: 'PASSWORD' };
    });
  return [...found, ...passwords];
}

/** Files for the reports; for `json`, `-` is standard output. */
export interface Outputs {
  readonly junit?: string;
  readonly json?: string;
  readonly sarif?: string;
}

/** The default export of a configuration file, or its JSON. Paths are relative to it. */
interface Config extends Partial<Omit<CheckOptions, 'auth' | 'signal' | 'onProgress' | 'onPlan'>>, Outputs {
  /** How to sign in, or the path of the module that exports it. */
  readonly auth?: Auth | string;
  /** The file of accepted findings. */
  readonly baseline?: string;
  /** Prints only the last line. */
  readonly quiet?: boolean;
}

/** The options of the command. */
export interface Flags extends Config {
  readonly auth?: string;
  readonly header?: Readonly<Record<string, string>>;
  readonly config?: string;
}

export interface Settings {
  readonly options: CheckOptions;
  readonly outputs: Outputs;
  readonly baseline: string | undefined;
  readonly quiet: boolean;
  /** Credentials to mask. Sign-ins add to it during the run. */
  readonly secrets: readonly Secret[];
}

const defaultFiles = ['ts', 'js', 'json'].map((extension) => `contract-check.config.${extension}`);
const outputNames = ['junit', 'json', 'sarif'] as const;
const allOf = (names: readonly string[], schema: object) => Object.fromEntries(names.map((name) => [name, schema]));
const text = { type: 'string', minLength: 1 };
const percent = { type: 'number', minimum: 0, maximum: 100 };

const properties = {
  ...allOf(['spec', 'url', 'baseline', ...outputNames], text),
  ...allOf(['only', 'exclude', 'focus'], { type: 'array', items: text }),
  ...allOf(['time', 'timeout'], { type: 'number', exclusiveMinimum: 0 }),
  ...allOf(['concurrency', 'probes'], { type: 'integer', minimum: 1 }),
  ...allOf(['allowUnimplemented', 'quiet', 'disposable'], { type: 'boolean' }),
  seed: { type: 'integer' },
  minCoverage: {
    anyOf: [percent, { type: 'object', properties: allOf(coverageKindNames, percent), additionalProperties: false }],
  },
  checks: { type: 'array', items: { enum: categories } },
  headers: { type: 'object', additionalProperties: { type: 'string' } },
  values: { type: 'object' },
  // May also be an object with functions, which JSON Schema cannot describe.
  auth: { type: ['string', 'object'] },
};

/**
 * The settings of a run, from flags and the configuration file. Flags take precedence.
 *
 * @throws CannotRun if a file cannot be read or is invalid.
 */
export async function settingsOf(flags: Flags, directory = process.cwd()): Promise<Settings> {
  const { header, config: file, ...own } = flags;
  const config = await configOf(file, directory);
  const { auth: configuredAuth, quiet = false, junit, json, sarif, baseline, ...options } = { ...config, ...own };
  const { spec, headers = {}, values = {} } = options;
  if (spec === undefined)
    throw new CannotRun('No contract is specified. Pass --spec FILE, or set "spec" in the configuration.');
  const sent = { ...headers, ...header };
  const secrets: Secret[] = [...secretsOfHeaders(sent), ...secretsOfValues(values)];
  const auth = await authOf(configuredAuth, directory);
  return {
    options: {
      ...options,
      spec,
      headers: sent,
      ...(auth === undefined ? {} : { auth: remembering(auth, (secret) => remember(secrets, secret)) }),
    },
    outputs: Object.fromEntries(Object.entries({ junit, json, sarif }).filter(([, path]) => path !== undefined)),
    baseline,
    quiet,
    secrets,
  };
}

function remember(secrets: Secret[], secret: Secret): void {
  if (!secrets.some(({ value, variable }) => value === secret.value && variable === secret.variable))
    secrets.push(secret);
}

async function configOf(requestedFile: string | undefined, directory: string): Promise<Config> {
  const found = requestedFile ?? defaultFiles.find((name) => existsSync(join(directory, name)));
  if (found === undefined) return {};
  const file = resolve(directory, found);
  const read = async () =>
    file.endsWith('.json')
      ? JSON.parse(await readFile(file, 'utf8'))
      : (await import(pathToFileURL(file).href)).default;
  const config = checked(await loaded(`The configuration ${found} cannot be read`, read), found);
  const absolute = (path: string) => (path === '-' || /^https?:\/\//.test(path) ? path : resolve(dirname(file), path));
  const paths = (['spec', ...outputNames, 'baseline', 'auth'] as const).flatMap((name) => {
    const path = config[name];
    return typeof path === 'string' ? [[name, absolute(path)] as const] : [];
  });
  return { ...config, ...Object.fromEntries(paths) };
}

async function loaded(complaint: string, load: () => Promise<unknown>): Promise<unknown> {
  try {
    return await load();
  } catch (error) {
    throw new CannotRun(`${complaint}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function checked(value: unknown, name: string): Config {
  if (!isObject(value)) throw new CannotRun(`The configuration ${name} must export an object by default.`);
  const schema = { type: 'object', additionalProperties: false, properties };
  const validate = new Ajv({ allowUnionTypes: true }).compile<Config>(schema);
  if (!validate(value)) throw new CannotRun(`The configuration ${name} is invalid: ${complaint(validate.errors?.[0])}`);
  return value;
}

function complaint(error: ErrorObject | undefined): string {
  if (error?.keyword === 'additionalProperties' && error.instancePath === '')
    return `unknown property "${error.params.additionalProperty}". Known properties: ${Object.keys(properties).join(', ')}.`;
  return `${error?.instancePath.slice(1).replaceAll('/', '.')} ${error?.message}.`;
}

async function authOf(configured: Auth | string | undefined, directory: string): Promise<Auth | undefined> {
  if (configured === undefined) return undefined;
  if (typeof configured !== 'string') return signingIn(configured, 'The "auth" of the configuration');
  const load = async () => (await import(pathToFileURL(resolve(directory, configured)).href)).default;
  const module = await loaded(`The auth module ${configured} cannot be loaded`, load);
  return signingIn(module, `The auth module ${configured}`);
}

function signingIn(value: unknown, what: string): Auth {
  if (isAuth(value)) return value;
  throw new CannotRun(`${what} must export by default an object with a function caller() that returns headers.`);
}

function isAuth(value: unknown): value is Auth {
  if (!isObject(value) || typeof value.caller !== 'function') return false;
  const others = [value.expired, value.forbidden, value.otherTenant, value.values];
  return others.every((one) => one === undefined || typeof one === 'function');
}
