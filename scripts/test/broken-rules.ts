/**
 * Breaks rules of the books one after the other, each in a copy of the sources, and runs the tests that must notice it:
 * `node scripts/test/broken-rules.ts [words of names]`. Prints which test does; fails if none does, or if a text to replace no longer
 * occurs once. `--list` only lists the rules, `--check` only looks for the texts, which `pnpm test` does.
 */
import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { readOptions } from '../options.ts';
import { type BrokenRule, brokenRules } from './broken-rules/rules.ts';
import { run } from './run.ts';

const root = join(import.meta.dirname, '../..');
const { values, positionals: words } = readOptions({
  options: { list: { type: 'boolean' }, check: { type: 'boolean' } },
  allowPositionals: true,
});
const chosen = brokenRules.filter(({ name }) => words.every((word) => name.includes(word)));

if (chosen.length === 0) {
  console.error(`No rule has these words in its name: ${words.join(' ')}. --list shows all.`);
  process.exit(2);
}
if (values.list) {
  for (const { name, file, test } of chosen) console.log(`${name}\n  ${file}\n  ${test.join(' ')}`);
  process.exit(0);
}
for (const rule of chosen) broken(rule);
if (values.check) process.exit(0);

const copy = copySources();
const unnoticed: string[] = [];
try {
  for (const rule of chosen) {
    const noticed = await notices(rule);
    console.log(noticed === undefined ? `✗ ${rule.name}: no test notices it` : `✓ ${rule.name}: ${noticed}`);
    if (noticed === undefined) unnoticed.push(rule.name);
  }
} finally {
  rmSync(copy, { recursive: true, force: true });
}
console.log(`\n${chosen.length - unnoticed.length} noticed, ${unnoticed.length} not`);
process.exitCode = unnoticed.length === 0 && chosen.length > 0 ? 0 : 1;

/** The text of the file with the rule broken. @throws Error if a text to replace does not occur once */
function broken({ name, file, changes }: BrokenRule): string {
  let text = readFileSync(join(root, file), 'utf8');
  for (const { from, to } of changes) {
    const parts = text.split(from);
    if (parts.length !== 2)
      throw new Error(`"${name}" cannot be broken: ${file} has ${parts.length - 1} times the text\n${from}`);
    text = parts.join(to);
  }
  return text;
}

/** The first test that fails with the rule broken. */
async function notices(rule: BrokenRule): Promise<string | undefined> {
  const { file, test } = rule;
  const target = join(copy, file);
  writeFileSync(target, broken(rule));
  const results = join(copy, 'results.json');
  rmSync(results, { force: true });
  const words = ['--reporter=json', `--outputFile=${results}`, '--project', 'postgres', ...test];
  const { output } = await run(['vitest', 'run', ...words], { directory: copy, environment: { BOOKS_RUNS: '12' } });
  copyFileSync(join(root, file), target);
  if (!existsSync(results)) throw new Error(`No test ran:\n${output}`);
  const { numTotalTests, testResults }: Results = JSON.parse(readFileSync(results, 'utf8'));
  if (numTotalTests === 0) throw new Error(`No test ran:\n${output}`);
  return testResults.flatMap((of) => of.assertionResults).find(({ status }) => status === 'failed')?.fullName;
}

/** What vitest reports. */
interface Results {
  readonly numTotalTests: number;
  readonly testResults: readonly {
    readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[];
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
    if (existsSync(modules)) symlinkSync(modules, join(target, folder, 'node_modules'));
  }
  return target;
}
