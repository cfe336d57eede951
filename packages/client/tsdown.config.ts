import { defineConfig } from 'tsdown';

/** The types and the index of the contract are bundled, because the workspace's `spec` is not published. */
export default defineConfig({
  entry: ['src/index.ts', 'src/webhooks.ts'],
  platform: 'neutral',
  target: 'es2022',
  fixedExtension: false,
  dts: { eager: true },
  // Other dependencies are not bundled.
  deps: { onlyBundle: [] },
});
