/** The samples do what they promise: the programs compile, and the commands work as they are pasted. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { operationsOf, readContract } from '../../packages/mock/src/contract.ts';
import { startMock } from '../../packages/mock/src/server.ts';
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

  it('are answered with success by the mock, when pasted into a shell', async () => {
    const mock = await startMock({ port: 0 });
    try {
      for (const operation of operations) {
        const command = curlSample(operation).replace(sampleServer, mock.url);
        const { stdout } = await run('sh', ['-c', `${command} -s -o /dev/null -w '%{http_code}'`], {
          env: { ...process.env, ACCESS_TOKEN: 'any-token', API_KEY: 'any-key' },
        });
        expect(stdout, command).toBe(String(operation.answers[0]?.status));
      }
    } finally {
      await mock.close();
    }
  });
});

describe('a literal', () => {
  it('means the value that it was written from', () => {
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
