/** The glossary of the service holds: a word has one meaning, and an exported type a name of its own. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const sources = globSync('packages/server/src/**/*.ts', { cwd: root })
  .filter((path) => !path.endsWith('.test.ts'))
  .map((path) => ({ path, code: codeOf(read(path)) }));
const rows = read('packages/server/docs/glossary.md')
  .split('\n')
  .filter((line) => line.startsWith('| ') && !line.startsWith('| Word'))
  .map((line) => line.split('|').map((cell) => cell.trim()))
  .map(([, word = '', meaning = '', instead = '']) => ({ word, meaning: quoted(meaning), instead: quoted(instead) }));

function quoted(text: string): string[] {
  return [...text.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name);
}

/** Removes comments, and texts without those that contain others. */
function codeOf(text: string): string {
  return text
    .replace(/\/\*.*?\*\//gs, '')
    .replace(/\/\/.*$/gm, '')
    .replace(/'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`/gs, '""');
}

test('each word has one row', () => {
  const words = rows.map(({ word }) => word);
  expect(words.length).toBeGreaterThan(20);
  expect(words).toEqual([...new Set(words)]);
});

test('the types that the glossary names exist', () => {
  const all = sources.map(({ code }) => code).join('\n');
  const names = rows.flatMap(({ meaning }) => meaning).filter((name) => /^[A-Za-z]+$/.test(name) && name !== 'in');
  expect(names.filter((name) => !new RegExp(`\\b${name}\\b`).test(all))).toEqual([]);
});

test('no name is a word that has another one', () => {
  // Bounds begin with theirs, and have a rule of Biome: scripts/lint/bound-names.grit.
  const words = rows.filter(({ word }) => !word.startsWith('max')).flatMap(({ instead }) => instead);
  const pattern = new RegExp(`\\b(?:${words.join('|')})(?:Of|s)?\\b`, 'gi');
  const used = sources.flatMap(({ path, code }) => (code.match(pattern) ?? []).map((name) => `${path}: ${name}`));
  // Amounts have decimal places.
  expect(used.filter((found) => !/: places(?:Of)?$/.test(found))).toEqual([]);
});

test('an exported type has a name of its own', () => {
  const files = new Map<string, string[]>();
  for (const { path, code } of sources)
    for (const [, name = ''] of code.matchAll(/^export (?:abstract )?(?:class|interface|type) (\w+)/gm))
      files.set(name, [...(files.get(name) ?? []), path]);
  expect([...files].filter(([, paths]) => paths.length > 1)).toEqual([]);
});
