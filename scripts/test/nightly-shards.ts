import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/**
 * What the nightly workflow proves, in shards that run at the same time on machines of their own. A shard takes a few hours at most.
 * `scripts/test/nightly.ts` runs them; its `--check` fails if a nightly file belongs to no shard.
 */
export interface Proof {
  readonly name: string;
  readonly command: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
}

const server = 'packages/server/src';
const pay = `${server}/modules/billing/pay`;
const check = 'packages/contract-check';
/** A test that runs hundreds of times may take as long as a shard. */
const vitest = ['vitest', 'run', '--reporter=dot', '--testTimeout=7200000'];
/** Tests that run in whole only if `isNightly` is true, which they or their helpers read. */
const sampled = testsThatImport('packages/server/test/nightly.ts', 'packages/server/test/nightly-test.ts');

/** The tests that import one of these files, or a helper of tests that does. */
function testsThatImport(...files: readonly string[]): string[] {
  const found = new Set(files);
  const all = globSync('packages/*/{src,test}/**/*.ts', { exclude: ['**/node_modules/**'] });
  const imports = (file: string) =>
    [...readFileSync(file, 'utf8').matchAll(/ from '(\.[^']+)'/g)].map(([, path = '']) => join(dirname(file), path));
  const helpers = all.filter((file) => /^packages\/\w+\/test\//.test(file) && !file.endsWith('.test.ts'));
  for (let size = 0; size < found.size; ) {
    size = found.size;
    for (const file of helpers) if (imports(file).some((path) => found.has(path))) found.add(file);
  }
  const tests = all.filter((file) => file.endsWith('.test.ts') && !file.endsWith('.nightly.test.ts'));
  return tests.filter((file) => imports(file).some((path) => found.has(path)));
}

/** The nightly files that match. None would be no filter, so that vitest would run everything. */
function nightlyFiles(...patterns: readonly string[]): string[] {
  const files = patterns.flatMap((pattern) => globSync(pattern, { exclude: ['**/node_modules/**'] }));
  if (files.length === 0) throw new Error(`No file matches ${patterns.join(' or ')}.`);
  return files;
}

export const shards: Readonly<Record<string, readonly Proof[]>> = {
  /** The service: its long files, random requests, tenants and dry runs. */
  server: [
    {
      name: 'files of the server that only the nightly run has',
      command: [
        ...vitest,
        ...nightlyFiles('packages/server/{src/{app,wire,modules},test/growth}/**/*.nightly.test.ts'),
      ],
      environment: { NIGHTLY: 'yes' },
    },
    {
      name: 'tests of the server that take long, in whole',
      command: [...vitest, ...sampled],
      environment: { NIGHTLY: 'yes' },
    },
    {
      name: 'the server, with every probe of the contract check',
      command: [...vitest, `${server}/contract/contract-check.test.ts`],
      environment: { ENGINES: 'all', CONTRACT_PROBES: '1000' },
    },
    {
      name: 'isolation of tenants, with 10,000 requests',
      command: [...vitest, `${server}/app/tenant-isolation.test.ts`],
      environment: { ENGINES: 'all', ISOLATION_REQUESTS: '10000' },
    },
    {
      name: 'dry runs of 1,200 random calls',
      command: [...vitest, `${server}/app/rehearsal.property.test.ts`],
      environment: { REHEARSAL_RUNS: '1200' },
    },
    {
      name: 'random input, 300 requests to each operation',
      command: [...vitest, `${server}/contract/fuzz.test.ts`],
      environment: { FUZZ_RUNS: '300' },
    },
    {
      name: 'values at all bounds of the contract, and 20,000 random rows',
      command: [...vitest, `${server}/app/bounds.property.test.ts`],
      environment: { ENGINES: 'all', BOUND_WRITES: '20000' },
    },
  ],
  /** Money: random lives, a year, aggregates and rules that are broken on purpose. */
  books: [
    {
      name: 'demo data of any day and size',
      command: [...vitest, ...nightlyFiles('packages/demo-data/src/**/load-profile.nightly.test.ts')],
      environment: { NIGHTLY: 'yes' },
    },
    {
      name: 'aggregates, 300 of each resource',
      command: [...vitest, `${server}/query/aggregate.property.test.ts`],
      environment: { AGGREGATE_RUNS: '300' },
    },
    {
      name: '10,000 walks through the books, with each fact and correction that their states name',
      command: [...vitest, `${server}/modules/billing/books.property.test.ts`, '--project', 'postgres'],
      environment: { BOOKS_RUNS: '10000' },
    },
    {
      name: 'a year of a small firm, with all sums recomputed from the rows',
      command: ['node', 'packages/server/scripts/books-year.ts'],
    },
    {
      name: 'rules of the books that are broken on purpose, each noticed by a test, or changed in their home, each followed by every figure',
      command: ['node', 'scripts/test/broken-rules.ts'],
    },
  ],
  /** Kills, upgrades, full disks, and other times and time zones. */
  faults: [
    {
      name: 'faults that only the nightly run causes',
      command: [...vitest, ...nightlyFiles('packages/server/src/{main,operator}/**/*.nightly.test.ts')],
      environment: { NIGHTLY: 'yes' },
    },
    {
      name: 'operation: the upgrade from the last version and back, while callers read and write, on the demo data mid',
      command: ['node', 'packages/server/scripts/upgrade.ts'],
    },
    {
      name: 'processes that are killed 20 times during writes, payments, closings of periods and deliveries',
      command: [
        ...vitest,
        `${server}/modules/billing/kill.test.ts`,
        `${server}/modules/events/crash.test.ts`,
        `${server}/platform/store/pglite.pglite.test.ts`,
        `${server}/main/crash.pglite.nightly.test.ts`,
      ],
      environment: { ENGINES: 'all', KILL_ROUNDS: '20', NIGHTLY: 'yes' },
    },
    {
      name: 'payments of a server that is killed 20 times, and 200 random courses of payments that are paid otherwise',
      command: [...vitest, `${pay}/kill.nightly.test.ts`, `${pay}/refunds.property.test.ts`],
      environment: { ENGINES: 'all', KILL_ROUNDS: '20', REFUND_RUNS: '200', NIGHTLY: 'yes' },
    },
    {
      name: 'operation: restarts behind nginx, and what it keeps from the service',
      command: [...vitest, `${server}/main/proxy.postgres.nightly.test.ts`],
      environment: { NIGHTLY: 'yes' },
    },
    {
      name: 'operation: a month of the run book under load, and the table of what callers saw',
      command: [...vitest, 'packages/server/test/operation/operation.postgres.nightly.test.ts'],
      environment: { NIGHTLY: 'yes' },
    },
    {
      name: 'a quiet tenant during 14 random mixtures of attacks through nginx',
      command: ['pnpm', 'bench', '--attack', '--mixtures', '14', '--rounds', '2', '--seconds', '20'],
    },
    {
      name: 'the server at other times and in other time zones',
      command: ['node', 'scripts/test/other-times.ts'],
    },
  ],
  /** Every test of the server on PGlite. */
  pglite: [
    {
      name: 'every test of the server on PGlite',
      command: [...vitest, 'packages/server', 'packages/demo-data', '--project', 'pglite'],
      environment: { ENGINES: 'all' },
    },
  ],
  /** The contract, and what follows from it: mock, client, reference, packages. */
  contract: [
    {
      name: 'rules, generators, samples and the mock, in whole',
      command: [
        ...vitest,
        ...nightlyFiles('{openapi,packages/{bridge,spec,mock,examples}/test,scripts}/**/*.nightly.test.ts'),
      ],
      environment: { NIGHTLY: 'yes' },
    },
    {
      name: 'both commands of the README in a folder with a space and an umlaut',
      command: ['node', 'scripts/test/five-minutes.ts', '--test'],
    },
    {
      name: 'breaking changes, on every pair of documents',
      command: [...vitest, 'packages/openapi-breaking/test/pairs.test.ts'],
      environment: { NIGHTLY: 'yes' },
    },
    {
      name: 'the versions of the lockfile follow the policies of pnpm',
      command: ['npx', '--yes', 'pnpm@12', 'install', '--frozen-lockfile', '--lockfile-only', '--no-trust-lockfile'],
    },
    {
      name: 'the types of each package alone',
      command: ['node', 'scripts/typecheck.ts', '--separately'],
    },
    {
      name: 'the mock, the client, the reference, the samples and the tools of models, for every operation',
      command: [
        ...vitest,
        'packages/mock/test/mock.test.ts',
        'packages/client/test/contract.test.ts',
        'scripts/reference/samples.test.ts',
        'scripts/reference/sample-languages.test.ts',
        'scripts/reference/served.test.ts',
        'packages/mcp/test/mcp.test.ts',
      ],
      environment: { MOCK: 'all', SAMPLES: 'all', MCP: 'all' },
    },
    {
      name: 'the packages of a release, installed and run on Node 20, 22 and 26',
      command: ['node', 'scripts/pack.ts', '--check'],
    },
  ],
  /** The contract check on its own tests and on servers of others. */
  check: [
    {
      name: 'the contract check, with every drift of its tests',
      command: [...vitest, `${check}/`],
      environment: { DRIFTS: 'all', NIGHTLY: 'yes', SAFETY_RUNS: '20' },
    },
    {
      name: 'the contract check on servers of others, from the npm registry',
      command: ['node', `${check}/scripts/strangers.ts`],
    },
    {
      name: 'other tools beside the contract check, from the npm registry, on every twentieth drift',
      command: ['node', `${check}/scripts/tools.ts`, '--every', '20'],
    },
  ],
  /** The contract check on every drift. */
  drifts: [
    {
      name: 'the contract check on every drift of its suites',
      command: ['node', `${check}/scripts/drifts.ts`],
    },
    {
      name: 'the contract check on drifts of other authors',
      command: ['node', `${check}/scripts/independent.ts`],
    },
  ],
};
