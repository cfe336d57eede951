import { describe, expect, test } from 'vitest';
import { parseSetting, readTenantSettings } from './tenant-settings.ts';

const defaults = {
  hourIncrement: '0.10',
  timeApproval: true,
  selfApproval: false,
  reviewCompletedJobs: false,
  wipEvents: true,
  deliveryPorts: [],
  allowedAddresses: [],
  allowedClientIds: [],
};

describe('readTenantSettings', () => {
  test('fills in defaults and keeps stored values', () => {
    const stored = { hourIncrement: '0.25', deliveryPorts: [8443] };
    expect(readTenantSettings(stored)).toEqual({ ...defaults, ...stored });
    expect(stored).toEqual({ hourIncrement: '0.25', deliveryPorts: [8443] });
    const one = readTenantSettings({});
    expect(one).toEqual(defaults);
    expect(readTenantSettings({}).deliveryPorts).not.toBe(one.deliveryPorts);
  });

  test('ignores settings of a later version', () => {
    expect(readTenantSettings({ later: true })).toEqual(defaults);
  });

  test.each([
    [{ hourIncrement: '0.5' }],
    [{ allowedAddresses: ['everywhere'] }],
    [{ timeApproval: 'on' }],
    [[]],
    [null],
  ])('fails for invalid settings: %j', (stored) => {
    expect(() => readTenantSettings(stored)).toThrow(/^The tenant's settings are invalid: /);
  });
});

describe('parseSetting', () => {
  test.each([
    ['currency', 'CAD', 'CAD'],
    ['timeZone', 'Europe/Berlin', 'Europe/Berlin'],
    ['timeZone', 'UTC', 'UTC'],
    ['hourIncrement', '0.25', '0.25'],
    ['timeApproval', 'off', false],
    ['selfApproval', 'on', true],
    ['deliveryPorts', '8443, 9443', [8443, 9443]],
    ['deliveryPorts', 'none', []],
    ['allowedAddresses', '203.0.113.7,2001:db8::/32,10.0.0.0/8', ['203.0.113.7', '2001:db8::/32', '10.0.0.0/8']],
    ['allowedClientIds', 'hartwell-crm', ['hartwell-crm']],
  ])('accepts %s %s', (name, text, value) => {
    expect(parseSetting(name, text)).toEqual({ [name]: value });
  });

  test.each([
    ['currency', 'usd'],
    ['currency', 'XYZ'],
    ['timeZone', 'Mars/Olympus'],
    ['timeZone', '+02:00'],
    ['timeZone', ''],
    ['hourIncrement', '0.5'],
    ['timeApproval', 'yes'],
    ['deliveryPorts', '0'],
    ['deliveryPorts', '70000'],
    ['deliveryPorts', '8443,8443'],
    ['deliveryPorts', '8443,'],
    ['deliveryPorts', '1e3'],
    ['allowedAddresses', '10.0.0.0/33'],
    ['allowedAddresses', '10.0.0'],
    ['allowedAddresses', '10.0.0.0/8/8'],
    ['allowedAddresses', '::/129'],
    ['allowedClientIds', 'a b'],
  ])('rejects %s %j with a sentence', (name, text) => {
    expect(() => parseSetting(name, text)).toThrow(`"${text}" is not a valid ${name}, which is `);
  });

  test.each(['colour', 'toString', '__proto__', ''])('rejects the setting %j, and lists those that exist', (name) => {
    expect(() => parseSetting(name, 'x')).toThrow(
      `"${name}" is not a setting of tenants. The settings are: currency, `,
    );
  });
});
