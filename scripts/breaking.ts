/**
 * `pnpm breaking` compares the contract with the released one, and fails if a breaking change is not allowed with a reason,
 * or not described in the changelog. Reads the bundle that `pnpm generate` creates.
 *
 * `pnpm breaking before.yaml after.yaml` compares any two OpenAPI documents, and fails if something breaks.
 */
import { readFile } from 'node:fs/promises';
import { parse } from 'yaml';
import { releasesOf } from './breaking/changelog.ts';
import { compare } from './breaking/compare.ts';
import { allowedBreaks, allowedIn, changelogFile, presentContract, releasedContract } from './breaking/files.ts';
import { complaints } from './breaking/gate.ts';
import { usersOf, wordsFor } from './breaking/users.ts';
import { readOptions } from './options.ts';

const [before, after] = readOptions({ allowPositionals: true }).positionals;
const printed = before === undefined ? await gate() : await breaksBetween(before, after ?? '');
if (printed.problems.length === 0) {
  console.log(printed.success);
} else {
  console.error(printed.problems.join('\n\n'));
  process.exitCode = 1;
}

interface Printed {
  readonly problems: readonly string[];
  readonly success: string;
}

async function gate(): Promise<Printed> {
  const { version, contract: released } = await releasedContract();
  const present = await presentContract();
  const allowed = allowedIn(await readFile(allowedBreaks, 'utf8'));
  const problems = complaints({
    comparison: await compare(released, present),
    allowed,
    releases: releasesOf(await readFile(changelogFile, 'utf8')),
    releasedVersion: version,
    // A new requirement, such as a required parameter, is not in the released contract.
    usersOf: (at) => eitherOf(usersOf(released, at), usersOf(present, at)),
    wordsFor: (at) => [...new Set([...wordsFor(released, at), ...wordsFor(present, at)])],
  });
  const meant =
    allowed.length === 0 ? 'Nothing breaks' : `${allowed.length} breaks are declared, and nothing else breaks`;
  return { problems, success: `${meant} the contract released as ${version}.` };
}

async function breaksBetween(before: string, after: string): Promise<Printed> {
  const [one, other] = await Promise.all([documentIn(before), documentIn(after)]);
  const { breaks } = await compare(one, other);
  return { problems: breaks.map(({ rule, at, says }) => `${rule}: ${says}\n  at ${at}`), success: 'Nothing breaks.' };
}

async function documentIn(file: string): Promise<Parameters<typeof compare>[0]> {
  try {
    return parse(await readFile(file, 'utf8'));
  } catch (error) {
    console.error(`${file === '' ? 'The second document' : file} cannot be read: ${(error as Error).message}`);
    process.exit(2);
  }
}

function eitherOf<Item>(one: readonly Item[], other: readonly Item[]): readonly Item[] {
  return one.length > 0 ? one : other;
}
