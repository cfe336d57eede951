/**
 * Compares the contract with the released one, and fails if a breaking change is not allowed with a reason, or not described
 * in the changelog. Reads the bundle that `pnpm generate` creates.
 */
import { readFile } from 'node:fs/promises';
import { releasesOf } from './breaking/changelog.ts';
import { compare } from './breaking/compare.ts';
import { allowedBreaks, allowedIn, changelogFile, presentContract, releasedContract } from './breaking/files.ts';
import { complaints } from './breaking/gate.ts';
import { usersOf, wordsFor } from './breaking/users.ts';

const { version, contract: released } = await releasedContract();
const present = await presentContract();
const comparison = await compare(released, present);
const allowed = allowedIn(await readFile(allowedBreaks, 'utf8'));
const found = complaints({
  comparison,
  allowed,
  releases: releasesOf(await readFile(changelogFile, 'utf8')),
  releasedVersion: version,
  // A new requirement, such as a required parameter, is not in the released contract.
  usersOf: (at) => eitherOf(usersOf(released, at), usersOf(present, at)),
  wordsFor: (at) => [...new Set([...wordsFor(released, at), ...wordsFor(present, at)])],
});

if (found.length === 0) {
  const meant =
    allowed.length === 0 ? 'Nothing breaks' : `${allowed.length} breaks are declared, and nothing else breaks`;
  console.log(`${meant} the contract released as ${version}.`);
} else {
  console.error(found.join('\n\n'));
  process.exitCode = 1;
}

function eitherOf<Item>(one: readonly Item[], other: readonly Item[]): readonly Item[] {
  return one.length > 0 ? one : other;
}
