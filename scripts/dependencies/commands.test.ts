/** Commands reject what they do not take, in a sentence. */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
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
  [['packages/bench/overhead.ts', '--only', 'nothing'], /^Nothing is named like nothing\. There are: read by id; /],
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

it('every command installs what it requires, and then runs on the Node that was installed', () => {
  const others = Object.entries(scripts).filter(
    ([name, text]) =>
      name !== 'pnpm:devPreinstall' &&
      !/^node scripts\/install\.mjs( serving| commands)? && (?!node )(?!.*&& node )/.test(text),
  );
  expect(others).toEqual([]);
});

it.each([
  'npm/11.19.1 node/v20.20.2',
  'yarn/1.22.22 npm/? node/v20.20.2',
  'pnpm/9.15.9 npm/? node/v20.20.2',
  undefined,
])('install.mjs says what to type instead of %s, and installs nothing', (agent) => {
  const environment = { ...process.env, npm_config_user_agent: agent, npm_lifecycle_event: 'start' };
  const { status, stderr } = spawnSync(process.execPath, ['scripts/install.mjs'], {
    cwd: root,
    encoding: 'utf8',
    env: { ...environment, npm_execpath: join(root, 'no-such-program') },
  });
  expect(stderr).toMatch(/Type: npx --yes pnpm@12 start\n$/);
  expect([status, stderr.trim().split('\n').length]).toEqual([1, 1]);
});

it('npm install ends with the command to type, before it reads any dependency', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'reflex-'));
  try {
    await copyFile(join(root, 'package.json'), join(folder, 'package.json'));
    // Offline, so that whatever is read before is another error.
    const { status, stderr } = spawnSync('npm', ['install', '--offline', '--cache', join(folder, 'cache')], {
      cwd: folder,
      encoding: 'utf8',
    });
    expect(status).toBe(1);
    expect(stderr).toContain('catalog:use-npx--yes-pnpm@12-start');
    expect(existsSync(join(folder, 'node_modules'))).toBe(false);
  } finally {
    await rm(folder, { recursive: true });
  }
});

it('start.ts rejects a data directory whose path is too long for a socket', () => {
  const env = { ...process.env, DATA_DIR: `/tmp/${'x'.repeat(100)}`, DATABASE_URL: undefined };
  const { status, stderr } = spawnSync(process.execPath, ['scripts/start.ts'], { cwd: root, encoding: 'utf8', env });
  expect([status, stderr]).toEqual([1, expect.stringMatching(/too long for a socket.*Set DATA_DIR to a shorter path/)]);
});
