/**
 * A file that nothing refers to is not part of the contract, but people would read and correct it as if it were. Redocly looks
 * for unused components only; here they are files.
 */
import { readdirSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import type { Oas3Rule } from '@redocly/openapi-core';

/** The folders of the parts; workflows and rules are entries of their own. */
const folders = ['paths', 'schemas', 'parameters', 'headers', 'responses', 'examples', 'webhooks'];

export const unusedFiles: Oas3Rule = () => {
  const used = new Set<string>();
  return {
    ref(_node, _context, { location }) {
      if (location !== undefined) used.add(location.source.absoluteRef);
    },
    Root: {
      leave(_, { location, report }) {
        const root = dirname(location.source.absoluteRef);
        // The bundle has no references to files.
        if (used.size <= 1) return;
        for (const file of folders.flatMap((folder) => yamlFiles(join(root, folder)))) {
          if (!used.has(file)) {
            report({ message: `Refer to ${relative(root, file)}, or delete it: nothing refers to it.`, location });
          }
        }
      },
    },
  };
};

function yamlFiles(folder: string): string[] {
  try {
    return readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && entry.name.endsWith('.yaml'))
      .map((entry) => join(entry.parentPath, entry.name));
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return [];
    throw error;
  }
}
