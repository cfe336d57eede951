import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import openapiTypescript, { astToString } from 'openapi-typescript';
import orval from 'orval';
import { generateApi } from 'swagger-typescript-api';
import { contract, testGenerator } from './generator.ts';

testGenerator({
  name: 'openapi-typescript',
  generate: async (folder) => {
    const names = { rootTypes: true, rootTypesNoSchemaPrefix: true, silent: true };
    const types = await openapiTypescript(await readFile(contract, 'utf8'), names);
    await writeFile(join(folder, 'types.ts'), astToString(types));
  },
  types: './types.ts',
});

testGenerator({
  name: 'orval',
  generate: (folder) => orval({ input: contract, output: { target: join(folder, 'api.ts'), client: 'fetch' } }),
  types: './api.ts',
});

testGenerator({
  name: 'swagger-typescript-api',
  generate: (folder) =>
    generateApi({ input: contract, output: folder, fileName: 'api.ts', httpClientType: 'fetch', silent: true }),
  types: './api.ts',
});
