/**
 * Changes rules of the books one after the other, each in a copy of the sources: `pnpm exec node scripts/test/broken-rules.ts [words of names]`.
 *
 * - A rule that is broken must be noticed by a test: prints which one.
 * - A rule that is changed in its home, in `modules/billing/rules`, must be followed: by `books check`, the reads, the ledger, the model
 *   of the tests and the demo data. If the database alone has the changed rule, a test must notice it.
 *
 * Fails otherwise, or if a text to replace does not occur once. `--list` only lists the rules, `--check` only looks for the texts, which
 * `pnpm test` does.
 */
import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { readOptions } from '../options.ts';
import { type ChangedRule, changedRules } from './broken-rules/homes.ts';
import { type BrokenRule, brokenRules } from './broken-rules/rules.ts';
import { run } from './run.ts';

const homes = 'packages/server/src/modules/billing/rules';
const migration = 'packages/server/src/platform/store/migrations/9999_changed_rule.sql';
/** They pin no figure, but compare what the API returns and `books check` recalculates with the model. */
const figures = [
  `${homes}/balances.test.ts`,
  'packages/server/src/modules/billing/books.property.test.ts',
  '-t',
  'simple model|of the rule|the rules write',
];
const demoData = ['packages/demo-data/src/profiles/load-profile.nightly.test.ts', '-t', 'looks like one on 2026-04-16'];
const root = join(import.meta.dirname, '../..');
const { values, positionals: words } = readOptions({
  options: { list: { type: 'boolean' }, check: { type: 'boolean' } },
  allowPositionals: true,
});
const isChosen = ({ name }: { readonly name: string }) => words.every((word) => name.includes(word));
const broken = brokenRules.filter(isChosen);
const changed = changedRules.filter(isChosen);

if (broken.length + changed.length === 0) {
  console.error(`No rule has these words in its name: ${words.join(' ')}. --list shows all.`);
  process.exit(2);
}
if (values.list) {
  for (const { name, file } of [...changed, ...broken]) console.log(`${name}\n  ${file}`);
  process.exit(0);
}
for (const rule of [...changed, ...broken]) changedText(rule);
if (values.check) process.exit(0);

const copy = copySources();
let failures = 0;
const report = (name: string, isRight: boolean, result: string) => {
  console.log(`${isRight ? '✓' : '✗'} ${name}: ${result}`);
  if (!isRight) failures += 1;
};
try {
  for (const rule of changed) {
    const failed = await follows(rule);
    report(rule.name, failed === undefined, failed ?? 'every figure follows');
    if (!rule.isInDatabase) continue;
    const noticed = await firstFailure([`${homes}/balances.test.ts`]);
    rmSync(join(copy, migration));
    report(`${rule.name}, in the database alone`, noticed !== undefined, noticed ?? 'no test notices it');
  }
  for (const rule of broken) {
    const noticed = await notices(rule);
    report(rule.name, noticed !== undefined, noticed ?? 'no test notices it');
  }
} finally {
  rmSync(copy, { recursive: true, force: true });
}
console.log(failures === 0 ? '\nAll passed' : `\n${failures} failed`);
process.exitCode = failures === 0 ? 0 : 1;

/** The text of the file with the rule changed. @throws Error if a text to replace does not occur once */
function changedText({ name, file, changes }: Pick<BrokenRule, 'name' | 'file' | 'changes'>): string {
  let text = readFileSync(join(root, file), 'utf8');
  for (const { from, to } of changes) {
    const parts = text.split(from);
    if (parts.length !== 2)
      throw new Error(`"${name}" cannot be changed: ${file} has ${parts.length - 1} times the text\n${from}`);
    text = parts.join(to);
  }
  return text;
}

/** The first test that fails with the rule broken. */
async function notices(rule: BrokenRule): Promise<string | undefined> {
  const { file, test } = rule;
  writeFileSync(join(copy, file), changedText(rule));
  const noticed = await firstFailure(test);
  copyFileSync(join(root, file), join(copy, file));
  return noticed;
}

/**
 * The first test of figures that fails with the rule changed in its home, for which the database has the functions of the changed rule.
 * The database keeps them.
 */
async function follows(rule: ChangedRule): Promise<string | undefined> {
  const { file, isInDatabase } = rule;
  writeFileSync(join(copy, file), changedText(rule));
  if (isInDatabase) {
    const { code, output } = await run(['node', 'packages/server/scripts/rule-functions.ts'], { directory: copy });
    if (code !== 0) throw new Error(output);
    writeFileSync(join(copy, migration), output);
  }
  const failed = (await firstFailure(figures)) ?? (await firstFailure(demoData, { NIGHTLY: 'yes' }));
  copyFileSync(join(root, file), join(copy, file));
  return failed;
}

/** The first test that fails. */
async function firstFailure(
  test: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<string | undefined> {
  const results = join(copy, 'results.json');
  rmSync(results, { force: true });
  const words = ['--reporter=json', `--outputFile=${results}`, '--project', 'postgres', ...test];
  const { output } = await run(['vitest', 'run', ...words], {
    directory: copy,
    environment: { BOOKS_RUNS: '12', ...environment },
  });
  if (!existsSync(results)) throw new Error(`No test ran:\n${output}`);
  const { numTotalTests, testResults }: Results = JSON.parse(readFileSync(results, 'utf8'));
  if (numTotalTests === 0) throw new Error(`No test ran:\n${output}`);
  const failed = testResults.flatMap((of) => of.assertionResults).find(({ status }) => status === 'failed');
  // A property has a long example first, and what it failed with last.
  const [message = ''] = failed?.failureMessages ?? [];
  const shown = message.length > 2_000 ? `${message.slice(0, 500)} … ${message.slice(-1_500)}` : message;
  return failed === undefined ? undefined : `${failed.fullName}\n    ${shown}`;
}

/** What vitest reports. */
interface Results {
  readonly numTotalTests: number;
  readonly testResults: readonly {
    readonly assertionResults: readonly {
      readonly status: string;
      readonly fullName: string;
      readonly failureMessages: readonly string[];
    }[];
  }[];
}

/** Copies the files that git knows; dependencies are linked. */
function copySources(): string {
  const target = mkdtempSync(join(tmpdir(), 'financial-automation-broken-rules-'));
  const list = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: root });
  const files = list
    .toString()
    .split('\0')
    .filter((file) => file !== '' && existsSync(join(root, file)));
  for (const file of files) {
    mkdirSync(join(target, dirname(file)), { recursive: true });
    copyFileSync(join(root, file), join(target, file));
  }
  const packages = new Set(files.flatMap((file) => /^packages\/[^/]+/.exec(file)?.[0] ?? []));
  for (const folder of ['.', ...packages]) {
    const modules = join(root, folder, 'node_modules');
    if (existsSync(modules)) linkModules(modules, join(target, folder, 'node_modules'));
  }
  return target;
}

/** Links dependencies. Links to packages of this repository are relative, and so lead to their copies. */
function linkModules(from: string, to: string): void {
  mkdirSync(to);
  for (const name of readdirSync(from)) {
    const [source, link] = [join(from, name), join(to, name)];
    if (name !== '@financial-automation') symlinkSync(source, link);
    else {
      mkdirSync(link);
      for (const own of readdirSync(source)) symlinkSync(readlinkSync(join(source, own)), join(link, own));
    }
  }
}
