/** The files of all packages are read for it. */
import { execFileSync } from 'node:child_process';
import { existsSync, lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));

it('what pnpm start installs has at most 500 MB', () => {
  const words = [
    'ls',
    '--prod',
    '--recursive',
    '--depth=Infinity',
    '--json',
    '--filter=!@financial-automation/mock',
    '--filter=!@financial-automation/mcp',
    '--filter=!@financial-automation/openapi-breaking',
  ];
  const projects: unknown = JSON.parse(execFileSync('pnpm', words, { cwd: root, encoding: 'utf8', maxBuffer: 1e9 }));
  const folders = new Set<string>();
  const collect = (value: unknown): void => {
    const { path, dependencies, optionalDependencies } = Object(value);
    if (String(path).includes('/node_modules/.pnpm/')) folders.add(path);
    for (const one of Object.values({ ...dependencies, ...optionalDependencies })) collect(one);
  };
  for (const project of [projects].flat()) collect(project);
  // In blocks of the disk, as `du` counts.
  // Packages of other platforms are listed, too, but not there. Equal files have one place on the disk, and count once, as for `du`.
  const present = [...folders].filter((folder) => existsSync(folder));
  const files = present.flatMap((folder) => readdirSync(folder, { recursive: true, withFileTypes: true }));
  const entries = files.map((entry) => lstatSync(join(entry.parentPath, entry.name)));
  const blocks = new Map(entries.map((entry) => [entry.ino, entry.blocks]));
  expect(blocks.size).toBeGreaterThan(10_000);
  const bytes = [...blocks.values()].reduce((sum, count) => sum + 512 * count, 0);
  expect(Math.round(bytes / 1e6)).toBeLessThanOrEqual(500);
});
