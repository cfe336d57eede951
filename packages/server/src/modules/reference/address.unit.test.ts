import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, test } from 'vitest';
import { bundleFiles } from '../../contract/contract.ts';
import { abbreviatedState, completeAddress } from './address.ts';

test.each([
  ['US', 'California', 'CA'],
  ['US', ' new york ', 'NY'],
  ['US', 'ca', 'CA'],
  ['US', 'District of Columbia', 'DC'],
  ['US', 'Puerto Rico', 'PR'],
  ['US', 'CA', 'CA'],
  ['US', 'armed forces europe', 'AE'],
  ['CA', 'Quebec', 'QC'],
  ['CA', 'Québec', 'QC'],
  ['CA', 'british columbia', 'BC'],
  ['CA', 'Newfoundland and Labrador', 'NL'],
  ['CA', 'Prince Edward Island', 'PE'],
  ['CA', 'Yukon', 'YT'],
  ['CA', 'ON', 'ON'],
  // Other values are unchanged.
  ['DE', 'California', 'California'],
  [null, 'California', 'California'],
  ['US', null, null],
])('addresses: in %s, the state %j is stored as %j', (country, state, stored) => {
  expect(abbreviatedState({ country, state })).toBe(stored);
});

test.each([
  ['US', 'Quebec'],
  ['US', 'Nowhere'],
  ['US', 'QC'],
  ['CA', 'California'],
])('addresses: %s has no state %j', (country, state) => {
  expect(() => completeAddress({ country, state } as Parameters<typeof completeAddress>[0])).toThrow(
    expect.objectContaining({
      code: 'VALIDATION_ERROR',
      pointer: '/state',
      message: expect.stringContaining('one of A'),
    }),
  );
});

test('addresses: a state that is stored already remains', () => {
  const stored = { country: 'US', state: 'Nowhere' } as const;
  expect(completeAddress({ ...stored, city: 'Salem' }, stored)).toMatchObject({ city: 'Salem', state: 'Nowhere' });
});

test.each(['US', 'CA', 'FR'])('addresses: the published contract knows the same abbreviations in %s', (country) => {
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  ajv.addSchema(JSON.parse(readFileSync(bundleFiles.json, 'utf8')), 'contract');
  const isAccepted = ajv.getSchema('contract#/components/schemas/AddressInput');
  const letters = Array.from('ABCDEFGHIJKLMNOPQRSTUVWXYZ');
  const states = letters.flatMap((first) => [first, ...letters.map((second) => `${first}${second.toLowerCase()}`)]);
  const isUnknown = (state: string) => {
    try {
      abbreviatedState({ country, state });
      return false;
    } catch {
      return true;
    }
  };
  expect(states.filter((state) => isAccepted?.({ country, state }) === false)).toEqual(states.filter(isUnknown));
});
