import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

/** Tests of the server that need a database: the same files run on each engine. */
const databaseTests = {
  include: ['packages/server/{src,test}/**/*.test.ts'],
  testTimeout: 20_000,
  hookTimeout: 60_000,
  isolate: false,
};
const unitTests = '**/*.unit.test.ts';

export default defineConfig({
  test: {
    // Two at least: by itself vitest leaves a core out, which of two is half.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    projects: [
      { test: { name: 'contract-check', include: ['packages/contract/**/*.test.ts'], testTimeout: 30_000 } },
      'packages/client',
      {
        test: {
          name: 'reference',
          include: ['scripts/reference/**/*.test.ts'],
          testTimeout: 20_000,
        },
      },
      {
        test: {
          name: 'breaking-changes',
          include: ['scripts/breaking/**/*.test.ts'],
          testTimeout: 20_000,
          hookTimeout: 30_000,
        },
      },
      {
        test: {
          name: 'mock',
          include: ['packages/mock/test/**/*.test.ts'],
          testTimeout: 20_000,
          hookTimeout: 30_000,
        },
      },
      {
        test: {
          name: 'contract-rules',
          include: ['openapi/rules/**/*.test.ts'],
        },
      },
      {
        test: {
          name: 'server-unit',
          include: [`packages/server/{src,test}/${unitTests}`],
        },
      },
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
