import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { program as demoData } from '@financial-automation/demo-data/program';
import type { Command } from 'commander';
import { expect, test } from 'vitest';
import { program as server } from './program.ts';

/** Returns the commands of a program, each of which has a help text with its purpose and its arguments. */
function commandsOf(program: Command): string[] {
  const found: string[] = [];
  const explore = (command: Command, path: readonly string[]): void => {
    const text = command.helpInformation();
    expect(text).toMatch(/^Usage: /);
    // A sentence between the usage and the options.
    expect(text).toMatch(/\n\n[A-Z][\s\S]+?\.\n\n/);
    if (command.commands.length === 0) found.push(path.join(' '));
    for (const inner of command.commands) explore(inner, [...path, inner.name()]);
  };
  explore(program, []);
  return found.toSorted();
}

test.each([
  ['../cli.ts', server],
  ['../../../demo-data/src/cli.ts', demoData],
])('%s prints the help text of its commands', async (file, program) => {
  const path = fileURLToPath(new URL(file, import.meta.url));
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [path, '--help']);
  expect({ stdout, stderr }).toEqual({ stdout: program.helpInformation(), stderr: '' });
});

test('a command says nothing about output that nobody reads', async () => {
  // As exports do, which wait until somebody has read what is printed.
  const source = `
    import { once } from 'node:events';
    import { Command } from 'commander';
    import { runProgram } from ${JSON.stringify(new URL('command-line.ts', import.meta.url).href)};
    const print = async () => {
      for (let line = 0; line < 100; line++)
        if (!process.stdout.write('x'.repeat(10_000))) await once(process.stdout, 'drain');
    };
    await runProgram(new Command().action(print));`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', source], {
    cwd: import.meta.dirname,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  child.stdout.destroy();
  const [errors] = await Promise.all([text(child.stderr), once(child, 'exit')]);
  expect(errors).toBe('');
});

test('the command says which version of Node it requires', async () => {
  const old = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.20.2' } })`;
  const env = { ...process.env, NODE_OPTIONS: `--import "data:text/javascript,${encodeURIComponent(old)}"` };
  const path = fileURLToPath(new URL('../cli.ts', import.meta.url));
  await expect(promisify(execFile)(process.execPath, [path, '--help'], { env })).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^The service requires Node \d+ or later, and this is Node 20\.20\.2\. .*\n$/),
  });
});

test('every command has a help text with its purpose and its arguments', () => {
  // A test of the acts of operators has their names.
  expect(commandsOf(server).length).toBeGreaterThan(30);
});

test('every command of demo data has a help text with its purpose and its arguments', () => {
  expect(commandsOf(demoData)).toEqual(['create', 'serve']);
});
