import { defineConfig } from 'tsdown';

/** File by file: a page of the report is read from beside its module. */
export default defineConfig({
  entry: ['src/index.ts', 'src/bin.ts', 'src/vitest.ts'],
  unbundle: true,
  platform: 'node',
  target: 'node22',
  fixedExtension: false,
  dts: true,
  copy: [
    { from: 'src/report/page.css', to: 'dist/report' },
    { from: 'src/report/page.js', to: 'dist/report' },
  ],
});
