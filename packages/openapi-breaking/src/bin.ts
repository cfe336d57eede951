#!/usr/bin/env node
/** `openapi-breaking before.yaml after.yaml`: prints what breaks, and says it by its exit status. */
import { readFile } from 'node:fs/promises';
import { program } from 'commander';
import { compare, identity } from './compare.ts';
import type { Break } from './document.ts';
import { loadDocument, NotComparable } from './load.ts';

/** Nothing breaks; something breaks; it could not be judged, so that a build does not pass by mistake. */
const exitCodes = { nothing: 0, breaks: 1, unjudged: 2 } as const;

interface Options {
  readonly format: 'text' | 'json';
  readonly baseline?: string;
}

program
  .name('openapi-breaking')
  .description('Finds the changes between two OpenAPI documents that break callers.')
  .argument('<before>', 'the document that callers use: a path or a URL')
  .argument('<after>', 'the document that replaces it')
  .option('--format <format>', 'text or json', 'text')
  .option('--baseline <file>', 'a JSON file of breaks that are accepted, as --format json prints them')
  .addHelpText('after', '\nExit statuses: 0 nothing breaks, 1 something breaks, 2 the documents cannot be compared.')
  .exitOverride((error) => process.exit(error.exitCode === 0 ? 0 : exitCodes.unjudged))
  .action(run);

await program.parseAsync();

async function run(before: string, after: string, { format, baseline }: Options): Promise<void> {
  try {
    const [released, present, accepted] = await Promise.all([
      loadDocument(before),
      loadDocument(after),
      acceptedIn(baseline),
    ]);
    const { breaks } = await compare(released, present);
    const remaining = breaks.filter((found) => !accepted.has(identity(found)));
    console.log(format === 'json' ? JSON.stringify(breaks, null, 2) : textOf(remaining, breaks.length));
    process.exitCode = remaining.length === 0 ? exitCodes.nothing : exitCodes.breaks;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    console.error(
      error instanceof NotComparable
        ? reason
        : `The documents could not be compared, which is a fault of this program: ${reason}`,
    );
    process.exitCode = exitCodes.unjudged;
  }
}

async function acceptedIn(file: string | undefined): Promise<ReadonlySet<string>> {
  if (file === undefined) return new Set();
  try {
    const breaks: Break[] = JSON.parse(await readFile(file, 'utf8'));
    return new Set(breaks.map(identity));
  } catch (error) {
    throw new NotComparable(`${file} is not a list of breaks: ${error instanceof Error ? error.message : error}`);
  }
}

function textOf(breaks: readonly Break[], total: number): string {
  const accepted =
    total > breaks.length ? ` ${total - breaks.length} ${total - breaks.length === 1 ? 'is' : 'are'} accepted.` : '';
  if (breaks.length === 0) return `Nothing breaks.${accepted}`;
  const list = breaks.map(({ rule, at, says }) => `${rule}: ${says}\n  at ${at}`);
  return [
    ...list,
    `${breaks.length} ${breaks.length === 1 ? 'change breaks' : 'changes break'} callers.${accepted}`,
  ].join('\n\n');
}
