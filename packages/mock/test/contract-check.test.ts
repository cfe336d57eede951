import { fileURLToPath } from 'node:url';
import { describeContract } from '@financial-automation/contract-check/vitest';
import { afterAll } from 'vitest';
import { startMock } from '../src/server.ts';

const mock = await startMock({ port: 0 });
afterAll(() => mock.close());

// A mock has no state: what it keeps of what it is sent, and whom it lets in, is not for it to show.
await describeContract('the mock answers as the contract says', {
  spec: fileURLToPath(new URL('../../../openapi/openapi.yaml', import.meta.url)),
  options: async () => ({
    url: mock.url,
    timeout: 60,
    checks: ['answers', 'acceptance'],
    probes: 5,
    auth: { caller: () => ({ Authorization: 'Bearer any-token', Tenant: 'hartwell' }) },
  }),
});
