import { hasRole, requiredRoles } from '@financial-automation/spec/roles';
import { v7 as uuidv7 } from 'uuid';
import { describe, expect, test } from 'vitest';
import { testService } from '../../test/service.ts';
import { createApiKey } from '../operator/api-keys.ts';
import { allOperations, type Operation, schemaOf } from './contract.ts';

// Only authorization is tested: compiling every operation's schemas would take most of the time.
const { call, service, tenant, token } = await testService({
  replace: ({ validator }) => ({
    validator: {
      request: (operation, parts) =>
        operation.id === 'createToken'
          ? validator.request(operation, parts)
          : { findings: [{ path: '/body', keyword: 'required', message: '' }], query: {} },
      response: () => [],
    },
  }),
});
const claims: { sub: string; client_id: string } = JSON.parse(
  Buffer.from(token.split('.')[1] ?? '', 'base64url').toString(),
);
const allRoles = schemaOf('Role').enum ?? [];

/**
 * Whether authorization passes for these roles. Later failures, such as a missing body or an unknown ID, do not matter.
 */
async function admits(operation: Operation, roles: readonly string[]): Promise<boolean> {
  const held = { ...claims, tenant: tenant.name, roles, staffId: null };
  const Authorization = `Bearer ${await service.tokens.signAccessToken(held, uuidv7())}`;
  const path = operation.path.replaceAll(/\{[^}]+\}/g, 'x');
  const { status, body } = await call<{ detail: string }>(operation.method, path, undefined, { Authorization });
  expect(status).not.toBe(401);
  return !(status === 403 && body.detail.startsWith('This operation requires'));
}

const guarded = allOperations.filter(({ roles }) => !['PUBLIC', 'ANY', 'REF_R'].some((role) => roles.includes(role)));

test('almost every operation requires a role', () => {
  expect(guarded.length).toBeGreaterThan(75);
  expect(
    allOperations.filter((operation) => operation.roles.includes('PUBLIC')).map((operation) => operation.id),
  ).toEqual(['createToken']);
});

describe.each(guarded.map((operation) => [operation.id, operation] as const))('%s', (_id, operation) => {
  const { roles, additionalRoles } = operation;
  test(`requires ${requiredRoles(operation)}, or API_ADMIN`, async () => {
    for (const required of [roles, additionalRoles].filter(({ length }) => length > 0)) {
      const others = allRoles.filter((role) => role !== 'API_ADMIN' && !required.includes(role));
      expect(await admits(operation, others)).toBe(false);
    }
    expect(await admits(operation, [])).toBe(false);
    for (const role of roles) expect(await admits(operation, [role, ...additionalRoles.slice(0, 1)])).toBe(true);
    expect(await admits(operation, ['API_ADMIN'])).toBe(true);
  });
});

test.each(allOperations.filter(({ roles }) => roles.includes('ANY') || roles.includes('REF_R')))(
  '$id is open to every API user of the tenant, whatever roles its key has',
  async (operation) => {
    expect(await admits(operation, [])).toBe(true);
  },
);

test('API_ADMIN implies every role but the one for all payments', () => {
  const implied = allRoles.filter((role) => hasRole(new Set(['API_ADMIN']), [role]));
  expect(allRoles.filter((role) => !implied.includes(role))).toEqual(['PYMT_EVNT_ALL']);
  for (const role of allRoles.filter((one) => one !== 'API_ADMIN')) {
    expect(new Set(allRoles.filter((other) => hasRole(new Set([role]), [other])))).toEqual(new Set([role, 'REF_R']));
  }
});

test.each(['PUBLIC', 'ANY', 'api_admin', 'ROOT', ''])('the role %j cannot be granted', async (role) => {
  const options = { tenant: tenant.name, user: 'x', roles: ['REF_R', role], days: 1, description: undefined };
  await expect(createApiKey({ service }, options)).rejects.toThrow(/^Unknown role/);
});

test.each(['', ' ', 'x'.repeat(101)])('an API user cannot be called %j', async (user) => {
  const options = { tenant: tenant.name, user, roles: ['REF_R'], days: 1, description: undefined };
  await expect(createApiKey({ service }, options)).rejects.toThrow('The name of an API user has 1 to 100 characters.');
});

test('the roles that an operation requires are named in words', () => {
  expect(requiredRoles({ roles: ['A', 'B'], additionalRoles: [] })).toBe('A or B role');
  expect(requiredRoles({ roles: ['A'], additionalRoles: ['B', 'C'] })).toBe('A role and the B or C role');
});

test('a caller without the role is rejected before the input is validated', async () => {
  const held = { ...claims, tenant: tenant.name, roles: ['REF_R'], staffId: null };
  const Authorization = `Bearer ${await service.tokens.signAccessToken(held, uuidv7())}`;
  const response = await call('POST', '/api/v1/clients/v1/onboard', '{"not json', { Authorization });
  expect(response).toMatchObject({
    status: 403,
    body: { code: 'FORBIDDEN', detail: 'This operation requires the CLNT_C role.' },
  });
});
