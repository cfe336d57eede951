import { expect, test } from 'vitest';
import { abbreviatedState } from './address.ts';

test.each([
  ['US', 'California', 'CA'],
  ['US', ' new york ', 'NY'],
  ['US', 'ca', 'CA'],
  ['US', 'District of Columbia', 'DC'],
  ['US', 'Puerto Rico', 'PR'],
  ['US', 'CA', 'CA'],
  ['CA', 'Quebec', 'QC'],
  ['CA', 'Québec', 'QC'],
  ['CA', 'british columbia', 'BC'],
  ['CA', 'Newfoundland and Labrador', 'NL'],
  ['CA', 'Prince Edward Island', 'PE'],
  ['CA', 'Yukon', 'YT'],
  ['CA', 'ON', 'ON'],
  // Other values are unchanged.
  ['US', 'Quebec', 'Quebec'],
  ['US', 'Nowhere', 'Nowhere'],
  ['DE', 'California', 'California'],
  [null, 'California', 'California'],
  ['US', null, null],
])('addresses: in %s, the state %j is stored as %j', (country, state, stored) => {
  expect(abbreviatedState(country, state)).toBe(stored);
});
