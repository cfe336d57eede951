import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { backgroundWork } from './jobs.ts';

const source = fileURLToPath(new URL('../', import.meta.url));

test('every job and scheduled task that is defined is listed, as no other one runs', () => {
  const files = globSync('{app,modules}/**/*.ts', { cwd: source }).filter((file) => !file.endsWith('.test.ts'));
  const namesBy = (define: string) =>
    files.flatMap((file) =>
      [
        ...readFileSync(`${source}${file}`, 'utf8').matchAll(new RegExp(`\\b${define}\\(\\{\\s*name: '([^']+)'`, 'g')),
      ].map(([, name]) => name),
    );
  const { jobs, clockTasks } = backgroundWork;
  expect(namesBy('defineJob').sort()).toEqual(jobs.map(({ name }) => name).sort());
  expect(namesBy('defineClockTask').sort()).toEqual(clockTasks.map(({ name }) => name).sort());
});
