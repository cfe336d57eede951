/** The samples work: the programs compile, and the commands succeed when pasted. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { demoKey } from '../../packages/demo-data/src/demo.ts';
import { startMock } from '../../packages/mock/src/server.ts';
import { schemaOf } from '../../packages/server/src/contract/contract.ts';
import { createApiKey } from '../../packages/server/src/operator/api-keys.ts';
import { freePort } from '../../packages/server/test/free-port.ts';
import { pay } from '../../packages/server/test/workflow-partners.ts';
import { type Operation, operationsOf, readContract } from '../../packages/spec/src/examples.ts';
import { operations as index } from '../../packages/spec/src/index.ts';
import { failedExamples, reactivateSubscription, serveDemo, tokenOf } from '../test/example-calls.ts';
import { type Guide, programOf, readGuides } from './guides.ts';
import { literal } from './literal.ts';
import { clientSample, curlSample, sampleServer } from './samples.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const operations = operationsOf(await readContract());
const guides = await readGuides();
/** With `SAMPLES=all` all samples run, and also on the mock, whose tests call it for many operations. */
const isWhole = process.env.SAMPLES === 'all';
const run = promisify(execFile);
const demo = await serveDemo();

describe('the samples', () => {
  it('use no command but curl, and the same two variables', () => {
    for (const operation of operations) {
      const sample = curlSample(operation);
      expect(sample).not.toContain('$(');
      for (const [, name] of sample.matchAll(/\$([A-Z_]+)/g)) expect(['TOKEN', 'API_KEY']).toContain(name);
    }
  });

  it('compile with the client', async () => {
    const folder = await mkdtemp(join(root, 'node_modules/.samples-'));
    try {
      for (const operation of operations) await writeFile(join(folder, `${operation.id}.ts`), clientSample(operation));
      for (const guide of guides) await writeFile(join(folder, `${guide.name}.ts`), compiledProgram(guide));
      const settings = {
        extends: join(root, 'tsconfig.base.json'),
        compilerOptions: { paths: clientPaths },
        include: ['*.ts'],
      };
      await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(settings));
      // TypeScript 7 takes a tenth of the time of 6.
      const compiler = fileURLToPath(new URL('bin/tsc', import.meta.resolve('typescript-7/package.json')));
      const { stdout } = await run('node', [compiler, '--project', folder], { env: withTools() }).catch(
        (error) => error,
      );
      expect(stdout).toBe('');
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  if (isWhole)
    it('succeed on the mock when pasted into a shell', async () => {
      const mock = await startMock({ port: 0 });
      try {
        expect(await failedIn(operations, mock.url, { TOKEN: 'any-token', API_KEY: 'any-key' })).toEqual([]);
      } finally {
        await mock.close();
      }
    });
});

/** How the samples import the client, and where it is here. */
const clientPaths = {
  '@financial-automation/client': [join(root, 'packages/client/src/index.ts')],
  '@financial-automation/client/webhooks': [join(root, 'packages/client/src/webhooks.ts')],
};

function compiledProgram(guide: Guide): string {
  return `declare function startSample(number: number): void;\n${programOf(guide)}`;
}

describe('the samples, in the demo tenant', () => {
  let apiKey: string;
  let token: string;
  beforeAll(async () => {
    apiKey = await demoKey(demo);
    token = await tokenOf(demo.address, apiKey);
    await reactivateSubscription(demo.address, { tenant: 'hartwell', token });
  });

  // Each test leaves what the next ones need: the first two change nothing.
  it('succeed with the examples of all requests, and find rows', async () => {
    // By day the first one of each operation.
    expect(await failedExamples(demo.address, { tenant: 'hartwell', token }, isWhole ? Infinity : 1)).toEqual([]);
  });

  it('succeed as programs with the client', async () => {
    // They send what the commands send.
    const called = operations.filter((_, index) => isWhole || index % 16 === 0);
    const folder = await mkdtemp(join(tmpdir(), 'samples-'));
    const client = pathToFileURL(join(root, 'packages/client/src/index.ts')).href;
    try {
      const files = called.map(({ id }) => ({
        file: join(folder, `${id}.ts`),
        isRehearsed: 'Dry-Run' in index[id].headers,
      }));
      for (const [number, operation] of called.entries()) {
        const program = clientSample(operation).replace(sampleServer, demo.address);
        await writeFile(files[number]?.file ?? '', program.replace("'@financial-automation/client'", `'${client}'`));
      }
      const runner = join(folder, 'run.ts');
      await writeFile(
        runner,
        `const failed: string[] = [];
const print = console.log;
console.log = () => undefined;
const send = globalThis.fetch;
let isRehearsed = false;
globalThis.fetch = (request) => {
  if (isRehearsed && !request.url.endsWith('/token')) request.headers.set('Dry-Run', 'true');
  return send(request);
};
for (const { file, isRehearsed: dryRun } of ${JSON.stringify(files)}) {
  isRehearsed = dryRun;
  await import(file).catch((error) => failed.push(file + ' ' + (error.stack ?? error) + JSON.stringify(error.problem)));
}
print(JSON.stringify(failed));`,
      );
      const env = { ...withTools(), API_KEY: apiKey };
      const { stdout } = await run('node', [runner], { env, maxBuffer: 10_000_000 });
      expect(JSON.parse(stdout)).toEqual([]);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  // By night all of them twice, by day every fourth one, and the one that leaves most behind.
  it.each(isWhole ? ['', 'a second time'] : [''])(
    'succeed as guides, and print what the guides show %s',
    async (again) => {
      const called = guides.filter(({ name }, index) => isWhole || name === 'payments' || index % 4 === 0);
      const programs = await Promise.all(called.map((guide) => runnable(guide, demo.address)));
      const keys = await Promise.all(called.map(keyFor));
      const printed = await outputOf(programs, keys, demo.address);
      for (const [number, { name, samples }] of called.entries()) {
        const isRepeated = again !== '' && programs[number]?.includes('const run = ') !== true;
        for (const [index, { code, prints }] of samples.entries()) {
          const shown = isRepeated ? prints?.replaceAll('CREATED', 'UNCHANGED') : prints;
          if (shown !== undefined) expect(printed.get(`${name} ${index}`), code).toEqual([asShown(JSON.parse(shown))]);
        }
      }
    },
  );

  it('succeed when pasted into a shell', async () => {
    // Samples that remove rows run last, because others use the rows.
    const isLast = ({ id }: { readonly id: string }) => /^(delete|deactivate|remove)/.test(id);
    // A guide has advanced the clock, so the delivery of its example is no longer kept; it has run as a program.
    // By day one of each method, and a sample of those that have not run as programs.
    const methods = [...Map.groupBy(operations, ({ method }) => method).values()].map(([first]) => first);
    const pasted = operations.filter(
      (one, index) => (isWhole || index % 16 === 4 || methods.includes(one)) && one.id !== 'retryDelivery',
    );
    const inOrder = [...pasted.filter((one) => !isLast(one)), ...pasted.filter(isLast)];
    expect(await failedIn(inOrder, demo.address, { TOKEN: token, API_KEY: apiKey })).toEqual([]);
  });
});

/**
 * The program of a guide for a server at another address. Each `console.log` prints a line: the name of the guide with the number
 * of the sample, and the value.
 */
async function runnable(guide: Guide, address: string): Promise<string> {
  const program = Object.entries(clientPaths).reduce(
    (code, [name, [file = '']]) => code.replaceAll(`'${name}'`, `'${pathToFileURL(file).href}'`),
    programOf(guide),
  );
  const receiverPort = String(await freePort());
  return `let sample = 0;
const startSample = (number: number) => void (sample = number);
console.log = (value: unknown) => process.stdout.write(JSON.stringify(['${guide.name} ' + sample, value]) + '\\n');
${program.replaceAll(sampleServer, address).replaceAll('4000', receiverPort)}`;
}

/** A key with the roles that a guide names, and no others. */
async function keyFor({ name, text: page }: Guide): Promise<string> {
  const [, before = ''] = /## Before you start\n(.*?)\n```/s.exec(page) ?? [];
  const words = new Set([...before.matchAll(/`([A-Z_]+)`/g)].map(([, word]) => word));
  const roles = (schemaOf('Role').enum ?? []).filter((role) => words.has(role));
  const about = { tenant: 'hartwell', user: `guide ${name}`, days: 1, description: undefined };
  return (await createApiKey(demo, { ...about, roles })).key;
}

/**
 * Runs programs one after the other in one process, whose start takes longer than most of them. If one prints the URL of a payment
 * page, the link is paid.
 *
 * @returns what each sample has printed
 */
async function outputOf(
  programs: readonly string[],
  keys: readonly string[],
  address: string,
): Promise<Map<string, readonly unknown[]>> {
  const folder = await mkdtemp(join(tmpdir(), 'guides-'));
  try {
    for (const [number, program] of programs.entries()) await writeFile(join(folder, `${number}.ts`), program);
    const runner = join(folder, 'run.ts');
    const calls = keys.map((key, number) => `process.env.API_KEY = '${key}'; await import('./${number}.ts');\n`);
    await writeFile(runner, calls.join(''));
    const child = spawn('node', [runner], { env: withTools(), stdio: ['ignore', 'pipe', 'pipe'] });
    const failure = text(child.stderr);
    const ended = once(child, 'exit');
    const printed = new Map<string, unknown[]>();
    for await (const line of createInterface(child.stdout)) {
      const [sample, value]: [string, unknown] = JSON.parse(line);
      printed.set(sample, [...(printed.get(sample) ?? []), value]);
      const [link] = /http\S+\/pay\/[\w-]+/.exec(line) ?? [];
      if (link !== undefined) expect(await pay(address + new URL(link).pathname, goodCard)).toBe('Receipt');
    }
    const [status] = await ended;
    expect(status, await failure).toBe(0);
    return printed;
  } finally {
    await rm(folder, { recursive: true });
  }
}

const goodCard = {
  method: 'CARD',
  cardNumber: '4242424242424242',
  expiry: '12/40',
  securityCode: '123',
  payerName: 'Ines Calder',
};

/**
 * Matches a value that has all that is shown. `…` stands for any text, and as the last element for any further
 * elements.
 */
function asShown(shown: unknown): unknown {
  if (typeof shown === 'string' && shown.includes('…'))
    return expect.stringMatching(new RegExp(`^${shown.split('…').map(escaped).join('.+')}$`));
  if (Array.isArray(shown)) {
    const elements = shown.filter((element) => element !== '…').map(asShown);
    return elements.length === shown.length ? elements : expect.arrayContaining(elements);
  }
  if (typeof shown === 'object' && shown !== null)
    return expect.objectContaining(
      Object.fromEntries(Object.entries(shown).map(([name, value]) => [name, asShown(value)])),
    );
  return shown;
}

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
}

/**
 * Runs the commands of these operations in one shell, one after the other.
 *
 * @returns those with another status, and their output
 */
async function failedIn(called: readonly Operation[], address: string, keys: NodeJS.ProcessEnv): Promise<string[]> {
  const folder = await mkdtemp(join(tmpdir(), 'samples-shell-'));
  try {
    const outputOf = ({ id }: Operation) => join(folder, id);
    const commands = called.map((operation) => {
      const command = curlSample(operation).replace(sampleServer, address);
      return `${command} -s -w '\\n%{http_code}' > '${outputOf(operation)}'`;
    });
    const script = join(folder, 'commands.sh');
    await writeFile(script, commands.join('\n'));
    await run('sh', [script], { env: { ...process.env, ...keys } });
    const failed: string[] = [];
    for (const operation of called) {
      const output = await readFile(outputOf(operation), 'utf8');
      const [status] = output.split('\n').slice(-1);
      if (status !== String(operation.responses[0]?.status)) failed.push(`${operation.id} ${output.slice(0, 600)}`);
    }
    return failed;
  } finally {
    await rm(folder, { recursive: true });
  }
}

describe('a literal', () => {
  it('evaluates to its original value', () => {
    const value = {
      "it's": '"quoted" \\ and\nbroken',
      _eq: [null, true, 1.5, []],
      deep: { empty: {}, list: ['a'.repeat(70)] },
    };
    expect(new Function(`return ${literal(value, 0)}`)()).toEqual(value);
  });
});

function withTools(): NodeJS.ProcessEnv {
  return { ...process.env, PATH: `${join(root, 'node_modules/.bin')}:${process.env.PATH}` };
}
