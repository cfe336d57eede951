/**
 * Runs all checks and all tests: one check after the other, then the tests of all packages. Ends with a line that counts
 * them. Arguments are passed to vitest: `pnpm test packages/client`.
 */
import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';

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
  { name: 'rooms import only from those below them', command: ['node', 'scripts/dependencies.ts'] },
];

// The many processes that are started here share compiled code.
process.env.NODE_COMPILE_CACHE ??= join(process.cwd(), 'node_modules/.cache/node');

/** More failed files than this are not caused by a slow machine. */
const mostFilesToRepeat = 3;

let passed = 0;
let failed = 0;
const only = process.argv.slice(2);

if (only.length === 0) {
  for (const { name, command } of checks) {
    const started = performance.now();
    const { code, output } = await run(command, false);
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    console.log(`${code === 0 ? '✓' : '✗'} ${name} (${seconds} s)`);
    if (code === 0) passed += 1;
    else {
      failed += 1;
      console.log(`${output}\n  This was: pnpm exec ${command.join(' ')}`);
    }
  }
}

const first = await runTests([...only, '--reporter=./scripts/test/slowest-files.ts']);
let isProven = first.isProven;
passed += first.passed;
let failedTests = first.failed.length;

// A shared machine can be too slow for one test among seven thousand. Failed files run once more, alone: tests that fail
// again have failed, and those that pass are listed.
const { failedFiles } = first;
if (failedFiles.length > 0 && failedFiles.length <= mostFilesToRepeat) {
  console.log(`\nRunning failed files alone: ${failedFiles.join(', ')}`);
  const second = await runTests([...failedFiles, '--maxWorkers=1']);
  for (const { file, name } of first.failed) {
    if (second.failed.some((other) => other.file === file && other.name === name)) continue;
    passed += 1;
    console.log(`UNSTABLE: failed among other tests, and passed alone: ${file}: ${name}`);
  }
  isProven = second.isProven;
  failedTests = second.failed.length;
}
failed += failedTests;
// A file that cannot be loaded, or an error outside of any test, fails no test; and vitest may succeed without any.
if (!isProven && failedTests === 0) failed += 1;

// Tests that this machine cannot run are listed.
for (const { file, name } of first.skipped) console.log(`NOT RUN: ${file}: ${name}`);

console.log(`\n${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;

/** Runs vitest with these arguments, and shows its output. */
async function runTests(words: readonly string[]) {
  const folder = await mkdtemp(join(tmpdir(), 'financial-automation-results-'));
  const resultsFile = join(folder, 'results.json');
  const command = ['vitest', 'run', ...words, '--reporter=default', '--reporter=json', `--outputFile=${resultsFile}`];
  const { code } = await run(command, true);
  const results = JSON.parse(await readFile(resultsFile, 'utf8').catch(() => '{}'));
  await rm(folder, { recursive: true });
  const tests: { file: string; name: string; status: string }[] = [];
  const failedFiles = new Set<string>();
  for (const { name: path, status: fileStatus, assertionResults } of results.testResults ?? []) {
    const file = relative(process.cwd(), path);
    if (fileStatus === 'failed') failedFiles.add(file);
    for (const { status, fullName } of assertionResults) tests.push({ file, name: fullName, status });
  }
  return {
    isProven: code === 0 && results.success === true && results.numTotalTests > 0,
    passed: Number(results.numPassedTests ?? 0),
    // Includes files that could not be loaded, without a failed test.
    failedFiles: [...failedFiles],
    failed: tests.filter(({ status }) => status === 'failed'),
    skipped: tests.filter(({ status }) => status === 'skipped' || status === 'pending'),
  };
}

function run([program = '', ...words]: readonly string[], shown: boolean): Promise<{ code: number; output: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, words, { stdio: shown ? 'inherit' : 'pipe' });
    const output: string[] = [];
    child.stdout?.on('data', (chunk) => output.push(String(chunk)));
    child.stderr?.on('data', (chunk) => output.push(String(chunk)));
    child.once('error', reject);
    child.once('close', (exitCode) => resolve({ code: exitCode ?? 1, output: output.join('') }));
  });
}
