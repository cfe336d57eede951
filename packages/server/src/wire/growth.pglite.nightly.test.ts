import { expect, test } from 'vitest';
import { atEnd } from '../../test/at-end.ts';
import { findGrowth } from '../../test/growth/measure.ts';
import { commonCases, growthCases } from '../../test/growth/requests.ts';
import { sender } from '../../test/growth/sender.ts';
import { testService } from '../../test/service.ts';
import { allOperations } from '../contract/contract.ts';

const { address, token, tenant } = await testService();
const send = sender(address);
atEnd(() => send.close());
const headers = { authorization: `Bearer ${token}`, tenant: tenant.name };

/** One case of many: `pnpm bench --growth` sends all. */
const every = 97;

test('processor time grows at most linearly with any input, in a sample of all operations', async () => {
  const cases = allOperations.flatMap((operation) => growthCases(operation, headers));
  const common = commonCases('a read', { method: 'GET', path: '/gql/v1/clients/types', headers });
  const sample = [...cases, ...common].filter((_, index) => index % every === 0);
  expect(sample.length).toBeGreaterThan(100);
  for (const one of sample) expect(await findGrowth(one, send, { ignored: 20, most: 10_000 })).toBeUndefined();
});
