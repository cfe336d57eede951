import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { run } from '../src/main.ts';
import type { Alter, Reply } from './servers/kit/serve.ts';
import { startThings, Things } from './things.ts';

let folder: string;
let spec: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'contract-check-honest-'));
  spec = join(folder, 'openapi.json');
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Runs the command against a server of things. */
async function command(alter: Alter, ...args: string[]) {
  const { url, close } = await startThings(new Things(), spec, alter);
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const outputs = Promise.all([text(stdout), text(stderr)]);
  const base = args.find((one) => one.startsWith('/')) ?? '';
  const options = ['--spec', spec, '--url', url + base, '--disposable', ...args.filter((one) => one !== base)];
  const code = await run(options, undefined, { stdout, stderr, directory: folder });
  stdout.end();
  stderr.end();
  const [output, errors] = await outputs;
  await close();
  return { code, output, errors: errors.replaceAll(url, 'http://server') };
}

const always =
  (status: number, headers: Reply['headers'] = {}, body?: string): Alter =>
  () => ({ status, headers, body });
const page = { 'content-type': 'text/html' };

describe('a run that reaches nothing ends with one sentence', () => {
  const next: Alter = (request, pass) => pass(request);
  it.each<[name: string, alter: Alter, sentence: RegExp, ...args: string[]]>([
    ['the base path is wrong', next, /server\/v9 returned 404 to all \d+ requests; check the base path/, '/v9'],
    ['credentials are missing', always(401), /rejected the credentials, or their absence: 401 \(\d+\); pass --auth/],
    ['permissions are missing', always(403), /rejected the credentials, or their absence: 403/],
    ['all requests are redirected', always(302, { location: '/login' }), /redirects all requests: 302/],
    ['a website is at the URL', always(200, page, '<!doctype html>'), /returns web pages, not its API; check the base/],
    ['every request fails', always(500), /returned only 500 \(\d+\)/],
    ['nothing is implemented', always(501), /returned only 501/],
  ])('if %s', async (_name, alter, sentence, ...args) => {
    const { code, output, errors } = await command(alter, ...args);
    expect(errors).toMatch(/^contract-check: No operation was reached: the server at [^\n]*\.\n$/m);
    expect(errors).toMatch(sentence);
    expect(output).toBe('');
    expect(code).toBe(2);
  });
});

/** A server on which only some operations succeed. */
function only(...ids: string[]): Alter {
  return (request, next, operation) =>
    operation !== undefined && !ids.includes(operation.id) ? { status: 404, headers: {} } : next(request);
}

it('coverage counts what a run may call, and the report names the rest', async () => {
  const { url, close } = await startThings(new Things(), spec);
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const output = text(stdout);
  stderr.resume();
  const args = ['--spec', spec, '--url', url, '--min-coverage', '100', '--probes', '1'];
  const code = await run(args, undefined, { stdout, stderr, directory: folder });
  stdout.end();
  await close();
  expect(await output).toMatch(/^No findings in 7 of 7 operations/);
  expect(await output).toMatch(/Not called\n {2}5 operations, which do not count: needs --disposable\./);
  expect(code).toBe(0);
});

describe('a run that reaches too little', () => {
  const some = only('listThings', 'createThing', 'getThing', 'deleteThing', 'listPresets');

  it('is no success, and says so', async () => {
    const { code, output } = await command(some, '--probes', '1');
    expect(output).toMatch(
      /^Incomplete \(41 % of operations reached, 50 % required\): No findings in 5 of 12 operations/,
    );
    expect(code).toBe(3);
  });

  it('is a success if the user requires no more', async () => {
    const { code, output } = await command(
      some,
      '--probes',
      '1',
      '--min-coverage',
      '40',
      '--min-coverage',
      'statuses=10',
    );
    expect(output).toMatch(/^No findings in 5 of 12 operations, \d+ of \d+ statuses, \d+ of \d+ constraints; /);
    expect(code).toBe(0);
  });

  it('is no success if it reaches too few constraints', async () => {
    const { code, output } = await command(
      some,
      '--probes',
      '1',
      '--min-coverage',
      '40',
      '--min-coverage',
      'constraints=99',
    );
    expect(output).toMatch(/^Incomplete \(\d+ % of constraints reached, 99 % required\)/);
    expect(code).toBe(3);
  });
});

it('an operation that is not implemented is a finding, unless that is allowed', async () => {
  const alter: Alter = (request, next, operation) =>
    operation?.id === 'startMaintenance' ? { status: 501, headers: {} } : next(request);
  const reported = await command(alter, '--json', '-', '--probes', '1');
  const { findings } = JSON.parse(reported.output);
  expect(findings.map(({ check, operation }: Record<string, string>) => `${check} ${operation}`)).toEqual([
    'not-implemented startMaintenance',
  ]);
  expect(reported.code).toBe(1);
  expect((await command(alter, '--allow-unimplemented', '--probes', '1')).code).toBe(0);
});
