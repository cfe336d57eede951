/** `pnpm mock`, as a person runs it. */
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const main = fileURLToPath(new URL('../src/main.ts', import.meta.url));

describe('pnpm mock', () => {
  it('prints its URL and how to try it, logs a line for each request, and stops on a signal', async () => {
    const run = start(['--port', '0']);
    const url = await run.said(/http:\/\/127\.0\.0\.1:\d+/);
    await run.said(/Requests:/);
    const commands = run.output().match(/curl(?:[^\n]*\\\n)*[^\n]*/g) ?? [];
    expect(commands).toHaveLength(2);
    for (const command of commands) expect(await shell(`${command} -s -o /dev/null -w "%{http_code}"`)).toBe('200');
    await fetch(`${url}/nowhere`);
    await run.said(/404.* GET {4}\/nowhere/);
    expect(run.output()).toMatch(/200.* POST {3}\/v1\/auth\/token/);
    run.process.kill('SIGTERM');
    expect(await run.ended).toBe(0);
  });

  it('rejects an invalid port', async () => {
    const run = start(['--port', 'http']);
    expect(await run.ended).toBe(2);
    expect(run.output()).toMatch(/^--port must be a number\. The options are --port VALUE/);
  });
});

function start(flags: string[]) {
  const child = spawn(process.execPath, [main, ...flags], { env: { ...process.env, NO_COLOR: '1' } });
  let output = '';
  const listeners = new Set<() => void>();
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (text) => {
      output += text;
      for (const listener of listeners) listener();
    });
  }
  return {
    process: child,
    output: () => output,
    ended: new Promise<number | null>((resolve) => child.once('close', resolve)),
    /** Waits for it; the time limit of the test is the limit. */
    said: (pattern: RegExp) =>
      new Promise<string>((resolve) => {
        const look = () => {
          const match = pattern.exec(output);
          if (match !== null) resolve(match[0]);
        };
        listeners.add(look);
        look();
      }),
  };
}

function shell(command: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn('sh', ['-c', command]);
    let output = '';
    child.stdout.on('data', (text) => {
      output += text;
    });
    child.once('error', reject);
    child.once('close', () => resolve(output));
  });
}
