/**
 * `pnpm breaking` compares the contract with the released one, and fails if a breaking change is not allowed with a reason,
 * or not described in the changelog. Reads the bundle that `pnpm generate` creates.
 *
 * `pnpm breaking before.yaml after.yaml` compares any two OpenAPI documents: see packages/openapi-breaking.
 */
import { readFile } from 'node:fs/promises';
import { compare, usersOf, wordsFor } from '../packages/openapi-breaking/src/index.ts';
import { additionsOf } from './breaking/additions.ts';
import { releasesOf } from './breaking/changelog.ts';
import { allowedBreaks, allowedIn, changelogFile, presentContract, releasedContract } from './breaking/files.ts';
import { complaints } from './breaking/gate.ts';
import { readOptions } from './options.ts';

const { positionals } = readOptions({ allowPositionals: true });
if (positionals.length > 0) await import('../packages/openapi-breaking/src/bin.ts');
else await checkContract();

async function checkContract(): Promise<void> {
  const { version, contract: released } = await releasedContract();
  const present = await presentContract();
  const allowed = allowedIn(await readFile(allowedBreaks, 'utf8'));
  const problems = complaints({
    comparison: await compare(released, present),
    additions: additionsOf(released, present),
    allowed,
    releases: releasesOf(await readFile(changelogFile, 'utf8')),
    releasedVersion: version,
    // A new requirement, such as a required parameter, is not in the released contract.
    usersOf: (at) => eitherOf(usersOf(released, at), usersOf(present, at)),
    wordsFor: (at) => [...new Set([...wordsFor(released, at), ...wordsFor(present, at)])],
  });
  if (problems.length > 0) {
    console.error(problems.join('\n\n'));
    process.exitCode = 1;
    return;
  }
  const meant =
    allowed.length === 0 ? 'Nothing breaks' : `${allowed.length} breaks are declared, and nothing else breaks`;
  console.log(`${meant} the contract released as ${version}.`);
}

function eitherOf<Item>(one: readonly Item[], other: readonly Item[]): readonly Item[] {
  return one.length > 0 ? one : other;
}
