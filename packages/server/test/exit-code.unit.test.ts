import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';

test('tests on PostgreSQL that fail end with an exit code that says so', () => {
  const setUp = new URL('postgres-setup.ts', import.meta.url).href;
  const program = `await import(${JSON.stringify(setUp)}); process.exitCode = 3;`;
  const { status } = spawnSync(process.execPath, ['--input-type=module', '--eval', program]);
  expect(status).toBe(3);
});
