/**
 * Popular client generators interpret the contract correctly: required properties are not optional, rows and events have
 * IDs.
 */
import { createClient } from '@hey-api/openapi-ts';
import { contract, testGenerator } from './generator.ts';

testGenerator('@hey-api/openapi-ts', './index.ts', (folder, settings) =>
  createClient({ input: contract, output: { path: folder }, logs: { level: 'silent', file: false }, ...settings }),
);
