import { defineConfig } from 'tsdown';

/** The types and the index of the contract are bundled in, for the workspace's `spec` is not published. */
export default defineConfig({
  entry: ['src/index.ts', 'src/webhooks.ts'],
  platform: 'neutral',
  target: 'es2022',
  fixedExtension: false,
  dts: { eager: true },
  // Nothing else is: what is installed beside the package is not shipped in it.
  deps: { onlyBundle: [] },
});
