/**
 * Popular client generators interpret the contract correctly: required properties are not optional, rows and events have
 * IDs.
 */
import { createClient } from '@hey-api/openapi-ts';
import { contract, testGenerator } from './generator.ts';

testGenerator({
  name: '@hey-api/openapi-ts',
  generate: (folder) =>
    createClient({ input: contract, output: { path: folder }, logs: { level: 'silent', file: false } }),
  types: './index.ts',
});
