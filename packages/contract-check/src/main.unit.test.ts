/** Tests of the command. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import packageFile from '../package.json' with { type: 'json' };
import { findingOf, reportWith } from '../test/doubles/report.ts';
import { run } from './main.ts';
import type { CheckOptions } from './run/options.ts';

const main = fileURLToPath(new URL('bin.ts', import.meta.url));
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'contract-check-command-'));
  const reports = new URL('../test/doubles/report.ts', import.meta.url).href;
  // A command whose check waits until it is interrupted.
  await writeFile(
    join(folder, 'waiting.ts'),
    `import { run } from ${JSON.stringify(new URL('main.ts', import.meta.url).href)};
    import { reportWith } from ${JSON.stringify(reports)};
    const check = async ({ signal }) => {
      process.stderr.write('waiting');
      if (process.env.CRASH !== undefined) setTimeout(() => { throw new Error('Out of the blue.'); });
      const alive = setInterval(() => {}, 1000);
      await new Promise((done) => signal.addEventListener('abort', done));
      clearInterval(alive);
      return reportWith({ findings: [], stopped: { reason: 'interrupted', missedPhases: [], unchecked: [] } });
    };
    process.exit(await run(process.argv.slice(2), { check }));`,
  );
  await writeFile(
    join(folder, 'auth.ts'),
    `export default { caller: () => ({ Authorization: 'Bearer from-the-module' }) };`,
  );
  await writeFile(join(folder, 'no-auth.ts'), 'export const caller = 1;');
  await writeFile(join(folder, 'broken.ts'), `throw new Error('It breaks.');`);
});

afterAll(() => rm(folder, { recursive: true, force: true }));

function start(args: string[], environment: Record<string, string> = {}, file = main): ChildProcess {
  const { NO_COLOR, FORCE_COLOR, DEBUG, ...rest } = process.env;
  return spawn(process.execPath, [file, ...args], { cwd: folder, env: { ...rest, ...environment } });
}

async function finish(child: ChildProcess) {
  const [code, stdout, stderr] = await Promise.all([
    new Promise<number | null>((done) => child.on('close', done)),
    child.stdout === null ? '' : text(child.stdout),
    child.stderr === null ? '' : text(child.stderr),
  ]);
  return { code, stdout, stderr };
}

/** Runs the command in this process, with a fake check. */
async function command(args: string[], check = async (_: CheckOptions) => reportWith({ findings: [] })) {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const unexpected = () => Promise.reject(new Error('Unexpected call.'));
  const outputs = [text(stdout), text(stderr)] as const;
  const code = await run(args, { check, planOf: unexpected }, { stdout, stderr, directory: folder });
  stdout.end();
  stderr.end();
  const [output, errors] = await Promise.all(outputs);
  return { code, stdout: output, stderr: errors };
}

/** Signs in as a run does, and returns the header. */
async function signedIn({ auth, onSecret }: CheckOptions): Promise<string> {
  const { Authorization = '' } = (await auth?.caller()) ?? {};
  onSecret?.({ value: Authorization.replace('Bearer ', ''), variable: 'TOKEN' });
  return Authorization;
}

async function findings(options: CheckOptions) {
  return reportWith({ findings: [findingOf({ actual: `It was ${await signedIn(options)}.` })] });
}

async function failing(options: CheckOptions): Promise<never> {
  throw new Error(`The server returned ${await signedIn(options)}.`);
}

/** The options that the command passes to the check. */
async function optionsAfter(args: string[]): Promise<unknown> {
  let received: unknown;
  const { code, stderr } = await command(args, async (options) => {
    received = JSON.parse(JSON.stringify(options));
    return reportWith({ findings: [] });
  });
  expect(code, stderr).toBe(0);
  return received;
}

it('names the required version on a Node that is too old', async () => {
  const old = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.20.2' } })`;
  const child = start(['--version'], { NODE_OPTIONS: `--import "data:text/javascript,${encodeURIComponent(old)}"` });
  expect(await finish(child)).toEqual({
    code: 2,
    stdout: '',
    stderr: 'contract-check requires Node 22.19 or later. This is Node 20.20.2.\n',
  });
});

