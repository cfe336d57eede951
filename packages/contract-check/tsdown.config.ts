import { defineConfig } from 'tsdown';

export default defineConfig({
  entry: ['src/index.ts', 'src/bin.ts', 'src/vitest.ts'],
  unbundle: true,
  platform: 'node',
  target: 'node22',
  fixedExtension: false,
  dts: true,
});
