/**
 * Runs all checks and all tests: one check after the other, then the tests of all packages. Ends
 * with a line that counts them. Arguments go to vitest: `pnpm test packages/client`.
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
  { name: 'what is generated is up to date', command: ['node', 'scripts/generate.ts', '--check'] },
  { name: 'the contract keeps its rules', command: ['redocly', 'lint', '--format=stylish'] },
  { name: 'nothing breaks callers undeclared', command: ['node', 'scripts/breaking.ts'] },
  { name: 'the types agree', command: ['node', 'scripts/typecheck.ts'] },
  { name: 'format and code rules', command: ['biome', 'ci', '--colors=off', '.'] },
  { name: 'nothing is unused', command: ['knip', '--no-config-hints'] },
];

// What Node compiles for one of the many processes that are started here serves the others.
process.env.NODE_COMPILE_CACHE ??= join(process.cwd(), 'node_modules/.cache/node');

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

const folder = await mkdtemp(join(tmpdir(), 'financial-automation-results-'));
const resultsFile = join(folder, 'results.json');
const { code } = await run(
  [
    'vitest',
    'run',
    ...only,
    '--reporter=default',
    '--reporter=json',
    '--reporter=./scripts/test/slowest-files.ts',
    `--outputFile=${resultsFile}`,
  ],
  true,
);
const results = JSON.parse(await readFile(resultsFile, 'utf8').catch(() => '{}'));
await rm(folder, { recursive: true });
passed += results.numPassedTests ?? 0;
failed += results.numFailedTests ?? 0;
// A file that cannot be loaded, or an error outside of any test, fails no test of its own; and vitest may end well without any.
const isProven = code === 0 && results.success === true && results.numTotalTests > 0;
if (!isProven && (results.numFailedTests ?? 0) === 0) failed += 1;

// Tests that this machine cannot run are listed.
for (const { name, assertionResults } of results.testResults ?? []) {
  for (const { status, fullName } of assertionResults) {
    if (status === 'skipped' || status === 'pending')
      console.log(`NOT RUN: ${relative(process.cwd(), name)}: ${fullName}`);
  }
}

console.log(`\n${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;

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