describe('the command', () => {
  it('ends although nobody reads its output', async () => {
    const server = createServer((_request, response) => response.writeHead(404).end()).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const get = { responses: { 404: { description: 'No things.' } } };
    const document = { openapi: '3.1.0', info: { title: 'Things', version: '1' }, paths: { '/things': { get } } };
    await writeFile(join(folder, 'things.json'), JSON.stringify(document));
    const child = start(['--spec', 'things.json', '--url', `http://127.0.0.1:${Object(server.address()).port}`]);
    child.stdout?.destroy();
    child.stderr?.destroy();
    const [code] = await once(child, 'exit');
    server.close();
    expect(code).toBeTypeOf('number');
  });

  it('exits with 0 without findings, with the verdict in its last line', async () => {
    const { code, stdout } = await command(['--spec', 'a.yaml']);
    const verdict =
      'No findings in 83 of 97 operations, 168 of 194 statuses, 252 of 291 constraints; 12,345 requests, 41 s, seed 42';
    expect(stdout.split('\n')[0]).toBe(verdict);
    expect(stdout.split('\n').at(-2)).toBe(verdict);
    expect(code).toBe(0);
  });

  it('exits with 1 if there are findings', async () => {
    const { code, stdout } = await command(['--spec', 'a.yaml'], findings);
    expect(stdout).toContain('✗ 1  A client has a name that is too long.');
    expect(code).toBe(1);
  });

  it('exits with 3 if it reached less than the minimum, and reports it in the first line', async () => {
    const short = async () =>
      reportWith({ findings: [], shortfall: { kind: 'constraints', covered: 41.9, minimum: 60 } });
    const { code, stdout } = await command(['--spec', 'a.yaml'], short);
    expect(stdout).toMatch(/^Incomplete \(41 % of constraints reached, 60 % required\): No findings in /);
    expect(code).toBe(3);
  });

  it.each([
    [['--sead', '1'], /Did you mean --seed/],
    [
      ['--spec', 'a.yaml', '--seed', 'x'],
      /^error: option '--seed <number>' argument 'x' is invalid\. It must be a whole number\.$/m,
    ],
    [
      ['--spec', 'a.yaml', '--header', 'no colon'],
      /^contract-check: --header must be a name, a colon and a value: 'Accept-Language: en'\.\n$/,
    ],
    [
      ['--spec', 'a.yaml', '--min-coverage', '101'],
      /'--min-coverage .*' argument '101' is invalid\. It must be a number from 0 to 100\./,
    ],
    [
      ['--spec', 'a.yaml', '--min-coverage', 'operation=1'],
      /'--min-coverage .*' argument 'operation=1' is invalid\. It must name one of operations, statuses, constraints/,
    ],
    [
      ['--spec', 'a.yaml', '--checks', 'all'],
      /'--checks .*' argument 'all' is invalid\. Allowed choices are responses, invalid-input, /,
    ],
    [['--spec', 'a.yaml', '--url', ''], /'--url <url>' argument '' is invalid\. It must not be empty\./],
    [
      ['--spec', 'a.yaml', '--time', '0'],
      /'--time <seconds>' argument '0' is invalid\. It must be a number, more than 0\./,
    ],
    [
      ['--spec', 'a.yaml', '--probes', '0'],
      /'--probes <number>' argument '0' is invalid\. It must be a whole number, at least 1\./,
    ],
    [['a.yaml'], /too many arguments/],
    [[], /^contract-check: No contract is specified\. Pass --spec FILE.*\n$/],
    [['--spec', 'a.yaml', '--auth', 'no-auth.ts'], /no-auth\.ts must export by default an object/],
    [
      ['--spec', 'a.yaml', '--auth', 'broken.ts'],
      /^contract-check: The auth module broken\.ts cannot be loaded: It breaks\.\n$/,
    ],
    [['--spec', 'a.yaml', '--auth', 'nowhere.ts'], /nowhere\.ts cannot be loaded/],
  ])('exits with 2 and an error message for %j', async (args, sentence) => {
    const { code, stderr, stdout } = await command(args);
    expect(stderr).toMatch(sentence);
    expect(stderr).not.toMatch(/^ +at /m);
    expect(stdout).toBe('');
    expect(code).toBe(2);
  });

  it('prints the report and writes the others if one cannot be written, and exits with 2', async () => {
    const { code, stderr, stdout } = await command([
      ...['--spec', 'a.yaml', '--json', '/dev/null/a.json', '--sarif', 'written.sarif'],
    ]);
    expect(stderr).toMatch(/^contract-check: The report \/dev\/null\/a\.json cannot be written/m);
    expect(stdout).toMatch(/^No findings in 83 of 97 operations/);
    expect(JSON.parse(await readFile(join(folder, 'written.sarif'), 'utf8'))).toMatchObject({ version: '2.1.0' });
    expect(code).toBe(2);
  });

  it('ends the run and writes the report after an exception that nothing catches', async () => {
    const args = ['--spec', 'a.yaml', '--json', 'crashed.json'];
    const { code, stderr } = await finish(start(args, { CRASH: 'true' }, join(folder, 'waiting.ts')));
    expect(stderr).toContain('Error: Out of the blue. This is a bug in contract-check.');
    const { stopped } = JSON.parse(await readFile(join(folder, 'crashed.json'), 'utf8'));
    expect(stopped).toMatchObject({ reason: 'interrupted' });
    expect(code).toBe(2);
  });

  it('exits with 2 if the check throws, and shows no credentials; with DEBUG, it prints the stack trace', async () => {
    const args = ['--spec', 'a.yaml', '--auth', 'auth.ts'];
    const { code, stderr } = await command(args, failing);
    expect(stderr).toBe(
      'contract-check: Error: The server returned Bearer $TOKEN. This is a bug in contract-check. Set DEBUG=1 to print the stack trace.\n',
    );
    expect(code).toBe(2);
    process.env.DEBUG = '1';
    const debugged = await command(args, failing);
    delete process.env.DEBUG;
    expect(debugged.stderr).toMatch(/^ +at /m);
    expect(debugged.stderr).not.toContain('from-the-module');
  });

  it('supports --help and --version', async () => {
    const help = await finish(start(['--help']));
    expect(help.stdout).toMatch(/contract-check --spec openapi\.yaml --url http:\/\/localhost:3000/);
    expect(help.code).toBe(0);
    expect(await command(['--version'])).toMatchObject({ code: 0, stdout: `${packageFile.version}\n` });
  });

  it('writes all reports, creates missing folders, and shows no credentials', async () => {
    const files = ['json', 'sarif'].flatMap((kind) => [`--${kind}`, `out/${kind}`]);
    const { code, stdout, stderr } = await command(['--spec', 'a.yaml', '--auth', 'auth.ts', ...files], findings);
    expect(code).toBe(1);
    expect((await readdir(join(folder, 'out'))).sort()).toEqual(['json', 'sarif']);
    const written = await Promise.all(['json', 'sarif'].map((kind) => readFile(join(folder, 'out', kind), 'utf8')));
    for (const output of [...written, stdout, stderr]) expect(output).not.toContain('from-the-module');
    for (const output of [...written, stdout]) expect(output).toContain('Bearer $TOKEN');
  });

  it('writes only JSON to standard output with --json -', async () => {
    const { stdout, stderr } = await command(['--spec', 'a.yaml', '--json', '-'], findings);
    expect(JSON.parse(stdout)).toMatchObject({ formatVersion: 2, seed: 42 });
    expect(stderr).toContain('1 finding in 83 of 97 operations');
  });

  it('reports the findings so far when it is interrupted, exits with 2, and supports NO_COLOR', async () => {
    const interrupted = (color: Record<string, string>) => {
      const child = start(['--spec', 'a.yaml'], color, join(folder, 'waiting.ts'));
      child.stderr?.once('data', () => child.kill('SIGINT'));
      return finish(child);
    };
    const [colored, plain] = await Promise.all([interrupted({ FORCE_COLOR: '1' }), interrupted({ NO_COLOR: '1' })]);
    expect(plain.stdout).toContain('The run was interrupted');
    expect(plain.stdout).toMatch(/\nIncomplete \(interrupted\): No findings in 83 of 97 operations.*\n$/);
    expect(plain.stdout).not.toContain('\u001b');
    expect(colored.stdout).toContain('\u001b');
    expect([plain.code, colored.code]).toEqual([2, 2]);
  });

  it('exits as a process with its code and message', async () => {
    const { code, stderr } = await finish(start(['--spec', 'nowhere.yaml', '--url', 'http://localhost:1']));
    expect(stderr).toMatch(/^contract-check: .*nowhere\.yaml.*\n$/);
    expect(code).toBe(2);
  });
});

describe('settings', () => {
  it('come from the options', async () => {
    const numbers = ['--seed', '7', '--time', '1.5', '--timeout', '3', '--concurrency', '2'];
    const minimums = ['--min-coverage', '80', '--min-coverage', 'constraints=7.5', '--allow-unimplemented'];
    const lists = [
      ...minimums,
      '--only',
      'a*',
      'GET /b',
      '--exclude',
      'c',
      '--header',
      'X-One: 1: one',
      '--header',
      'x-two:',
    ];
    expect(await optionsAfter(['--spec', 'a.yaml', '--url', 'http://host/v1', ...numbers, ...lists])).toMatchObject({
      ...{ spec: 'a.yaml', url: 'http://host/v1', seed: 7, time: 1.5, timeout: 3, concurrency: 2 },
      ...{ minCoverage: { operations: 80, constraints: 7.5 }, allowUnimplemented: true },
      ...{ only: ['a*', 'GET /b'], exclude: ['c'], headers: { 'X-One': '1: one', 'x-two': '' } },
    });
  });
});
