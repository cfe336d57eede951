import { defineConfig } from 'tsdown';

/** The client is included, because the packages of the workspace are not its dependencies. */
export default defineConfig({
  entry: ['src/main.ts'],
  platform: 'node',
  target: 'node20',
  fixedExtension: false,
  dts: false,
  deps: { onlyBundle: ['openapi-fetch', 'openapi-typescript-helpers', 'p-retry', 'is-network-error'] },
});
