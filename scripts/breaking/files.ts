/** The files that the gate reads, and that a release writes. */
import { readdir, readFile } from 'node:fs/promises';
import { parse } from 'yaml';
import type { Bundle } from '../../packages/openapi-breaking/src/index.ts';
import { type Allowed, allowedFile } from './gate.ts';

const root = new URL('../../', import.meta.url);
export const releasedFolder = new URL('openapi/released/', root);
export const changelogFile = new URL('CHANGELOG.md', root);
export const allowedBreaks = new URL(allowedFile, root);

/** The current bundle, which "pnpm generate" creates. */
export const presentFile = new URL('packages/spec/generated/openapi.yaml', root);

export async function presentContract(): Promise<Bundle> {
  return JSON.parse(await readFile(new URL('packages/spec/generated/openapi.json', root), 'utf8'));
}

/** The last released contract; the name of its file is its version. */
export async function releasedContract(): Promise<{ version: string; contract: Bundle }> {
  const files = (await readdir(releasedFolder)).filter((name) => /^v[\d.]+\.yaml$/.test(name));
  const [file] = files;
  if (file === undefined || files.length > 1) {
    throw new Error(
      `openapi/released must contain one contract, named by its version: ${files.join(', ') || 'none found'}.`,
    );
  }
  const contract: Bundle = parse(await readFile(new URL(file, releasedFolder), 'utf8'));
  return { version: file.replace('.yaml', ''), contract };
}

/** Parses the file of allowed breaks. Throws if it has another format. */
export function allowedIn(text: string): Allowed[] {
  const entries: unknown = parse(text) ?? [];
  if (!Array.isArray(entries)) throw new Error(`${allowedFile} must be a list.`);
  return entries.map((entry, index) => {
    const field = (name: string): string => {
      const value: unknown = Object(entry)[name];
      if (typeof value !== 'string')
        throw new Error(`${allowedFile}: entry ${index + 1} requires a text as \`${name}\`.`);
      return value;
    };
    return {
      rule: field('rule'),
      at: field('at'),
      says: field('says'),
      reason: field('reason'),
      changelog: field('changelog'),
    };
  });
}

/** Keeps the YAML comments at the start; the content of the file of allowed breaks after a release. */
export function withoutEntries(text: string): string {
  const comments = text.split('\n').filter((line) => line.startsWith('#'));
  return `${[...comments, '[]'].join('\n')}\n`;
}
