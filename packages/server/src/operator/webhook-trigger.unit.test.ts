import { expect, test } from 'vitest';
import { triggers } from './webhook-trigger.ts';

// The command loads none of the modules that register the types of records.
test('webhook trigger › knows the types of the contract in a process that has loaded no module of the service', () => {
  expect(triggers).toEqual(
    expect.arrayContaining(['Client.CREATE', 'Invoice.UPDATE', 'Job.UPDATE', 'WipEntry.UPDATE']),
  );
});
