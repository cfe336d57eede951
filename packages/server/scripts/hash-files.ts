import { createHash } from 'node:crypto';
import { glob, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** @returns the SHA-256 of the names and contents of all matching files, as hex */
export async function hashFiles(
  root: string,
  patterns: readonly string[],
  isIncluded = (_file: string): boolean => true,
): Promise<string> {
  const files: string[] = [];
  for await (const file of glob(patterns, { cwd: root })) if (isIncluded(file)) files.push(file);
  const hash = createHash('sha256');
  for (const file of files.sort()) hash.update(file).update(await readFile(join(root, file)));
  return hash.digest('hex');
}
