import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import LongestFirst from './scripts/test/longest-first.ts';
import { keepTemporaryFilesInMemory } from './scripts/test/memory-folder.ts';

keepTemporaryFilesInMemory();

/**
 * What holds for every project. Modules are loaded once per worker: no test changes what another one sees of them. The limits are
 * for what hangs; what is only slow, on a machine with other work, has not failed.
 *
 * Node loads the modules, as it does in the service: Vite would transform each of them for each project, and calls between its
 * modules are slower.
 */
const shared = {
  isolate: false,
  experimental: { viteModuleRunner: false, nodeLoader: false },
  testTimeout: 600_000,
  hookTimeout: 600_000,
  expect: { poll: { timeout: 60_000 } },
  // Threads for garbage and compilation take a tenth more processor time, and all cores have tests to run.
  // A young generation of the size that it grows to anyway takes a twentieth less, and 100 MB.
  execArgv: ['--v8-pool-size=0', '--min-semi-space-size=32', '--max-semi-space-size=64'],
  exclude: ['**/node_modules/**', ...(process.env.NIGHTLY === undefined ? ['**/*.nightly.test.ts'] : [])],
};
const unitTests = '**/*.unit.test.ts';
/** Tests of the server that need a database. All of them run on PostgreSQL, which takes half of the time of PGlite. */
const databaseTests = '{packages/server/{src,test},packages/demo-data/src}/**/*.test.ts';
/**
 * What depends on the engine also runs on PGlite: its own tests, types and errors, isolation and the schema. `ENGINES=all` runs
 * everything on both, as each night.
 */
const engineTests = [
  'packages/server/src/platform/store/{errors,isolation,result-types,schema,store}.test.ts',
  'packages/server/src/**/*.pglite.test.ts',
  'packages/server/src/**/*.pglite.nightly.test.ts',
];

export default defineConfig({
  test: {
    // More than there are cores: many tests wait for a lease, a retry or a process. Not many more: each worker loads all
    // modules and compiles the contract.
    maxWorkers: availableParallelism() + 2,
    sequence: { sequencer: LongestFirst },
    // Few, because each of them loads all modules anew.
    projects: [
      {
        test: {
          ...shared,
          // And what needs no database: the one that these tests may copy is kept, so that a file alone starts at once.
          name: 'pglite',
          include: [
            ...(process.env.ENGINES === 'all' ? [databaseTests] : engineTests),
            `packages/server/{src,test}/${unitTests}`,
            'packages/{client,mock}/test/**/*.test.ts',
            'packages/{contract-check,openapi-breaking}/**/*.test.ts',
            'packages/spec/test/generators/*.test.ts',
            'scripts/{breaking,dependencies,migrations,packages}/**/*.test.ts',
            'openapi/rules/**/*.test.ts',
          ],
          exclude: [...shared.exclude, '**/*.postgres{,.nightly}.test.ts'],
          globalSetup: 'packages/server/test/pglite-setup.ts',
        },
      },
      {
        test: {
          ...shared,
          name: 'postgres',
          include: [databaseTests, 'packages/{bridge,examples,mcp}/**/*.test.ts', 'scripts/reference/**/*.test.ts'],
          exclude: [...shared.exclude, unitTests, '**/*.pglite{,.nightly}.test.ts'],
          globalSetup: 'packages/server/test/postgres-setup.ts',
        },
      },
    ],
  },
});
