/** The programs in a folder of their own, with the client as npm installs it from its tarball. */
import { execFile } from 'node:child_process';
import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { demoKey } from '@financial-automation/demo-data/demo';
import { serveForFile } from '@financial-automation/server/testing';
import { freePort } from '@financial-automation/server/tools';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { fileOf, outputs } from './ten-lines.ts';

const run = promisify(execFile);
const running = await serveForFile({ RATE_LIMIT_FACTOR: '100', WEBHOOK_ALLOW_LOOPBACK: 'on' }, 'demo');
let folder = '';
let apiKey = '';

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'ten-lines-'));
  apiKey = await demoKey(running);
  const client = fileURLToPath(new URL('../../client', import.meta.url));
  await run('pnpm', ['pack', '--out', join(folder, 'client.tgz')], { cwd: client });
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }');
  await run('npm', ['install', './client.tgz', '@types/node@26'], { cwd: folder });
  for (const name of Object.keys(outputs)) await copyFile(fileOf(name), join(folder, `${name}.ts`));
}, 300_000);
afterAll(() => rm(folder, { recursive: true }));

it.each(Object.entries(outputs))('%s works with an installed client', async (name, output) => {
  const env = { ...process.env, API_URL: running.address, API_KEY: apiKey, RECEIVER_PORT: String(await freePort()) };
  const { stdout } = await run('node', [`${name}.ts`], { cwd: folder, env });
  expect(stdout.trim()).toBe(output);
});

it('compiles every program strictly, with no cast', async () => {
  const programs = Object.keys(outputs).map((name) => `${name}.ts`);
  const options = ['--strict', '--noEmit', '--module', 'nodenext', '--target', 'esnext', '--types', 'node'];
  const compiler = fileURLToPath(new URL('../../../node_modules/typescript/bin/tsc', import.meta.url));
  await run(process.execPath, [compiler, ...options, ...programs], { cwd: folder });
  for (const name of programs) expect(await readFile(join(folder, name), 'utf8')).not.toMatch(/\bas (?!const)|\bany\b/);
});
