/** Commands reject what they do not take, in a sentence. */
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  scripts: Readonly<Record<string, string>>;
};
/** Passes its arguments to vitest, or takes the name of an example, or reads them in a way of its own. */
const others = ['scripts/test.ts', 'packages/examples/run.ts', 'packages/contract-check/src/bin.ts'];
const files = [
  ...new Set(Object.values(scripts).flatMap((text) => text.match(/[\w./-]+\/[\w-]+\.ts\b/g) ?? [])),
].filter((file) => !others.includes(file));
const textOf = (file: string) => readFileSync(join(root, file), 'utf8');

it.each(files.filter((file) => !/bench\/main|dependencies|migrations/.test(file)))('%s reads its options', (file) => {
  expect(textOf(file)).toMatch(/readOptions\(/);
});

it('every program of the repository reads them in the same way', () => {
  const folders = ['scripts/*', 'packages/*/scripts/*', 'packages/bench/*'];
  const programs = execFileSync('git', ['ls-files', ...folders], { cwd: root, encoding: 'utf8' }).split('\n');
  expect(programs).toContain('packages/server/scripts/upgrade.ts');
  expect(programs.filter((file) => file.endsWith('.ts') && /\bparseArgs\(/.test(textOf(file)))).toEqual([
    'scripts/options.ts',
  ]);
});

it.each([
  [
    ['scripts/test/nightly.ts', '--lst'],
    "Unknown option '--lst'. The options are --shard VALUE, --shards, --list, --check.\n",
  ],
  [['scripts/start.ts', 'now'], /^Unexpected argument 'now'\. This command has no options\. Settings are .*PORT=4000/],
  [['scripts/test/nightly.ts', 'no such proof'], /^No proof has these words in its name: no such proof\./],
  [['scripts/breaking.ts', 'no.yaml', 'no.yaml'], /^no\.yaml cannot be read: .*no such file/],
  [['scripts/test/other-times.ts', '--from', 'noon'], /^--from must be a number\. The options are --from VALUE/],
])('%j says what is wrong', (words, sentence) => {
  const { status, stderr } = spawnSync(process.execPath, words, { cwd: root, encoding: 'utf8' });
  expect(stderr).toMatch(sentence);
  expect([status, stderr.trim().split('\n').length]).toEqual([2, 1]);
});

it('no path is taken from the path name of a URL, in which a space is %20', () => {
  const files = execFileSync('git', ['ls-files', '*.ts', '*.mjs'], { cwd: root, encoding: 'utf8' })
    .split('\n')
    .filter(Boolean);
  const taken = files.filter((file) => /(?:import\.meta\.url|root)\)?\)\.pathname|\broot\.pathname/.test(textOf(file)));
  expect(taken.filter((file) => !file.endsWith('commands.test.ts'))).toEqual([]);
});

it.each(['start.ts', 'test.ts'])('with-pnpm.mjs %s says what to type if npm runs it, or nothing', (file) => {
  for (const agent of ['npm/11.19.1 node/v20.20.2', undefined]) {
    const env = { ...process.env, npm_config_user_agent: agent };
    const { status, stderr } = spawnSync(process.execPath, ['scripts/with-pnpm.mjs', file], {
      cwd: root,
      encoding: 'utf8',
      env,
    });
    expect(stderr).toMatch(new RegExp(`Type: npx --yes pnpm@12 ${file.replace('.ts', '')}\n$`));
    expect([status, stderr.trim().split('\n').length]).toEqual([1, 1]);
  }
});

it('start.ts rejects a data directory whose path is too long for a socket', () => {
  const env = { ...process.env, DATA_DIR: `/tmp/${'x'.repeat(100)}`, DATABASE_URL: undefined };
  const { status, stderr } = spawnSync(process.execPath, ['scripts/start.ts'], { cwd: root, encoding: 'utf8', env });
  expect([status, stderr]).toEqual([1, expect.stringMatching(/too long for a socket.*Set DATA_DIR to a shorter path/)]);
});
