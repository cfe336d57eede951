import { readdir, realpath, stat } from 'node:fs/promises';
import { join, relative, resolve, sep } from 'node:path';
import { reasonOf } from '../platform/store/errors.ts';
import { counted } from './counted.ts';
import type { ImportedFiles, ImportResult } from './import-files.ts';

export interface ImportOptions {
  readonly tenant: string;
  readonly client?: string;
  readonly source: string;
}

/** Number of files that one command imports: small enough to show progress, and large enough to justify a transaction. */
const chunkSize = 25;

/**
 * Imports a folder, some files at a time.
 *
 * @param importFiles imports files of the folder.
 * @param show shows progress.
 * @returns the result, in a sentence.
 * @throws Error with a sentence if the folder cannot be read, or the import stopped.
 */
export async function importFolder(
  folder: string,
  { tenant, client, source }: ImportOptions,
  importFiles: (input: ImportedFiles) => Promise<ImportResult>,
  show: (text: string) => void,
): Promise<string> {
  const root = await folderAt(folder);
  const paths = await filesIn(root);
  if (paths.length === 0) return `No files found in ${root}.`;
  const total = { imported: 0, skipped: 0 };
  const rejected: ImportResult['rejected'][number][] = [];
  let done = 0;
  for (let first = 0; first < paths.length; first += chunkSize) {
    const chunk = paths.slice(first, first + chunkSize);
    try {
      const result = await importFiles({ tenant, client: client ?? null, source, root, paths: chunk });
      total.imported += result.imported;
      total.skipped += result.skipped;
      rejected.push(...result.rejected);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new Error(
        done === 0
          ? reason
          : `The import stopped after ${counted(done, 'file')} of ${paths.length}: ${reason} Run the command again to continue.`,
        { cause: error },
      );
    }
    done += chunk.length;
    show(`\r${done} of ${paths.length} files`);
  }
  show('\n');
  const already = total.skipped === 0 ? '' : `, ${total.skipped} already imported`;
  const failed = rejected.length === 0 ? '' : `, ${rejected.length} rejected`;
  const list = rejected.map(({ path, reason }) => `\n  ${path}: ${reason}`).join('');
  return `${counted(total.imported, 'file')} imported${already}${failed}.${list}`;
}

async function folderAt(folder: string): Promise<string> {
  try {
    const path = await realpath(resolve(folder));
    if ((await stat(path)).isDirectory()) return path;
  } catch (error) {
    throw new Error(`The folder ${folder} cannot be read: ${reasonOf(error)}.`);
  }
  throw new Error(`${folder} is a file. Specify its folder.`);
}

/**
 * Paths of the files in a folder, relative to it, without hidden files and symbolic links, which could point anywhere.
 */
async function filesIn(root: string): Promise<string[]> {
  const found: string[] = [];
  const visit = async (folder: string): Promise<void> => {
    const entries = await readdir(folder, { withFileTypes: true }).catch((error: unknown) => {
      throw new Error(`The folder ${folder} cannot be read: ${reasonOf(error)}.`);
    });
    for (const entry of entries.toSorted((one, other) => (one.name < other.name ? -1 : 1))) {
      if (entry.name.startsWith('.')) continue;
      const path = join(folder, entry.name);
      if (entry.isDirectory()) await visit(path);
      else if (entry.isFile()) found.push(relative(root, path).split(sep).join('/'));
    }
  };
  await visit(root);
  return found;
}
