import { expect, test } from 'vitest';
import { addressLines } from './index.ts';

test.each([
  ['DE', '20095', 'Stadt', null, '20095 Stadt', 'Deutschland'],
  ['NZ', '6011', 'Wellington', null, 'Wellington 6011', 'Neuseeland'],
  ['US', '97209', 'Portland', 'OR', 'Portland, OR 97209', 'Vereinigte Staaten'],
] as const)(
  'an address in %s has its postal code where the country has it, also where the country is not named',
  (country, postalCode, city, state, locality, nation) => {
    const address = { line1: 'Am Markt 1', line2: null, city, state, postalCode, country };
    expect(addressLines(address, 'de', false)).toEqual(['Am Markt 1', locality, nation]);
    expect(addressLines(address, 'de', true)).toEqual(['Am Markt 1', locality]);
  },
);
