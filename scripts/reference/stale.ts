/** Detects whether a page is up to date with its sources, by a mark at its end. */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { hashFiles } from '../../packages/server/scripts/hash-files.ts';

/** A hash of all inputs of the page: the contract, the scripts here and the examples, Redocly and Graphviz. */
export async function markOf(root: string, contract: string): Promise<string> {
  const sources = [
    'scripts/reference.ts',
    'scripts/reference/**/*.{ts,hbs}',
    'openapi/{guides,workflows,released}/*',
    'CHANGELOG.md',
    'openapi/rules/described.ts',
    'packages/spec/src/*',
    'node_modules/@redocly/cli/package.json',
    'node_modules/@hpcc-js/wasm-graphviz/package.json',
    'node_modules/minisearch/package.json',
    'node_modules/marked/package.json',
  ];
  const hash = createHash('sha256')
    .update(contract)
    .update(await hashFiles(root, sources));
  return `<!-- ${hash.digest('hex')} -->`;
}

/** Whether a page with that mark exists. */
export async function hasMark(file: string, mark: string): Promise<boolean> {
  return (await readFile(file, 'utf8').catch(() => '')).endsWith(mark);
}
