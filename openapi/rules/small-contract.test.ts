import { expect, test } from 'vitest';
import { lint, smallContract } from './testing.ts';

test('the small contract keeps every rule', async () => {
  expect(await lint(smallContract())).toEqual([]);
});
