/**
 * `pnpm pack:all`: writes the packages that a release publishes to `dist/packages`. With `--check` it checks each tarball: its
 * manifest by publint, its types by attw, and then an installation into an empty folder on each supported Node, where it must run.
 */
import { mkdir, rm } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { readOptions } from './options.ts';
import { fault, pack, publicPackages } from './packages/pack.ts';
import { tryPackages } from './test/packages/try.ts';

const { check } = readOptions({ options: { check: { type: 'boolean', default: false } } }).values;
const folder = fileURLToPath(new URL('../dist/packages/', import.meta.url));
await rm(folder, { recursive: true, force: true });
await mkdir(folder, { recursive: true });

let hasFailed = false;
const tarballs = new Map<string, string>();
for (const { name, path } of await publicPackages()) {
  const tarball = await pack(path, folder);
  tarballs.set(name, tarball);
  report(`${name}: ${tarball}`, check ? await fault(tarball) : undefined);
}
if (check) for await (const { what, failure } of tryPackages(tarballs)) report(what, failure);
process.exitCode = hasFailed ? 1 : 0;

function report(what: string, failure: string | undefined): void {
  console.log(`${failure === undefined ? '✓' : '✗'} ${what}`);
  if (failure === undefined) return;
  console.log(failure);
  hasFailed = true;
}
