import { brotliCompressSync, gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { atEnd } from '../../test/at-end.ts';
import { findGrowth, type GrowthCase } from '../../test/growth/measure.ts';
import { commonCases, formCases, growthCases } from '../../test/growth/requests.ts';
import { sender } from '../../test/growth/sender.ts';
import { testService } from '../../test/service.ts';
import { allOperations } from '../contract/contract.ts';

const { address, token, tenant } = await testService();
const send = sender(address);
atEnd(() => send.close());
const headers = { authorization: `Bearer ${token}`, tenant: tenant.name };
const json = { 'content-type': 'application/json' };

/** One case of so many; `GROWTH_EVERY=1` sends all 65,000, which takes nine minutes on an idle machine. */
const every = Number(process.env.GROWTH_EVERY ?? 97);

/** Bodies of a search that are compressed. */
function compressed(encoding: string, compress: (body: string) => Buffer): GrowthCase[] {
  const search = allOperations.filter(({ id }) => id === 'searchContacts');
  return search
    .flatMap((operation) => growthCases(operation, { ...headers, 'content-encoding': encoding }))
    .filter(({ place }) => place === 'body ' || place === 'body /unknown')
    .map((one) => ({
      ...one,
      request: (value: string) => {
        const { body = '', ...rest } = one.request(value);
        return { ...rest, body: compress(String(body)) };
      },
    }));
}

/** Headers, compressed bodies, and routes outside of the contract. */
function otherCases(): GrowthCase[] {
  const get = (path: string) => commonCases(path, { method: 'GET', path, headers: {} });
  const post = (path: string, body: string, caller = {}) =>
    commonCases(path, { method: 'POST', path, headers: { ...json, ...caller }, body });
  const page = `/pay/${'a'.repeat(32)}`;
  const form = { 'content-type': 'application/x-www-form-urlencoded' };
  const signed = { ...json, 'stripe-signature': `t=1,v1=${'0'.repeat(64)}` };
  return [
    ...commonCases('a read', { method: 'GET', path: '/gql/v1/clients/types', headers }),
    ...post('/api/v1/contacts/upsert', '{"contacts":[]}', headers),
    ...post('/v1/auth/token', '{"apiKey":"x"}'),
    ...compressed('gzip', (body) => gzipSync(body)),
    ...compressed('br', (body) => brotliCompressSync(body)),
    ...['/openapi.json', '/reference', '/readyz', '/files/content/x', page].flatMap(get),
    ...formCases('/pay/x', { method: 'POST', headers: form, path: page }, 100_000),
    ...formCases('/pay/webhook', { method: 'POST', headers: signed, path: '/pay/webhook' }, 300_000),
  ];
}

test('processor time grows at most linearly with any input, in a sample of all operations', async () => {
  const cases = [...allOperations.flatMap((operation) => growthCases(operation, headers)), ...otherCases()];
  const sample = cases.filter((_, index) => index % every === 0);
  expect(sample.length).toBeGreaterThan(100);
  for (const one of sample) expect(await findGrowth(one, send, { ignored: 20, most: 10_000 })).toBeUndefined();
});
