/**
 * Makes everything that follows from `openapi/`: the bundle (JSON and YAML), the types and the index of operations, all in
 * `packages/spec/generated`. With `--check` it writes nothing and fails where a file differs from what it would write.
 */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { bundle, createConfig } from '@redocly/openapi-core';
import openapiTypescript, { astToString } from 'openapi-typescript';
import { stringify } from 'yaml';
import { operationIndex } from './operation-index.ts';

const root = new URL('..', import.meta.url);
const target = new URL('packages/spec/generated/', root);

const started = performance.now();
const { bundle: bundled, problems } = await bundle({
  ref: new URL('openapi/openapi.yaml', root).pathname,
  config: await createConfig({}),
});
if (problems.length > 0) {
  for (const problem of problems) console.error(`${problem.location[0]?.source.absoluteRef ?? 'openapi'}: ${problem.message}`);
  fail('The contract cannot be bundled. Run "pnpm lint:contract" to see where it is wrong.');
}
