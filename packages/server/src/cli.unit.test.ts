import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const cli = fileURLToPath(new URL('cli.ts', import.meta.url));

async function help(...command: string[]): Promise<string> {
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [cli, ...command, '--help']);
  expect(stderr).toBe('');
  return stdout;
}

/** The commands that a help text lists. */
function listed(text: string): string[] {
  const [, commands = ''] = text.split('Commands:\n');
  return [...commands.matchAll(/^ {2}([a-z-]+)/gm)].map(([, name]) => name ?? '').filter((name) => name !== 'help');
}

test('every command has a help text with its purpose and its arguments', async () => {
  const found: string[] = [];
  const explore = async (...command: string[]): Promise<void> => {
    const text = await help(...command);
    expect(text).toMatch(/^Usage: /);
    // A sentence between the usage and the options.
    expect(text).toMatch(/\n\n[A-Z][\s\S]+?\.\n\n/);
    const inner = listed(text);
    if (inner.length === 0) found.push(command.join(' '));
    await Promise.all(inner.map((name) => explore(...command, name)));
  };
  await explore();
  expect(found.toSorted()).toEqual([
    'api-key create',
    'api-key list',
    'api-key revoke',
    'books check',
    'deliveries replay',
    'demo',
    'demo-data',
    'files import',
    'job list',
    'job retry',
    'rows check',
    'serve',
    'signing-key list',
    'signing-key retire',
    'signing-key rotate',
    'tenant create',
    'tenant list',
    'tenant set',
    'tenant show',
    'webhook listen',
    'webhook rotate-secret',
    'webhook trigger',
  ]);
});
