/** The documents for developers and operators name commands and files that exist. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const tracked = execFileSync('git', ['ls-files'], { cwd: root, encoding: 'utf8' }).trim().split('\n');
const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: object };
const program = tracked
  .filter((path) => /^packages\/server\/src\/main\/(?:program|commands\/[a-z-]+)\.ts$/.test(path))
  .map((path) => readFileSync(join(root, path), 'utf8'))
  .join('\n');
const operatorCommands = new Set([...program.matchAll(/\.command\('([a-z-]+)'/g)].map(([, name]) => name));
// Guides are pages of the reference, which has its own check of links, and the changelog names what was.
const documents = tracked.filter((path) => path.endsWith('.md') && !/^openapi\/guides\/|^CHANGELOG/.test(path));

describe.each(documents)('%s', (path) => {
  const text = readFileSync(join(root, path), 'utf8');

  it('links to files that exist', () => {
    const links = [...text.matchAll(/\]\(([^)#:\s]+)(?:#[^)]*)?\)/g)].map(([, link = '']) => link);
    expect(links.filter((link) => !existsSync(join(root, dirname(path), link)))).toEqual([]);
  });

  it('names sources that exist', () => {
    const sources = [...text.matchAll(/`(?:\.\.\/)*([\w./-]+\.(?:ts|sql))`/g)].map(([, name = '']) => name);
    expect(sources.filter((name) => !tracked.some((one) => `/${one}`.endsWith(`/${name}`)))).toEqual([]);
  });

  it('names the homes of rules', () => {
    const rows = [...text.matchAll(/^\| [^|]+ \| `([\w/-]+\.(?:ts|sql))` \| `(\w+)` \|$/gm)];
    const lost = rows.filter(([, file = '', name]) => {
      const source = readFileSync(join(root, 'packages/server/src', file), 'utf8');
      return !new RegExp(`^((export )?(async )?(function|const|class|type)|create function) ${name}\\b`, 'm').test(
        source,
      );
    });
    expect(lost.map(([row]) => row)).toEqual([]);
    expect(rows.length > 40, path).toBe(path === 'CONTRIBUTING.md');
  });

  it('names commands that exist', () => {
    const commands = [...text.matchAll(/\bpnpm(?:@12)? ([a-z][a-z:-]*)/g)].map(([, name = '']) => name);
    expect(commands.filter((name) => name !== 'exec' && !(name in scripts))).toEqual([]);
    // Only the Node that pnpm brings runs TypeScript.
    const programs = [...text.matchAll(/(exec )?node [\w./-]+\.ts\b/g)];
    expect(programs.filter(([, brought]) => brought === undefined).map(([call]) => call)).toEqual([]);
    const words = [...text.matchAll(/(?:`|^|\bpnpm(?:@12)? )operator ((?:[a-z][a-z-]* ?){1,2})/gm)].map(
      ([, all = '']) => all,
    );
    expect(
      words.flatMap((all) => all.trim().split(' ').slice(0, 1)).filter((word) => !operatorCommands.has(word)),
    ).toEqual([]);
  });
});
