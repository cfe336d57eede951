/** The samples of other languages: those of a language that is on this machine run, and all are parsed. */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type * as TreeSitter from '@vscode/tree-sitter-wasm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ExampleRequest, exampleRequest } from '../../packages/spec/src/example-requests.ts';
import { type Operation, operationsOf, readContract } from '../../packages/spec/src/examples.ts';
import { sampleLanguages, sampleServer } from './samples.ts';

const operations = operationsOf(await readContract());
const run = promisify(execFile);
const load = createRequire(import.meta.url);
/** The package declares no default export, which it has: it is CommonJS. */
const { Language, Parser }: typeof TreeSitter = load('@vscode/tree-sitter-wasm');

const isOnMachine = async (command: string, ...words: string[]) =>
  run(command, words).then(
    () => true,
    () => false,
  );
const hasPython = await isOnMachine('python3', '-c', 'import requests');
const hasJava = await isOnMachine('javac', '--version');
/** The compiler takes longest. */
const isWhole = process.env.SAMPLES === 'all';

const samplesIn = (language: string) => {
  const found = sampleLanguages.find(({ lang }) => lang === language);
  if (found === undefined) throw new Error(`There are no samples in ${language}.`);
  return operations.map((operation) => ({ operation, sample: found.sampleOf(operation) }));
};

describe.each([
  ['python', 'python'],
  ['java', 'java'],
  ['csharp', 'c-sharp'],
  ['php', 'php'],
])('the samples in %s', (lang, grammar) => {
  it('are parsed without an error, and have no mark that stands for a variable', async () => {
    await Parser.init();
    const parser = new Parser();
    parser.setLanguage(
      await Language.load(
        fileURLToPath(import.meta.resolve(`@vscode/tree-sitter-wasm/wasm/tree-sitter-${grammar}.wasm`)),
      ),
    );
    const isWrong = (program: string) => parser.parse(program)?.rootNode.hasError !== false;
    const samples = samplesIn(lang);
    expect(samples.filter(({ sample }) => isWrong(sample)).map(({ operation }) => operation.id)).toEqual([]);
    expect(samples.filter(({ sample }) => /\{\{(TOKEN|API_KEY)\}\}/.test(sample))).toEqual([]);
    expect(isWrong(samples[0]?.sample.replace(')', '') ?? '')).toBe(true);
  });
});

describe('the samples that run', () => {
  let folder: string;
  const received: {
    method: string | undefined;
    path: string | undefined;
    headers: IncomingMessage['headers'];
    body: unknown;
  }[] = [];
  const server = createServer(async (request, response) => {
    const { method, url: path, headers } = request;
    const body = await text(request);
    received.push({ method, path, headers, body: body === '' ? undefined : JSON.parse(body) });
    response.end('{}');
  });
  let address: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'samples-'));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(async () => {
    server.close();
    await rm(folder, { recursive: true });
  });
  const env = { ...process.env, TOKEN: 'my-token', API_KEY: 'my-key' };
  const at = (sample: string) => sample.replaceAll(sampleServer, address);

  /** What a sample sends: the example of the contract, with the variables. */
  function expected(operation: Operation) {
    const { method, path, headers, body }: ExampleRequest = exampleRequest(operation, { token: 'my-token' });
    const names = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]);
    const sent = operation.id === 'createToken' ? { ...Object(body), apiKey: 'my-key' } : body;
    return { method, path, headers: expect.objectContaining(Object.fromEntries(names)), body: sent };
  }

  it.runIf(hasPython)('send in Python what the contract has as its example', async () => {
    received.length = 0;
    const samples = samplesIn('python').map(
      ({ sample }) => `exec(compile(${JSON.stringify(at(sample))}, 'sample', 'exec'), {})\n`,
    );
    await writeFile(join(folder, 'all.py'), samples.join(''));
    await run('python3', [join(folder, 'all.py')], { env });
    expect(received).toEqual(operations.map(expected));
  });

  it.runIf(hasJava && isWhole)('send in Java what the contract has as its example', async () => {
    received.length = 0;
    const files = samplesIn('java').map(({ operation, sample }) => ({ name: operation.id, program: at(sample) }));
    for (const { name, program } of files) {
      await mkdir(join(folder, name));
      await writeFile(join(folder, name, 'Sample.java'), `package ${name};\n${program}`);
    }
    const calls = files.map(({ name }) => `    ${name}.Sample.main(arguments);`).join('\n');
    const all = `public class All {\n  public static void main(String[] arguments) throws Exception {\n${calls}\n  }\n}\n`;
    await writeFile(join(folder, 'All.java'), all);
    await run('javac', [
      '-d',
      folder,
      ...files.map(({ name }) => join(folder, name, 'Sample.java')),
      join(folder, 'All.java'),
    ]);
    await run('java', ['-cp', folder, 'All'], { env });
    expect(received).toEqual(operations.map(expected));
  });
});
