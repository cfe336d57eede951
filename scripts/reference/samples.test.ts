/// <reference path="../../packages/server/src/modules/clients/provinces.d.ts" />
/** The samples work: the programs compile, and the commands succeed when pasted. */
import { execFile } from 'node:child_process';
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createDemoTenant, demoKey } from '../../packages/demo-data/src/demo.ts';
import { operationsOf, readContract } from '../../packages/mock/src/contract.ts';
import { startMock } from '../../packages/mock/src/server.ts';
import { type Running, serve } from '../../packages/server/src/main/main.ts';
import { createDataDir } from '../../packages/server/test/database.ts';
import { freePort } from '../../packages/server/test/free-port.ts';
import { literal } from './literal.ts';
import { clientSample, curlSample, sampleServer } from './samples.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const operations = operationsOf(await readContract());
const run = promisify(execFile);

describe('the samples', () => {
  it('compile with the client', async () => {
    const folder = await mkdtemp(join(root, 'node_modules/.samples-'));
    try {
      for (const operation of operations) await writeFile(join(folder, `${operation.id}.ts`), clientSample(operation));
      const settings = {
        extends: join(root, 'tsconfig.base.json'),
        compilerOptions: { paths: { '@financial-automation/client': [join(root, 'packages/client/src/index.ts')] } },
        include: ['*.ts'],
      };
      await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(settings));
      const { stdout } = await run('tsc', ['--project', folder], { env: withTools() }).catch((error) => error);
      expect(stdout).toBe('');
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it('succeed on the mock when pasted into a shell', async () => {
    const mock = await startMock({ port: 0 });
    try {
      for (const operation of operations) {
        const command = curlSample(operation).replace(sampleServer, mock.url);
        const { stdout } = await run('sh', ['-c', `${command} -s -o /dev/null -w '%{http_code}'`], {
          env: { ...process.env, ACCESS_TOKEN: 'any-token', API_KEY: 'any-key' },
        });
        expect(stdout, command).toBe(String(operation.responses[0]?.status));
      }
    } finally {
      await mock.close();
    }
  });
});

describe('the samples, in the demo tenant', () => {
  let seeded: string;
  let apiKey: string;
  beforeAll(async () => {
    seeded = await createDataDir();
    await withServer(seeded, async ({ service }) => {
      await createDemoTenant({ service });
      apiKey = await demoKey({ service });
    });
  });
  afterAll(() => rm(seeded, { recursive: true }));

  /** Starts a server with the demo tenant for the duration of the work. */
  async function withDemo(work: (address: string) => Promise<void>): Promise<void> {
    const dataDir = await mkdtemp(join(tmpdir(), 'samples-demo-'));
    try {
      await cp(seeded, dataDir, { recursive: true });
      await withServer(dataDir, ({ address }) => work(address));
    } finally {
      await rm(dataDir, { recursive: true });
    }
  }

  // Samples that remove rows run last, because others use the rows.
  const isLast = ({ id }: { readonly id: string }) => /^(delete|deactivate|remove)/.test(id);
  const inOrder = [...operations.filter((one) => !isLast(one)), ...operations.filter(isLast)];

  it('succeed when pasted into a shell', async () => {
    await withDemo(async (address) => {
      const token = await fetch(`${address}/v1/auth/token`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({ apiKey }),
      });
      const { access_token } = (await token.json()) as { access_token: string };
      const failed: string[] = [];
      for (const operation of inOrder) {
        const command = curlSample(operation).replace(sampleServer, address);
        const { stdout } = await run('sh', ['-c', `${command} -s -w '\\n%{http_code}'`], {
          env: { ...process.env, ACCESS_TOKEN: access_token, API_KEY: apiKey },
          maxBuffer: 10_000_000,
        });
        const [status = ''] = stdout.split('\n').slice(-1);
        if (status !== String(operation.responses[0]?.status)) failed.push(`${operation.id} ${stdout.slice(0, 600)}`);
      }
      expect(failed).toEqual([]);
    });
  });

  it('succeed as programs with the client', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'samples-'));
    const client = pathToFileURL(join(root, 'packages/client/src/index.ts')).href;
    try {
      await withDemo(async (address) => {
        const files = inOrder.map(({ id }) => join(folder, `${id}.ts`));
        for (const [index, operation] of inOrder.entries()) {
          const program = clientSample(operation).replace(sampleServer, address);
          await writeFile(files[index] ?? '', program.replace("'@financial-automation/client'", `'${client}'`));
        }
        const runner = join(folder, 'run.ts');
        await writeFile(
          runner,
          `const failed: string[] = [];
const print = console.log;
console.log = () => undefined;
for (const file of ${JSON.stringify(files)}) {
  await import(file).catch((error) => failed.push(file + ' ' + (error.stack ?? error) + JSON.stringify(error.problem)));
}
print(JSON.stringify(failed));`,
        );
        const env = { ...withTools(), API_KEY: apiKey };
        const { stdout } = await run('node', [runner], { env, maxBuffer: 10_000_000 });
        expect(JSON.parse(stdout)).toEqual([]);
      });
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});

async function withServer(dataDir: string, work: (running: Running) => Promise<void>): Promise<void> {
  const port = String(await freePort());
  const running = await serve({
    DATA_DIR: dataDir,
    PORT: port,
    LOG_LEVEL: 'silent',
    RATE_LIMIT_FACTOR: '100',
    PAYMENT_PROCESSOR: 'sandbox',
  });
  try {
    await work(running);
  } finally {
    await running.stop();
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
