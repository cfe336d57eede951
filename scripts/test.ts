/**
 * Runs all checks, and beside them the tests of all packages. Ends with what failed, and a line that counts them.
 * Arguments are passed to vitest: `pnpm test packages/client`.
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { run } from './test/run.ts';

interface Check {
  readonly name: string;
  readonly command: readonly string[];
}

const checks: readonly Check[] = [
  { name: 'generated files are up to date', command: ['node', 'scripts/generate.ts', '--check'] },
  { name: 'the contract follows its lint rules', command: ['redocly', 'lint', '--format=stylish'] },
  { name: 'breaking changes are declared', command: ['node', 'scripts/breaking.ts'] },
  { name: 'the types are correct', command: ['node', 'scripts/typecheck.ts'] },
  { name: 'format and code rules', command: ['biome', 'ci', '--colors=off', '.'] },
  { name: 'nothing is unused', command: ['knip', '--no-config-hints'] },
  { name: 'the nightly run finds its files', command: ['node', 'scripts/test/nightly.ts', '--check'] },
  { name: 'the rules to break have their texts', command: ['node', 'scripts/test/broken-rules.ts', '--check'] },
  { name: 'migrations leave the version before at work', command: ['node', 'scripts/migrations.ts'] },
  { name: 'layers import only from those below them', command: ['node', 'scripts/dependencies.ts'] },
];

// The many processes that are started here share compiled code.
process.env.NODE_COMPILE_CACHE ??= join(process.cwd(), 'node_modules/.cache/node');

let passed = 0;
let failed = 0;
const only = process.argv.slice(2);
const failures: string[] = [];

// Beside the tests, because each of them, and the preparation of the tests, uses one core.
const [tests] = await Promise.all([runTests(only), only.length === 0 ? runChecks() : undefined]);
passed += tests.passed;
failed += tests.failed;
// A file that cannot be loaded, or an error outside of any test, fails no test; and vitest may succeed without any.
if (!tests.isProven && tests.failed === 0) failed += 1;

for (const failure of failures) console.log(failure);
// Tests that this machine cannot run are listed.
for (const { file, name } of tests.skipped) console.log(`NOT RUN: ${file}: ${name}`);

console.log(`\n${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;

async function runChecks(): Promise<void> {
  for (const check of checks) await runCheck(check);
}

async function runCheck({ name, command }: Check): Promise<void> {
  const started = performance.now();
  const { code, output } = await run(command);
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  console.log(`${code === 0 ? '✓' : '✗'} ${name} (${seconds} s)`);
  if (code === 0) passed += 1;
  else {
    failed += 1;
    failures.push(`✗ ${name}\n${output}\n  This was: pnpm exec ${command.join(' ')}`);
  }
}

/** Runs vitest with these arguments, and shows its output. */
async function runTests(words: readonly string[]) {
  const folder = await mkdtemp(join(tmpdir(), 'financial-automation-results-'));
  const resultsFile = join(folder, 'results.json');
  const reporters = ['./scripts/test/slowest-files.ts', 'default', 'json'].map((name) => `--reporter=${name}`);
  const command = ['vitest', 'run', ...words, ...reporters, `--outputFile=${resultsFile}`];
  const { code } = await run(command, { isShown: true });
  const results = JSON.parse(await readFile(resultsFile, 'utf8').catch(() => '{}'));
  await rm(folder, { recursive: true });
  const skipped: { file: string; name: string }[] = [];
  for (const { name: path, assertionResults } of results.testResults ?? []) {
    const file = relative(process.cwd(), path);
    for (const { status, fullName: name } of assertionResults)
      if (status === 'skipped' || status === 'pending') skipped.push({ file, name });
  }
  return {
    isProven: code === 0 && results.success === true && results.numTotalTests > 0,
    passed: Number(results.numPassedTests ?? 0),
    failed: Number(results.numFailedTests ?? 0),
    skipped,
  };
}
