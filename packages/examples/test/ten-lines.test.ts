import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { createDemoTenant, demoKey } from '@financial-automation/demo-data/demo';
import { serveForFile } from '@financial-automation/server/testing';
import { freePort } from '@financial-automation/server/tools';
import { beforeAll, expect, it } from 'vitest';
import { fileOf, linesOf, outputs } from './ten-lines.ts';

const running = await serveForFile({ RATE_LIMIT_FACTOR: '100', WEBHOOK_ALLOW_LOOPBACK: 'on' });
let apiKey: string;
beforeAll(async () => {
  await createDemoTenant(running);
  apiKey = await demoKey(running);
});

it('has every program, of at most ten lines', () => {
  const names = readdirSync(new URL('ten-lines/', import.meta.url)).map((file) => file.replace('.ts', ''));
  expect(Object.keys(outputs).toSorted()).toEqual(names.toSorted());
  expect(names.filter((name) => linesOf(name) > 10)).toEqual([]);
});

it.each(Object.entries(outputs))('%s prints what it did', async (name, output) => {
  const sources = fileURLToPath(new URL('../client-source.ts', import.meta.url));
  const env = { ...process.env, API_URL: running.address, API_KEY: apiKey, RECEIVER_PORT: String(await freePort()) };
  const { stdout } = await promisify(execFile)('node', ['--import', sources, fileOf(name)], { env });
  expect(stdout.trim()).toBe(output);
});
