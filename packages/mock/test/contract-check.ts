import { fileURLToPath } from 'node:url';
import { describeContract } from '@financial-automation/contract-check/vitest';
import { afterAll } from 'vitest';
import { startMock } from '../src/server.ts';

/** Adds a test for each of these operations of the mock, or for all. */
export async function describeMock(only?: readonly string[]): Promise<void> {
  const mock = await startMock({ port: 0 });
  afterAll(() => mock.close());

  // A mock has no state and no users, so behavior and credentials are not checked.
  await describeContract('the mock matches the contract', {
    spec: fileURLToPath(import.meta.resolve('@financial-automation/spec/openapi.yaml')),
    ...(only === undefined ? {} : { only }),
    options: async () => ({
      url: mock.url,
      timeout: 60,
      disposable: true,
      checks: ['responses', 'valid input'],
      // A sample by day is also one of values.
      probes: only === undefined ? 5 : 1,
      auth: { caller: () => ({ Authorization: 'Bearer any-token', Tenant: 'hartwell' }) },
    }),
  });
}
