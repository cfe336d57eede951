/** Detects whether a page is up to date with its sources, by a mark at its end. */
import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';
import { hashFiles } from '../../packages/server/scripts/hash-files.ts';

const markLength = '<!--  -->'.length + 64;

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
  const page = await open(file).catch(() => undefined);
  if (page === undefined) return false;
  try {
    const { size } = await page.stat();
    const { buffer, bytesRead } = await page.read(
      Buffer.alloc(markLength),
      0,
      markLength,
      Math.max(0, size - markLength),
    );
    return buffer.toString('utf8', 0, bytesRead) === mark;
  } finally {
    await page.close();
  }
}
