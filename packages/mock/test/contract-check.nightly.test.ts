/** Compares the responses of the mock with the contract, operation by operation. */
import { fileURLToPath } from 'node:url';
import { describeContract } from '@financial-automation/contract-check/vitest';
import { afterAll } from 'vitest';
import { startMock } from '../src/server.ts';

const mock = await startMock({ port: 0 });
afterAll(() => mock.close());

// A mock has no state and no users, so behavior and credentials are not checked.
await describeContract('the mock matches the contract', {
  spec: fileURLToPath(import.meta.resolve('@financial-automation/spec/openapi.yaml')),
  options: async () => ({
    url: mock.url,
    timeout: 60,
    disposable: true,
    checks: ['responses', 'valid input'],
    probes: 5,
    auth: { caller: () => ({ Authorization: 'Bearer any-token', Tenant: 'hartwell' }) },
  }),
});
