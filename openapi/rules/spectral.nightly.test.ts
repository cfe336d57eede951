import { expect, test } from 'vitest';
import { findingsOfSpectral } from './spectral.ts';

test('the bundle keeps the ruleset spectral:oas', async () => {
  expect(await findingsOfSpectral()).toEqual([]);
});
