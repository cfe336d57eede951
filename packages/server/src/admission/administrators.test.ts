import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { Visitor } from '../../test/console/visitor.ts';
import { testService } from '../../test/service.ts';
import { createApiKey, revokeApiKey } from '../operator/api-keys.ts';

const { service, address, addTenant } = await testService();

/** A firm whose only API users are these administrators. */
async function firmOf(tenant: string, ...users: readonly string[]) {
  await addTenant(tenant);
  const administrators = [];
  for (const user of users) {
    const newKey = { tenant, user, roles: ['API_ADMIN'], days: 1, description: undefined };
    const { id, key } = await createApiKey({ service }, newKey);
    const visitor = new Visitor(address);
    await visitor.signIn(key);
    const revoke = (other: string) => visitor.submit('/keys', `/keys/${other}/revoke`);
    const demote = (apiUser: string) =>
      visitor.submit('/keys', '/keys', { apiUser, validForDays: '1', role: 'CLNT_R' });
    administrators.push({ id, user, revoke, demote });
  }
  return administrators;
}

const rejected = {
  status: 409,
  text: expect.stringContaining('No key with the role API_ADMIN would be left. Create one for another API user first.'),
};

test('an administrator cannot revoke the last key of an administrator, or take the role away from the last one', async () => {
  const [only, second] = await firmOf('small', 'owner', 'partner');
  expect(await only?.revoke(second?.id ?? '')).toMatchObject({ status: 303 });
  expect(await only?.revoke(only.id)).toMatchObject(rejected);
  expect(await only?.demote(only.user)).toMatchObject(rejected);
  // The role of somebody whose only key is revoked is none.
  expect(await only?.demote('partner')).toMatchObject({ status: 200 });
  await revokeApiKey({ service }, 'small', only?.id ?? '');
});

test('two administrators who revoke the key of each other at once do not both succeed', async () => {
  const [one, other] = await firmOf('pair', 'one', 'other');
  await Promise.all([one?.revoke(other?.id ?? ''), other?.revoke(one?.id ?? '')]);
  // Whoever comes second is rejected, or is signed out already.
  const tenant = await service.directory.tenant('pair');
  const keys = await service.store.read(tenant?.id ?? 0, (session) =>
    session.all(sql`select from api_key where revoked_at is null`),
  );
  expect(keys).toHaveLength(1);
});
