/** Packing and the checks of a tarball that need no installation. */
import { globSync } from 'node:fs';
import { copyFile, readFile, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { run } from '../test/run.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

interface PublicPackage {
  readonly name: string;
  readonly path: string;
}

/** The packages that a release publishes: those that are not private. */
export async function publicPackages(): Promise<PublicPackage[]> {
  const found: PublicPackage[] = [];
  for (const file of globSync('packages/*/package.json', { cwd: root }).sort()) {
    const { name, private: isPrivate = false } = JSON.parse(await readFile(join(root, file), 'utf8'));
    if (!isPrivate) found.push({ name, path: join(root, dirname(file)) });
  }
  return found;
}

/** Builds a package, and packs it into a folder, with the changelog of the release. @returns the path of the tarball */
export async function pack(path: string, folder: string): Promise<string> {
  const words = ['--silent', '--dir', path, 'pack', '--json', '--pack-destination', folder];
  const changelog = join(path, 'CHANGELOG.md');
  await copyFile(join(root, 'CHANGELOG.md'), changelog);
  const { code, output } = await run(['npx', '--yes', 'pnpm@12', ...words]).finally(() => rm(changelog));
  const [, filename] = /"filename": "(.*)"/.exec(output) ?? [];
  if (code !== 0 || filename === undefined) throw new Error(`${path} cannot be packed.\n${output}`);
  return filename;
}

/** What publint or attw find in a tarball. Undefined if nothing. */
export async function fault(tarball: string): Promise<string | undefined> {
  const { buffer } = new Uint8Array(await readFile(tarball));
  const { messages, pkg } = await publint({ pack: { tarball: buffer }, strict: true });
  const lines = messages.map((message) => formatMessage(message, pkg, { color: false }) ?? message.code);
  // The types of a package without modules to import cannot be wrong.
  if (pkg.exports !== undefined) {
    const profile = JSON.stringify(pkg.exports).includes('"require"') ? 'node16' : 'esm-only';
    const { code, output } = await run(['attw', '--no-color', '--profile', profile, tarball]);
    if (code !== 0) lines.push(output);
  }
  return lines.length === 0 ? undefined : lines.join('\n');
}
