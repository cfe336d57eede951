import { loadProfile } from '@financial-automation/demo-data/profiles/load-profile';
import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { Visitor } from '../../../test/console/firm.ts';
import { testDatabase } from '../../../test/database.ts';
import { testService } from '../../../test/service.ts';
import { createApiKey } from '../../operator/api-keys.ts';
import { dataLists, listOf } from './catalog.ts';

const users = 4;
/** Of fewer, the 99th of 100 would be the slowest. */
const rounds = 100;
/** In milliseconds. */
const maxTime = 300;

const { service, store, tenant, call, address } = await testService({ database: await testDatabase() });
await loadProfile({ service, tenant }, 'small');
await store.system((transaction) => transaction.all(sql`analyze`));
const { key } = await createApiKey(
  { service },
  { tenant: tenant.name, user: 'ops', roles: ['API_ADMIN'], days: 1, description: undefined },
);
const visitors = Array.from({ length: users }, () => new Visitor(address));
for (const visitor of visitors) await visitor.signIn(key);

const fixed = [
  '',
  '/close',
  '/data',
  '/search?q=harbor',
  '/keys',
  '/settings',
  '/requests',
  ...[...dataLists.keys()].map((type) => `/data/${type}`),
];
const kinds: (readonly [kind: string, paths: readonly string[]])[] = fixed.map((path) => [path, [path]]);
for (const type of ['Client', 'Invoice', 'Payment', 'Staff', 'Job']) {
  const { body } = await call<{ data: { id: string }[] }>('POST', listOf(type).operation.path, { pageSize: rounds });
  const paths = body.data.map(({ id }) => `/data/${type}/${id}`);
  kinds.push([type, paths], [`${type} form`, paths.map((path) => `${path}/edit`)]);
  if (type === 'Client') kinds.push(['statement', paths.map((path) => `${path}/statement`)]);
}

test(`99 of 100 pages of each kind are there within ${maxTime} ms, for ${users} users`, async () => {
  const slow: string[] = [];
  for (const [kind, paths] of kinds) {
    const times: number[] = [];
    let next = 0;
    const visit = async (visitor: Visitor) => {
      while (next < rounds) {
        const path = paths[next++ % paths.length] ?? '';
        const start = performance.now();
        expect([path, (await visitor.get(path)).status]).toEqual([path, 200]);
        times.push(performance.now() - start);
      }
    };
    // The first one compiles schemas.
    await visitors[0]?.get(paths[0] ?? '');
    await Promise.all(visitors.map(visit));
    const most = times.sort((one, other) => one - other)[Math.ceil(times.length * 0.99) - 1] ?? 0;
    if (most > maxTime) slow.push(`${kind}: ${Math.round(most)} ms`);
  }
  expect(slow).toEqual([]);
});
