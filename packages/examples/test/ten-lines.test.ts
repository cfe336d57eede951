import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { demoKey } from '@financial-automation/demo-data/demo';
import { serveForFile } from '@financial-automation/server/testing';
import { freePort } from '@financial-automation/server/tools';
import { beforeAll, expect, it } from 'vitest';
import { fileOf, linesOf, outputs } from './ten-lines.ts';

const running = await serveForFile({ RATE_LIMIT_FACTOR: '100', WEBHOOK_ALLOW_LOOPBACK: 'on' }, 'demo');
/** The nightly run also writes a thousand records, with the client as npm installs it. */
const called = Object.keys(outputs).filter((name) => name !== 'write-a-thousand-records');
let apiKey: string;
let printed: ReadonlyMap<string, string>;
beforeAll(async () => {
  apiKey = await demoKey(running);
  printed = await printedBy(called);
});

it('has every program, of at most ten lines', () => {
  const names = readdirSync(new URL('ten-lines/', import.meta.url)).map((file) => file.replace('.ts', ''));
  expect(Object.keys(outputs).toSorted()).toEqual(names.toSorted());
  expect(names.filter((name) => linesOf(name) > 10)).toEqual([]);
});

it.each(called)('%s prints what it did', (name) => {
  expect(printed.get(name)?.trim()).toBe(outputs[name]);
});

/** Runs programs one after the other in one process, because most of the time of each is its start. @returns what each prints */
async function printedBy(names: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const folder = await mkdtemp(join(tmpdir(), 'ten-lines-'));
  try {
    const runner = join(folder, 'run.mjs');
    const lines = names.map((name) => `console.log('# ${name}');\nawait import('${pathToFileURL(fileOf(name))}');`);
    await writeFile(runner, lines.join('\n'));
    const sources = fileURLToPath(new URL('../client-source.ts', import.meta.url));
    const env = { ...process.env, API_URL: running.address, API_KEY: apiKey, RECEIVER_PORT: String(await freePort()) };
    const { stdout } = await promisify(execFile)('node', ['--import', sources, runner], { env });
    const parts = stdout.split(/^# (.*)$/m).slice(1);
    return new Map(names.map((name) => [name, parts[parts.indexOf(name) + 1] ?? '']));
  } finally {
    await rm(folder, { recursive: true });
  }
}
