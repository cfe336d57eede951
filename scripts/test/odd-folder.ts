/** Runs both commands of the README in a fresh clone whose path has a space and an umlaut. */
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readOptions } from '../options.ts';
import { run } from './run.ts';

readOptions({});
const root = fileURLToPath(new URL('../..', import.meta.url));
const folder = await mkdtemp(join(tmpdir(), 'odd-'));
const clone = join(folder, 'Bücher und Zahlen');
try {
  await run(['git', 'clone', '--quiet', `file://${root}`, clone]);
  await started();
  console.log('✓ start serves');
  const { code } = await run(['npx', '--yes', 'pnpm@12', 'test'], { directory: clone, isShown: true });
  console.log(`${code === 0 ? '✓' : '✗'} test`);
  process.exitCode = code;
} finally {
  await rm(folder, { recursive: true, force: true });
}

/** Starts the server, waits until it says what to do, and stops it. @throws Error with its output if it ends before */
async function started(): Promise<void> {
  const env = { ...process.env, PORT: '3917' };
  const child = spawn('npx', ['--yes', 'pnpm@12', 'start'], { cwd: clone, env, detached: true });
  let output = '';
  const listening = new Promise<void>((resolve, reject) => {
    const read = (chunk: Buffer) => {
      output += String(chunk);
      if (/Press Ctrl\+C/.test(output)) resolve();
    };
    child.stdout.on('data', read);
    child.stderr.on('data', read);
    child.once('exit', (code) => reject(new Error(`start ended with ${code}:\n${output}`)));
  });
  try {
    await listening;
  } finally {
    // All that it has started, too.
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGTERM');
  }
}
