import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { sampleOf } from '../../test/nightly.ts';

const server = fileURLToPath(new URL('../cli.ts', import.meta.url));
const demoData = fileURLToPath(new URL('../../../demo-data/src/cli.ts', import.meta.url));

async function help(program: string, ...command: string[]): Promise<string> {
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [program, ...command, '--help']);
  expect(stderr).toBe('');
  return stdout;
}

/** The commands that a help text lists. */
function listed(text: string): string[] {
  const [, commands = ''] = text.split('Commands:\n');
  return [...commands.matchAll(/^ {2}([a-z-]+)/gm)].map(([, name]) => name ?? '').filter((name) => name !== 'help');
}

/** Returns the commands of a program, each of which has a help text with its purpose and its arguments. */
async function commandsOf(program: string): Promise<string[]> {
  const found: string[] = [];
  const explore = async (...command: string[]): Promise<void> => {
    const text = await help(program, ...command);
    expect(text).toMatch(/^Usage: /);
    // A sentence between the usage and the options.
    expect(text).toMatch(/\n\n[A-Z][\s\S]+?\.\n\n/);
    const inner = listed(text);
    if (inner.length === 0) found.push(command.join(' '));
    // Each text takes a process, so a sample of the commands within others.
    const opened = new Set(command.length === 0 ? inner : sampleOf(inner, 4));
    for (const name of inner) if (!opened.has(name)) found.push([...command, name].join(' '));
    await Promise.all([...opened].map((name) => explore(...command, name)));
  };
  await explore();
  return found.toSorted();
}

test('every command has a help text with its purpose and its arguments', async () => {
  expect(await commandsOf(server)).toEqual([
    'api-key create',
    'api-key list',
    'api-key revoke',
    'audit export',
    'books check',
    'cell add',
    'cell list',
    'clock advance',
    'deliveries replay',
    'files import',
    'job list',
    'job retry',
    'migrate',
    'rows check',
    'serve',
    'signing-key list',
    'signing-key retire',
    'signing-key rotate',
    'tenant close',
    'tenant create',
    'tenant export',
    'tenant import',
    'tenant list',
    'tenant move',
    'tenant open',
    'tenant set',
    'tenant show',
    'webhook listen',
    'webhook rotate-secret',
    'webhook trigger',
  ]);
});

test('every command of demo data has a help text with its purpose and its arguments', async () => {
  expect(await commandsOf(demoData)).toEqual(['create', 'serve']);
});
