import { join } from 'node:path';
import orval from 'orval';
import { generateApi } from 'swagger-typescript-api';
import { contract, testGenerator } from './generator.ts';

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
