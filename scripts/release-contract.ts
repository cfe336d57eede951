/**
 * Releases the current contract: `pnpm contract:release v9.9.0`. Unreleased changes in the changelog move under the
 * version and today's date, the bundle replaces the last released one, public packages get the version, and the list of allowed breaks is
 * cleared. The package script runs the gate first; `pnpm generate` runs at the end, for `x-release`.
 */
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { errorsIn, released, releasesOf } from './breaking/changelog.ts';
import {
  allowedBreaks,
  changelogFile,
  presentFile,
  releasedContract,
  releasedFolder,
  withoutEntries,
} from './breaking/files.ts';
import { readOptions } from './options.ts';
import { publicPackages } from './packages/pack.ts';
import { run } from './test/run.ts';

const { values, positionals } = readOptions({
  options: { date: { type: 'string', default: new Date().toISOString().slice(0, 10) } },
  allowPositionals: true,
});

try {
  await release(positionals[0] ?? '', values.date);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}

async function release(version: string, date: string): Promise<void> {
  const last = await releasedContract();
  // Everything is read and checked before anything is written.
  const changelog = released(await readFile(changelogFile, 'utf8'), version, date);
  const [error] = errorsIn(releasesOf(changelog));
  if (error !== undefined) throw new Error(`CHANGELOG.md: ${error}`);
  const bundle = await readFile(presentFile, 'utf8');
  const allowed = withoutEntries(await readFile(allowedBreaks, 'utf8'));

  const [, ...lines] = bundle.split('\n');
  const text = [notice(version), ...lines].join('\n').replace(/^x-release: .*$/m, `x-release: ${version}`);
  await writeFile(new URL(`${version}.yaml`, releasedFolder), text);
  for (const { path } of await publicPackages()) {
    const file = join(path, 'package.json');
    const manifest = await readFile(file, 'utf8');
    await writeFile(file, manifest.replace(/"version": ".*"/, `"version": "${version.slice(1)}"`));
  }
  await rm(new URL(`${last.version}.yaml`, releasedFolder));
  await writeFile(allowedBreaks, allowed);
  await writeFile(changelogFile, changelog);
  const { code, output } = await run([process.execPath, 'scripts/generate.ts']);
  if (code !== 0) throw new Error(output);
  console.log(`Released as ${version}, after ${last.version}. Review the changes, and commit them.`);
}

function notice(version: string): string {
  return `# The contract as released as ${version}, by "pnpm contract:release". Do not edit.`;
}
