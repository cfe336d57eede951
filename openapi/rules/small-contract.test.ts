import { expect, test } from 'vitest';
import { smallContract } from './small-contract.ts';
import { lint } from './testing.ts';

test('the small contract keeps every rule', async () => {
  expect(await lint(smallContract())).toEqual([]);
});
