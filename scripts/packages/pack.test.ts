/** A sample of `pnpm pack:all`, which also packs the packages with types, and installs all of them. */
import { cp, mkdir, mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { run } from '../test/run.ts';
import { fault, pack, publicPackages } from './pack.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'packages-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

it('a release publishes the bridge, the client, the two tools for contracts and the MCP server', async () => {
  const names = (await publicPackages()).map(({ name }) => basename(name));
  expect(names).toEqual(['bridge', 'client', 'contract-check', 'mcp', 'openapi-breaking']);
});

it('the packed MCP server runs with only the dependencies that it declares', async () => {
  const path = fileURLToPath(new URL('../../packages/mcp', import.meta.url));
  const tarball = await pack(path, folder);
  expect(await fault(tarball)).toBeUndefined();

  await run(['tar', '-xzf', tarball, '-C', folder]);
  expect(await readFile(join(folder, 'package/CHANGELOG.md'), 'utf8')).toMatch(/^# Changelog/);
  await mkdir(join(folder, 'node_modules/.bin'), { recursive: true });
  const program = 'node_modules/.bin/financial-automation-mcp';
  await mkdir(join(folder, 'package/node_modules'));
  await symlink(
    join(path, 'node_modules/@modelcontextprotocol'),
    join(folder, 'package/node_modules/@modelcontextprotocol'),
  );
  await symlink(join(folder, 'package/dist/main.js'), join(folder, program));
  await cp(fileURLToPath(new URL('../test/packages/programs/mcp.mjs', import.meta.url)), join(folder, 'mcp.mjs'));
  expect(await run([process.execPath, 'mcp.mjs'], { directory: folder })).toEqual({ code: 0, output: '' });
});
