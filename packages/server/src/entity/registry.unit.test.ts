import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import '../app/handlers.ts';
import { checkAllDefined } from './registry.ts';

/** The error of the check in a new process that loads only these files. */
async function errorAfter(...files: readonly string[]): Promise<string> {
  const load = (file: string) => `await import(${JSON.stringify(new URL(file, import.meta.url).href)})`;
  const program = [
    ...files.map(load),
    `const { checkAllDefined } = ${load('registry.ts')}`,
    'try { checkAllDefined(); } catch (error) { console.log(error.message); }',
  ];
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program.join(';')]);
  return stdout.trim();
}

test('checkAllDefined › rejects changes before all modules are loaded', async () => {
  expect(await errorAfter('../modules/clients/client.ts')).toMatch(/^Import app\/handlers\.ts\. .* WipEntry/);
  expect(checkAllDefined).not.toThrow();
});
