/**
 * Runs the long proofs, of which `pnpm test` runs samples, one after the other: `pnpm test:nightly [words of names]`.
 * Ends with a line that counts them. `--list` only lists them, with their commands; `--check` only checks that all
 * files exist, which `pnpm test` does.
 */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { readOptions } from '../options.ts';
import { run } from './run.ts';

const { values, positionals: words } = readOptions({
  options: { list: { type: 'boolean' }, check: { type: 'boolean' } },
  allowPositionals: true,
});

interface Proof {
  readonly name: string;
  /** What `pnpm test` proves of it. */
  readonly sample: string;
  readonly command: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
}

const server = 'packages/server/src';
const pay = `${server}/modules/billing/pay`;
const check = 'packages/contract-check';
const vitest = ['vitest', 'run', '--reporter=dot'];
/** Tests that run in whole only if `isNightly` is true. */
const sampled = globSync('packages/*/{src,test}/**/*.test.ts').filter((file) =>
  /^import .*test\/nightly(?:-test)?\.ts';$/m.test(readFileSync(file, 'utf8')),
);

const proofs: readonly Proof[] = [
  {
    name: 'files that only this run has',
    sample:
      'all rules of Spectral but those of examples on the bundle and all of ours on its sources, one generator of clients, one tag of the mock, loads of a profile for other tests, a clock that is advanced, two processes that share jobs, drifts of the workshop, inputs that are known to grow',
    command: [...vitest, '.nightly.test'],
    environment: { NIGHTLY: 'yes' },
  },
  {
    name: 'tests of the server that take long, in whole',
    sample:
      'fewer callers at once, runs of properties, steps at which a process is killed, levels, and filters of related records; every third reason for which a process does not start; one kill of each kind, and of two processes that share work; the console on a desktop, in light colors; the first of several starts; a tenth of the comparisons of all rows',
    command: [...vitest, ...sampled],
    environment: { NIGHTLY: 'yes' },
  },
  {
    name: 'the versions of the lockfile follow the policies of pnpm',
    sample: 'the digest of each package, when it is installed',
    command: ['npx', '--yes', 'pnpm@12', 'install', '--frozen-lockfile', '--lockfile-only', '--no-trust-lockfile'],
  },
  {
    name: 'the types of each package alone',
    sample: 'the types of all packages as one program, in which a package may use types that it does not declare',
    command: ['node', 'scripts/typecheck.ts', '--separately'],
  },
  {
    name: 'every test of the server on PGlite',
    sample: 'what depends on the engine',
    command: [...vitest, 'packages/server', 'packages/demo-data', '--project', 'pglite'],
    environment: { ENGINES: 'all' },
  },
  {
    name: 'the contract check, with every drift of its tests',
    sample: 'every fifth to twenty-eighth drift, and four correct servers of six',
    command: [...vitest, `${check}/`],
    environment: { DRIFTS: 'all', NIGHTLY: 'yes', SAFETY_RUNS: '20' },
  },
  {
    name: 'the contract check on servers of others, from the npm registry',
    sample: 'the servers of its own tests',
    command: ['node', `${check}/scripts/strangers.ts`],
  },
  {
    name: 'other tools beside the contract check, from the npm registry, on every twentieth drift',
    sample: 'how the reports of a tool are counted',
    command: ['node', `${check}/scripts/tools.ts`, '--every', '20'],
  },
  {
    name: 'the server, with every probe of the contract check',
    sample: '30 probes of each operation of every tenth tag, on PostgreSQL',
    command: [...vitest, `${server}/contract/contract-check.test.ts`],
    environment: { ENGINES: 'all', CONTRACT_PROBES: '1000' },
  },
  {
    name: 'isolation of tenants, with 10,000 requests',
    sample: '300 requests, on PostgreSQL',
    command: [...vitest, `${server}/app/tenant-isolation.test.ts`],
    environment: { ENGINES: 'all', ISOLATION_REQUESTS: '10000' },
  },
  {
    name: 'aggregates, 300 of each resource',
    sample: 'two of each',
    command: [...vitest, `${server}/query/aggregate.property.test.ts`],
    environment: { AGGREGATE_RUNS: '300' },
  },
  {
    name: '10,000 walks through the books, with each fact and correction that their states name',
    sample: 'two walks',
    command: [...vitest, `${server}/modules/billing/books.property.test.ts`, '--project', 'postgres'],
    environment: { BOOKS_RUNS: '10000' },
  },
  {
    name: 'a year of a small firm, with all sums recomputed from the rows',
    sample: 'two months of two people',
    command: ['node', 'packages/server/scripts/books-year.ts'],
  },
  {
    name: 'dry runs of 1,200 random calls',
    sample: '12 calls, on PostgreSQL',
    command: [...vitest, `${server}/app/rehearsal.property.test.ts`],
    environment: { REHEARSAL_RUNS: '1200' },
  },
  {
    name: 'random input, 300 requests to each operation',
    sample: 'three, or six with a body',
    command: [...vitest, `${server}/contract/fuzz.test.ts`],
    environment: { FUZZ_RUNS: '300' },
  },
  {
    name: 'the mock, the client, the reference, the samples and the tools of models, for every operation',
    sample:
      'every third to ninth operation, samples only on the service, and in the browser one of each method and one place of each color',
    command: [
      ...vitest,
      'packages/mock/test/mock.test.ts',
      'packages/client/test/contract.test.ts',
      'scripts/reference/samples.test.ts',
      'scripts/reference/reference.test.ts',
      'packages/mcp/test/mcp.test.ts',
    ],
    environment: { MOCK: 'all', SAMPLES: 'all', MCP: 'all' },
  },
  {
    name: 'rules of the books that are broken on purpose, each noticed by a test',
    sample: 'whether the sources have the texts that are broken',
    command: ['node', 'scripts/test/broken-rules.ts'],
  },
  {
    name: 'upgrades from the last two versions and back, while callers read and write, on the demo data mid',
    sample: 'that a process stays ready and starts again after newer migrations that only add to the schema',
    command: ['node', 'packages/server/scripts/upgrade.ts'],
  },
  {
    name: 'the migration of a small firm from before the ledger',
    sample: 'all migrations, without rows; those of a release never change',
    command: [...vitest, 'packages/demo-data/src/profiles/ledger-migration.postgres.nightly.test.ts'],
    environment: { NIGHTLY: 'yes', MIGRATION_PROFILE: 'small' },
  },
  {
    name: 'values at all bounds of the contract, and 20,000 random rows',
    sample: 'a twentieth of the values, and 30 random rows',
    command: [...vitest, `${server}/app/bounds.property.test.ts`],
    environment: { ENGINES: 'all', BOUND_WRITES: '20000' },
  },
  {
    name: 'processes that are killed 20 times during writes, payments, closings of periods and deliveries',
    sample: 'once or twice, on one engine; the whole service only on PostgreSQL',
    command: [
      ...vitest,
      `${server}/modules/billing/kill.test.ts`,
      `${server}/modules/events/delivery/crash.test.ts`,
      `${server}/modules/events/feed/crash.test.ts`,
      `${server}/platform/store/pglite.pglite.test.ts`,
      `${server}/main/crash.pglite.nightly.test.ts`,
    ],
    environment: { ENGINES: 'all', KILL_ROUNDS: '20', NIGHTLY: 'yes' },
  },
  {
    name: 'payments of a server that is killed 20 times, and 200 random courses of payments that are paid otherwise',
    sample: 'at some steps, and six courses, on PostgreSQL',
    command: [...vitest, `${pay}/kill.test.ts`, `${pay}/refunds.property.test.ts`],
    environment: { ENGINES: 'all', KILL_ROUNDS: '20', REFUND_RUNS: '200', NIGHTLY: 'yes' },
  },
  {
    name: 'the server at other times and in other time zones',
    sample: 'the time of the run',
    command: ['node', 'scripts/test/other-times.ts'],
  },
  {
    name: 'the packages of a release, installed and run on Node 20, 22 and 26',
    sample: 'the MCP server, packed and run with only its dependencies',
    command: ['node', 'scripts/pack.ts'],
  },
  {
    name: 'the contract check on every drift of its suites',
    sample: 'one drift',
    command: ['node', `${check}/scripts/drifts.ts`],
  },
  {
    name: 'the contract check on drifts of other authors',
    sample: 'three drifts',
    command: ['node', `${check}/scripts/independent.ts`],
  },
];

// A file that was moved would be proven by nothing until somebody reads the log of a night.
const moved = proofs.flatMap(({ command }) => command).filter((word) => word.endsWith('.ts') && !existsSync(word));
if (moved.length > 0) {
  console.error(`These files do not exist. Correct their paths in scripts/test/nightly.ts: ${moved.join(', ')}`);
  process.exit(1);
}
if (values.check) process.exit(0);

const chosen = proofs.filter(({ name }) => words.every((word) => name.includes(word)));
if (chosen.length === 0) {
  console.error(`No proof has these words in its name: ${words.join(' ')}. --list shows all.`);
  process.exit(2);
}
if (values.list) {
  for (const { name, sample, command, environment = {} } of chosen) {
    const settings = Object.entries(environment).map(([variable, value]) => `${variable}=${value}`);
    console.log(`${name}\n  ${[...settings, ...command].join(' ')}\n  \`pnpm test\`: ${sample}`);
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
