import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import LongestFirst from './scripts/test/longest-first.ts';

/**
 * What holds for every project. Modules are loaded once per worker: no test changes what another one sees of them. The limits are
 * for what hangs; what is only slow, on a machine with other work, has not failed.
 */
const shared = { isolate: false, testTimeout: 600_000, hookTimeout: 600_000, expect: { poll: { timeout: 60_000 } } };
/** Tests of the server that need a database: the same files run on each engine. */
const databaseTests = { ...shared, include: ['packages/server/{src,test}/**/*.test.ts'] };
const unitTests = '**/*.unit.test.ts';

export default defineConfig({
  test: {
    // One more than there are cores: many tests wait for a lease, a retry or a process.
    maxWorkers: availableParallelism() + 1,
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        test: { ...shared, name: 'contract-check', include: ['packages/contract-check/**/*.test.ts'] },
      },
      {
        test: {
          ...shared,
          name: 'client',
          include: ['packages/client/test/**/*.test.ts'],
          typecheck: {
            enabled: true,
            include: ['packages/client/test/**/*.test-d.ts'],
            tsconfig: 'packages/client/test/tsconfig.json',
          },
          // The mock uses Prism, which is CommonJS; import it as Node does.
          deps: { interopDefault: false },
        },
      },
      { test: { ...shared, name: 'reference', include: ['scripts/reference/**/*.test.ts'] } },
      { test: { ...shared, name: 'breaking-changes', include: ['scripts/breaking/**/*.test.ts'] } },
      { test: { ...shared, name: 'dependencies', include: ['scripts/dependencies/**/*.test.ts'] } },
      { test: { ...shared, name: 'mock', include: ['packages/mock/test/**/*.test.ts'] } },
      { test: { ...shared, name: 'mcp', include: ['packages/mcp/test/**/*.test.ts'] } },
      { test: { ...shared, name: 'generators', include: ['packages/spec/test/generators/*.test.ts'] } },
      { test: { ...shared, name: 'contract-rules', include: ['openapi/rules/**/*.test.ts'] } },
      { test: { ...shared, name: 'server-unit', include: [`packages/server/{src,test}/${unitTests}`] } },
      {
        test: {
          ...databaseTests,
          name: 'server-pglite',
          exclude: [unitTests, '**/*.postgres.test.ts'],
          globalSetup: 'packages/server/test/pglite-setup.ts',
        },
      },
      {
        test: {
          ...databaseTests,
          name: 'server-postgres',
          exclude: [unitTests, '**/*.pglite.test.ts'],
          globalSetup: 'packages/server/test/postgres-setup.ts',
        },
      },
    ],
  },
});
