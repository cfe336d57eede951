import { describe, expect, test } from 'vitest';
import type { Tenant } from '../platform/auth/caller.ts';
import { type CallOrigin, checkAccess } from './access.ts';
import { readTenantSettings } from './tenant-settings.ts';

/** Whether a tenant with these settings accepts a call from the origin. */
function accepts(stored: object, origin: CallOrigin): boolean {
  const place = { id: 1, name: 'firm', currency: 'USD', timeZone: 'America/New_York' };
  const tenant: Tenant = { ...place, settings: readTenantSettings(stored), isSandbox: false };
  try {
    checkAccess(tenant, origin);
    return true;
  } catch (error) {
    expect(error).toMatchObject({ code: 'ACCESS_RESTRICTED', status: 403 });
    return false;
  }
}

describe('allowedAddresses', () => {
  const allowed: readonly (readonly [network: string, address: string])[] = [
    ['203.0.113.7', '203.0.113.7'],
    ['203.0.113.7', '::ffff:203.0.113.7'],
    ['203.0.113.7', '::ffff:cb00:7107'],
    ['10.0.0.0/8', '10.255.255.255'],
    ['10.9.8.7/8', '10.0.0.1'],
    ['10.0.0.0/8', '::ffff:10.1.2.3'],
    ['0.0.0.0/0', '198.51.100.1'],
    ['2001:db8::/32', '2001:DB8:0:0::1'],
    ['2001:db8::7', '2001:0db8::0007'],
    ['fe80::/10', 'fe80::1%eth0'],
    ['::/0', '2001:db8::1'],
    ['::ffff:10.0.0.0/104', '10.200.0.1'],
    ['::ffff:203.0.113.7', '203.0.113.7'],
  ];
  const rejected: readonly (readonly [network: string, address: string])[] = [
    ['203.0.113.7', '203.0.113.8'],
    ['10.0.0.0/8', '11.0.0.0'],
    ['10.0.0.0/8', '64:ff9b::10.0.0.1'],
    ['10.0.0.0/8', '2002:a00:1::'],
    ['::/0', '10.0.0.1'],
    ['::/0', '::ffff:10.0.0.1'],
    ['0.0.0.0/0', '2001:db8::1'],
    ['::ffff:10.0.0.0/104', '11.0.0.1'],
    ['2001:db8::/33', '2001:db8:8000::1'],
    ['2001:db8::7', '2001:db8::8'],
    // An address that cannot be read is not allowed, whatever the networks are.
    ['0.0.0.0/0', ''],
    ['0.0.0.0/0', 'unknown'],
    ['0.0.0.0/0', '203.0.113.7, 198.51.100.1'],
  ];

  test.each(allowed)('%s accepts %s', (network, address) => {
    expect(accepts({ allowedAddresses: [network] }, { address })).toBe(true);
    expect(accepts({ allowedAddresses: ['192.0.2.1', network] }, { address })).toBe(true);
  });

  test.each(rejected)('%s rejects %s', (network, address) => {
    expect(accepts({ allowedAddresses: [network] }, { address })).toBe(false);
    expect(accepts({ allowedAddresses: [network, '192.0.2.1'] }, { address })).toBe(false);
  });
});

test.each([
  ['hartwell-crm', true],
  ['other', true],
  ['Hartwell-crm', false],
  ['hartwell-crm, other', false],
  ['hartwell', false],
  ['', false],
  [undefined, false],
])('allowedClientIds › X-Client-Id %j: %j', (clientId, expected) => {
  expect(accepts({ allowedClientIds: ['hartwell-crm', 'other'] }, { address: '', clientId })).toBe(expected);
});

test('both settings apply, and a tenant without them accepts every caller', () => {
  const both = { allowedAddresses: ['192.0.2.1'], allowedClientIds: ['crm'] };
  expect(accepts(both, { address: '192.0.2.1', clientId: 'crm' })).toBe(true);
  expect(accepts(both, { address: '192.0.2.1' })).toBe(false);
  expect(accepts(both, { address: '192.0.2.2', clientId: 'crm' })).toBe(false);
  expect(accepts({}, { address: 'unknown' })).toBe(true);
});
