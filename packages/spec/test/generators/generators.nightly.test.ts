/**
 * Popular client generators interpret the contract correctly: required properties are not optional, rows and events have
 * IDs.
 */
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createClient } from '@hey-api/openapi-ts';
import { generateEndpoints } from '@rtk-query/codegen-openapi';
import { NgOpenApiGen } from 'ng-openapi-gen';
import { generateSource } from 'oazapfts';
import openapiTypescript, { astToString } from 'openapi-typescript';
import { generate as generateClasses } from 'openapi-typescript-codegen';
import orval from 'orval';
import { generateApi } from 'swagger-typescript-api';
import { expect, test } from 'vitest';
import { contract, generatorsOfGuide, testGenerator } from './generator.ts';

const text = await readFile(contract, 'utf8');

testGenerator('@hey-api/openapi-ts', './index.ts', (folder, settings) =>
  createClient({ input: contract, output: { path: folder }, logs: { level: 'silent', file: false }, ...settings }),
);

testGenerator('openapi-typescript', './types.ts', async (folder, settings) => {
  const types = await openapiTypescript(text, { ...settings, silent: true });
  await writeFile(join(folder, 'types.ts'), astToString(types));
});

testGenerator('orval', './api.ts', (folder, settings) =>
  orval({ input: contract, output: { target: join(folder, 'api.ts'), ...settings } }),
);

testGenerator('swagger-typescript-api', './api.ts', (folder, settings) =>
  generateApi({ input: contract, output: folder, fileName: 'api.ts', silent: true, ...settings }),
);

testGenerator('oazapfts', './api.ts', async (folder, settings) =>
  writeFile(join(folder, 'api.ts'), await generateSource(contract, settings)),
);

// In a process of its own, because it reads the configuration of Redocly where it runs, and ours is for the sources of the contract.
testGenerator('@kubb/core', './index.ts', async (folder, settings) => {
  const program = `import { build } from '@kubb/core';
import { pluginOas } from '@kubb/plugin-oas';
import { pluginTs } from '@kubb/plugin-ts';
const [input, settings] = process.argv.slice(2);
const plugins = [pluginOas(JSON.parse(settings)), pluginTs({ output: { path: 'types' } })];
await build({ config: { root: '.', input: { path: input }, output: { path: '.', clean: false }, plugins } });
process.exit();`;
  await writeFile(join(folder, 'kubb.mjs'), program);
  const words = ['kubb.mjs', contract, JSON.stringify(settings)];
  await promisify(execFile)(process.execPath, words, { cwd: folder });
});

testGenerator('ng-openapi-gen', './models.ts', async (folder, settings) =>
  new NgOpenApiGen(JSON.parse(text), { ...settings, input: contract, output: folder, silent: true }).generate(),
);

testGenerator('@rtk-query/codegen-openapi', './api.ts', async (folder, settings) => {
  const empty = `import { createApi, fetchBaseQuery } from '@reduxjs/toolkit/query';
export const emptyApi = createApi({ baseQuery: fetchBaseQuery({ baseUrl: '/' }), endpoints: () => ({}) });`;
  await writeFile(join(folder, 'empty.ts'), empty);
  const files = { apiFile: join(folder, 'empty.ts'), outputFile: join(folder, 'api.ts') };
  await generateEndpoints({ ...settings, ...files, schemaFile: contract, apiImport: 'emptyApi' });
});

testGenerator('openapi-typescript-codegen', './index.ts', (folder, settings) =>
  generateClasses({ input: contract, output: folder, ...settings }),
);

test('the guide has the tested versions of nine generators', async () => {
  const { devDependencies } = JSON.parse(await readFile(new URL('../../package.json', import.meta.url), 'utf8'));
  const versions = [...generatorsOfGuide].map(([name, { version }]) => [name, version]);
  expect(versions).toEqual(versions.map(([name = '']) => [name, devDependencies[name]]));
  expect(versions.length).toBe(9);
});
