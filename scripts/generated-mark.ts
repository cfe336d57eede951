import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { hashFiles } from '../packages/server/scripts/hash-files.ts';

const root = fileURLToPath(new URL('..', import.meta.url));

/** The mark of the last generation. It is committed, so that a fresh clone generates nothing anew. */
export const markFile = join(root, 'packages/spec/generated/sources.sha256');

/** @returns the mark of everything that determines the generated files, and of the files themselves */
export function generatedMark(): Promise<string> {
  const sources = ['openapi/**/*.{yaml,ts}', 'redocly.yaml', 'CHANGELOG.md', 'pnpm-lock.yaml'];
  const own = ['scripts/{generate,operation-index}.ts', 'scripts/breaking/changelog.ts', 'packages/spec/generated/*.*'];
  return hashFiles(root, [...sources, ...own], (file) => !file.endsWith('.sha256') && !file.endsWith('.test.ts'));
}
