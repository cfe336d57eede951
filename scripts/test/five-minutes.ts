/**
 * `pnpm five-minutes`: does what the chapter "Five minutes" of the README says, line by line, as a new user would: from a fresh clone, with
 * an empty home directory and a path with a space and an umlaut. Prints the time of each step, and fails if a step does, or if the whole takes more than five minutes or ten
 * lines. Every command has the `PORT` of this run in its environment, so that the usual one can be in use.
 * With `--test`, it runs `pnpm test` in the clone at the end.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from '../../packages/server/test/free-port.ts';
import { readOptions } from '../options.ts';
import { linesToType } from './five-minutes/readme.ts';

const { values } = readOptions({ options: { test: { type: 'boolean' } } });
const root = fileURLToPath(new URL('../..', import.meta.url));
const limits = { seconds: 300, lines: 10 };

interface Step {
  readonly name: string;
  readonly seconds: number;
  readonly lines: number;
}

const parent = await mkdtemp(join(tmpdir(), 'five-minutes-'));
const folder = join(parent, 'Bücher und Zahlen');
const home = join(folder, 'home');
const port = String(await freePort());
const address = `http://127.0.0.1:${port}`;
const environment: NodeJS.ProcessEnv = { ...withoutHome(process.env), HOME: home, PORT: port };
const background: ChildProcess[] = [];
const steps: Step[] = [];
let directory = folder;

try {
  await mkdir(home, { recursive: true });
  for (const { line, isNewTerminal } of linesToType(await readFile(join(root, 'README.md'), 'utf8'))) {
    if (isNewTerminal) directory = steps.length === 0 ? folder : join(folder, 'financial-automation-api');
    await type(line);
    // Later lines of the same terminal run where this one has changed to.
    for (const [, target = ''] of line.matchAll(/\bcd (\S+)/g)) directory = resolve(directory, target);
  }
  directory = join(folder, 'financial-automation-api');
  if (values.test) console.log(await run('npx --yes pnpm@12 test'));
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
} finally {
  for (const child of background) await stop(child);
  await rm(parent, { recursive: true, force: true });
}
report();

/** Runs one line, in the way that its command requires. */
async function type(line: string): Promise<void> {
  if (line.startsWith('git clone')) {
    await measure('clone', 1, () => run(line.replace(/<[^>]+>/, `file://${root}`)));
  } else if (line.endsWith('pnpm@12 start')) {
    const output = await measure('install, generate, start', 1, () => startUntil(line, /Press Ctrl\+C/));
    for (const [, name = '', value = ''] of output.matchAll(/(API_\w+)='([^']*)'/g)) environment[name] ??= value;
    await measure('read the reference', 0, readReference);
  } else if (line.startsWith('export API_')) {
    if (environment.API_KEY === undefined) throw new Error('The server did not print "export … API_KEY=…".');
    steps.push({ name: 'paste the key', seconds: 0, lines: 1 });
  } else if (line.includes('webhook-receiver.ts')) {
    await measure('start a receiver of my own', 1, () => startUntil(line, /^Receiving/m));
  } else if (line.includes('webhook trigger')) {
    const receiver = background.at(-1);
    const arrival = waitFor(receiver, /^CREATE .+/m);
    await measure('a signed event arrives', 1, async () => {
      await run(line);
      return await arrival;
    });
  } else if (line.includes('contract-check')) {
    const found = await measure('compare the server with the contract', 1, () => run(line));
    if (!found.includes('No findings')) throw new Error(`"${line}" printed:\n${found}`);
  } else {
    const names: readonly [RegExp, string][] = [
      [/client pack/, 'pack the client'],
      [/npm install/, 'install it in a folder of my own, with the examples'],
      [/dashboard/, 'call the API in TypeScript'],
    ];
    const [, name] = names.find(([pattern]) => pattern.test(line)) ?? [];
    if (name === undefined) throw new Error(`The README has a line that this program does not know: ${line}`);
    const output = await measure(name, 1, () => run(line));
    if (name.startsWith('call') && !/^Billed by month.*\n {2}\d{4}-\d\d [A-Z]{3} +[\d.]+/m.test(output))
      throw new Error(`"${line}" printed no figures:\n${output}`);
  }
}

async function measure<Result>(name: string, lines: number, work: () => Promise<Result>): Promise<Result> {
  const started = performance.now();
  const result = await work();
  const seconds = (performance.now() - started) / 1000;
  steps.push({ name, seconds, lines });
  console.error(`✓ ${name} (${seconds.toFixed(1)} s)`);
  return result;
}

function shell(line: string): ChildProcess {
  // A group of its own, so that everything which the line starts can be ended.
  return spawn('sh', ['-c', line], {
    cwd: directory,
    env: environment,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
}

async function run(line: string): Promise<string> {
  const child = shell(line);
  const output = outputOf(child);
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(`"${line}" ended with ${code}:\n${output.text}`);
  return output.text;
}

/** Starts a program that does not end, and waits until it has printed something. */
async function startUntil(line: string, expected: RegExp): Promise<string> {
  const child = shell(line);
  background.push(child);
  return await waitFor(child, expected);
}

async function waitFor(child: ChildProcess | undefined, expected: RegExp): Promise<string> {
  if (child === undefined) throw new Error('Nothing is running.');
  const output = outputOf(child);
  return await new Promise((done, fail) => {
    child.stdout?.on('data', () => expected.test(output.text) && done(output.text));
    child.once('exit', (code) => fail(new Error(`It ended with ${code}:\n${output.text}`)));
  });
}

function outputOf(child: ChildProcess): { text: string } {
  const output = { text: '' };
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => (output.text += String(chunk)));
  return output;
}

async function readReference(): Promise<void> {
  for (const path of ['/reference', '/llms.txt', '/reference/operations/searchClients.md']) {
    const response = await fetch(address + path);
    const text = await response.text();
    if (!response.ok || text.length < 1000) throw new Error(`${path} returns ${response.status}.`);
  }
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.pid === undefined) return;
  const ended = once(child, 'exit');
  process.kill(-child.pid, 'SIGTERM');
  await ended;
}

/** What a package manager or an earlier run has put into the environment would not be there. */
function withoutHome(all: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const kept = Object.entries(all).filter(
    ([name]) => !/^(npm_(?!config_registry)|pnpm_|PNPM_|XDG_|NODE_|API_|DATA_DIR)/.test(name),
  );
  const path = (all.PATH ?? '').split(':').filter((entry) => !entry.includes('node_modules/.bin'));
  return { ...Object.fromEntries(kept), PATH: path.join(':') };
}

function report(): void {
  const sum = (of: (step: Step) => number) => steps.reduce((total, step) => total + of(step), 0);
  const total = { seconds: sum(({ seconds }) => seconds), lines: sum(({ lines }) => lines) };
  console.log('| step | lines | seconds |\n|---|---|---|');
  for (const { name, lines, seconds } of [...steps, { name: 'total', ...total }])
    console.log(`| ${name} | ${lines} | ${seconds.toFixed(1)} |`);
  if (total.seconds > limits.seconds || total.lines > limits.lines) {
    console.error(`More than ${limits.seconds} s or ${limits.lines} lines.`);
    process.exitCode = 1;
  }
}
