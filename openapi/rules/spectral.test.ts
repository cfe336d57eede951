/** Many teams check contracts with Spectral. Its recommended rules for OpenAPI find nothing in the published bundle. */
import { expect, test } from 'vitest';
import { findingsOfSpectral } from './spectral.ts';

/** They take ten times as long as all others. Our own rules validate every example, too. */
const rulesOfExamples = ['oas3-valid-media-example', 'oas3-valid-schema-example'];

test('the bundle keeps the ruleset spectral:oas, apart from its rules of examples', async () => {
  expect(await findingsOfSpectral(rulesOfExamples)).toEqual([]);
});
