import { fileURLToPath } from 'node:url';
import { defineConfig, type UserConfig } from 'tsdown';

const shared: UserConfig = {
  entry: ['src/index.ts', 'src/webhooks.ts'],
  platform: 'neutral',
  target: 'es2022',
  fixedExtension: false,
  // Declarations are written file by file, without the compiler, which takes a minute for the types of the contract.
  dts: { oxc: true },
  // By its path, because what serves the API has no development dependencies, and there, too, the README packs the client.
  alias: { '@financial-automation/spec': fileURLToPath(new URL('../spec/src/index.ts', import.meta.url)) },
  // What is not found would otherwise be left as an import, of which only the program of an integrator learns.
  failOnWarn: true,
};

/** The types and the index of the contract are bundled, because the workspace's `spec` is not published. */
export default defineConfig([
  { ...shared, format: 'esm', deps: { onlyBundle: [] } },
  // For CommonJS, so are these, which have only ES modules, or a default export that `require` does not find.
  {
    ...shared,
    format: 'cjs',
    deps: { alwaysBundle: ['p-retry', 'openapi-fetch'], onlyBundle: ['p-retry', 'is-network-error', 'openapi-fetch'] },
  },
]);
