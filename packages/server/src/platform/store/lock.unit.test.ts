import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, expect, test } from 'vitest';
import { lockDirectory } from './lock.ts';

const folder = mkdtempSync(join(tmpdir(), 'financial-automation-lock-'));
afterAll(() => rmSync(folder, { recursive: true }));
const children: ChildProcess[] = [];
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});
let directories = 0;

function newDirectory(): string {
  directories += 1;
  return join(folder, String(directories));
}

/** Starts another process that tries to get the lock. @returns it, and its output */
async function contender(directory: string): Promise<{ child: ChildProcess; output: string }> {
  const script = join(import.meta.dirname, '../../../test/hold-lock.ts');
  const child = spawn(process.execPath, [script, directory], { stdio: ['ignore', 'pipe', 'inherit'] });
  children.push(child);
  const [output] = await once(child.stdout, 'data');
  return { child, output: String(output).trim() };
}

async function stop(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  child.kill(signal);
  await once(child, 'exit');
}

test('a second process is rejected with the ID of the first', async () => {
  const directory = newDirectory();
  const lock = lockDirectory(directory);
  const second = await contender(directory);
  expect(second.output).toContain(`is in use by the process with pid ${process.pid}`);
  lock.release();
  expect((await contender(directory)).output).toBe('locked');
});

test('this process is rejected while another one holds the lock, also if that one is suspended', async () => {
  const directory = newDirectory();
  const { child } = await contender(directory);
  child.kill('SIGSTOP');
  expect(() => lockDirectory(directory)).toThrow(`is in use by the process with pid ${child.pid}`);
});

test('the lock of a killed process is released immediately', async () => {
  const directory = newDirectory();
  const { child } = await contender(directory);
  await stop(child, 'SIGKILL');
  lockDirectory(directory).release();
});

test('a second use in the same process is rejected, whatever path it uses', () => {
  const directory = newDirectory();
  const lock = lockDirectory(directory);
  const alias = newDirectory();
  symlinkSync(directory, alias);
  expect(() => lockDirectory(directory)).toThrow('is in use by this process');
  expect(() => lockDirectory(alias)).toThrow('is in use by this process');
  lock.release();
  const again = lockDirectory(alias);
  lock.release();
  expect(() => lockDirectory(directory)).toThrow('is in use by this process');
  again.release();
});

test('exactly one of many processes that start together gets the lock', async () => {
  const directory = newDirectory();
  const outcomes = await Promise.all([1, 2, 3, 4].map(() => contender(directory)));
  expect(outcomes.filter(({ output }) => output === 'locked')).toHaveLength(1);
});
