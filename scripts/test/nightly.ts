/**
 * Runs the long proofs, of which `pnpm test` runs samples, one after the other: `pnpm test:nightly [words of names]`.
 * Ends with a line that counts them. `--shard NAME` runs one shard, as the nightly workflow does; `--shards` prints their names as JSON;
 * `--list` lists the proofs with their commands; `--check`, which `pnpm test` runs, fails if a nightly file belongs to no shard.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { readOptions } from '../options.ts';
import { shards } from './nightly-shards.ts';
import { run } from './run.ts';

const { values, positionals: words } = readOptions({
  options: {
    shard: { type: 'string' },
    shards: { type: 'boolean' },
    list: { type: 'boolean' },
    check: { type: 'boolean' },
  },
  allowPositionals: true,
});

if (values.shards) {
  console.log(JSON.stringify(Object.keys(shards)));
  process.exit(0);
}
if (values.check) {
  const problems = findProblems();
  for (const problem of problems) console.error(problem);
  process.exit(problems.length === 0 ? 0 : 1);
}

const all = values.shard === undefined ? Object.values(shards).flat() : shards[values.shard];
if (all === undefined) {
  console.error(`No shard is named ${values.shard}. The shards are ${Object.keys(shards).join(', ')}.`);
  process.exit(2);
}
const chosen = all.filter(({ name }) => words.every((word) => name.includes(word)));
if (chosen.length === 0) {
  console.error(`No proof has these words in its name: ${words.join(' ')}. --list shows all.`);
  process.exit(2);
}
if (values.list) {
  for (const { name, command, environment = {} } of chosen) {
    const settings = Object.entries(environment).map(([variable, value]) => `${variable}=${value}`);
    console.log(`${name}\n  ${[...settings, ...command].join(' ')}`);
  }
  process.exit(0);
}

const failed: string[] = [];
for (const [index, { name, command, environment }] of chosen.entries()) {
  console.log(`\n[${index + 1}/${chosen.length}] ${name}`);
  const started = performance.now();
  const { code } = await run(command, { isShown: true, ...(environment === undefined ? {} : { environment }) });
  const minutes = ((performance.now() - started) / 60_000).toFixed(1);
  console.log(`${code === 0 ? '✓' : '✗'} ${name} (${minutes} min)`);
  if (code !== 0) failed.push(name);
}
for (const name of failed) console.log(`FAILED: ${name}`);
console.log(`\n${chosen.length - failed.length} passed, ${failed.length} failed`);
process.exitCode = failed.length === 0 ? 0 : 1;

/** A file that was moved, or that no shard runs, would be proven by nothing until somebody reads the log of a night. */
function findProblems(): string[] {
  const proofs = Object.values(shards).flat();
  const missing = proofs.flatMap(({ command }) => command).filter((word) => word.endsWith('.ts') && !existsSync(word));
  const found = nightlyFiles();
  const run = proofs.flatMap(({ command: [program, ...words], environment }) =>
    program === 'vitest' && environment?.NIGHTLY !== undefined
      ? found.filter((file) => words.some((word) => file.includes(word)))
      : [],
  );
  const forgotten = git('ls-files', '--cached', '--others', '--exclude-standard', '*.nightly.test.ts').filter(
    (file) => !run.includes(file),
  );
  const workflow = readFileSync('.github/workflows/nightly.yaml', 'utf8');
  return [
    ...missing.map((file) => `${file} does not exist. Correct its path in scripts/test/nightly-shards.ts.`),
    ...forgotten.map((file) => `${file} belongs to no shard. Add it to one in scripts/test/nightly-shards.ts.`),
    ...(/test:nightly --shard "?\$/.test(workflow) ? [] : ['.github/workflows/nightly.yaml does not run the shards.']),
  ];
}

/** The nightly files that vitest finds. A proof runs those whose path contains one of its words. */
function nightlyFiles(): string[] {
  const found = execFileSync('vitest', ['list', '--filesOnly', '.nightly.test.ts', '--json'], {
    encoding: 'utf8',
    env: { ...process.env, NIGHTLY: 'yes' },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  return JSON.parse(found).map(({ file }: { file: string }) => relative(process.cwd(), file));
}

function git(...words: readonly string[]): string[] {
  return execFileSync('git', words, { encoding: 'utf8' }).split('\n').filter(Boolean);
}
