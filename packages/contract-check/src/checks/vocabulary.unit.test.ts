import { glob, readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';

const root = new URL('../../', import.meta.url);

it('EXTENSION.md lists only members that a check reads', async () => {
  const table = await readFile(new URL('EXTENSION.md', root), 'utf8');
  const members = [...table.matchAll(/^\| (?:operation|parameter|property) \| `(\w+)` \|/gm)].map(([, name]) => name);
  let sources = '';
  for await (const file of glob('src/**/*.ts', { cwd: root, exclude: (name) => /test|fixture|library/.test(name) }))
    sources += await readFile(new URL(file, root), 'utf8');
  expect(members.length).toBeGreaterThan(30);
  for (const name of members) expect(sources, name).toMatch(new RegExp(`[.{,('] ?${name}\\b`));
});
