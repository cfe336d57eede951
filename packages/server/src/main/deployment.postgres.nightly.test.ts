/** The commands of the unit and of the composition run as they are written, on a database of this machine. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { imageCommand, readComposition, unitValues } from '../../test/deployment.ts';
import { freePort } from '../../test/free-port.ts';
import { processEnvironment } from '../../test/process.ts';

const { DATABASE_URL = '', MASTER_KEY = '' } = await processEnvironment();
const repository = fileURLToPath(new URL('../../../..', import.meta.url));
const dataDir = await mkdtemp(join(tmpdir(), 'financial-automation-deployment-'));
afterAll(() => rm(dataDir, { recursive: true }));

/** Starts a command line as it is written, with this Node, in the folder of the repository, and nothing else in its environment. */
function start([program = '', ...words]: readonly string[], environment: Readonly<Record<string, string>>) {
  expect(program).toMatch(/^(\/usr\/bin\/)?node$/);
  const child = spawn(process.execPath, words, { cwd: repository, env: environment });
  onTestFinished(() => void child.kill('SIGKILL'));
  let written = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (written += chunk));
  const ended = once(child, 'close').then(([code]) => code as number | null);
  return { child, ended, written: () => written };
}

async function serves(started: ReturnType<typeof start>, port: string): Promise<void> {
  let isOver = false;
  void started.ended.then(() => (isOver = true));
  while (!(await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined))?.ok) {
    if (isOver) throw new Error(started.written());
    await pause(100);
  }
}

test('the composition migrates, serves, is healthy, and ends in time', async () => {
  const { services } = readComposition({ MASTER_KEY, DATABASE_PASSWORD: 'secret' });
  const entry = imageCommand('ENTRYPOINT');
  const { migrate, 'api-1': api } = services;
  // As the composition says, but for the place of the database and of files.
  expect(api?.environment?.DATABASE_URL).toBe('postgres://financial_automation:secret@database/financial_automation');
  const own = {
    ...api?.environment,
    HOST: '127.0.0.1',
    PORT: String(await freePort()),
    DATA_DIR: dataDir,
    DATABASE_URL,
  };
  const migrated = start([...entry, ...(migrate?.command ?? [])], { ...migrate?.environment, DATABASE_URL });
  expect([await migrated.ended, migrated.written()]).toEqual([0, expect.any(String)]);
  const server = start([...entry, ...imageCommand('CMD')], { NODE_ENV: 'production', ...own });
  await serves(server, own.PORT);
  expect(await start(imageCommand('HEALTHCHECK'), own).ended).toBe(0);
  server.child.kill('SIGTERM');
  expect(await server.ended).toBe(0);
  expect(await start(imageCommand('HEALTHCHECK'), own).ended).toBe(1);
});

test('the unit of systemd serves, and ends in time', async () => {
  const port = String(await freePort());
  const variables = unitValues('Environment')
    .flatMap((line) => line.replaceAll('%i', port).split(' '))
    .map((one) => one.split('='));
  const fromUnit = Object.fromEntries(variables);
  expect(fromUnit.DATA_DIR).toBe(`/var/lib/${unitValues('StateDirectory')[0]}`);
  const fromFile = {
    DATABASE_URL,
    MASTER_KEY,
    PUBLIC_URL: 'http://127.0.0.1:3000',
    PAYMENT_PROCESSOR: 'none',
    TRUST_PROXY: '1',
  };
  const command = unitValues('ExecStart')[0]?.split(' ') ?? [];
  const server = start(command, { ...fromUnit, ...fromFile, DATA_DIR: dataDir });
  await serves(server, port);
  const since = performance.now();
  server.child.kill('SIGTERM');
  expect(await server.ended).toBe(0);
  expect(performance.now() - since).toBeLessThan(Number(unitValues('TimeoutStopSec')[0]) * 1_000);
});
